"""Where a case's files come from: a directory that ships with it, or a package's source distribution."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from app.demo.cases import Case, Files
from domain.errors import ConfigurationError

FETCH_SECONDS = 120

LEFT_OUT = frozenset(
    {
        *(".git", ".hg", ".svn", ".venv", "venv", ".tox", ".nox", "node_modules", "__pycache__"),
        *(".mypy_cache", ".pytest_cache", ".ruff_cache"),
    }
)
"""Directories of a working copy that are no part of its repository."""


def files_of(case: Case, cache: Path) -> Files:
    """Return the files of a case's repository; archives are kept in `cache`. Raises ConfigurationError."""
    found = dict(_shipped(case)) if case.files else package_files(case.package, case.version, cache)
    if not found:
        raise ConfigurationError(f"the case has no files: {case.files or case.package}")
    if case.config:
        found[".fixwright.yml"] = (case.config.encode(), 0o100644)
    return found


def package_files(package: str, version: str, cache: Path) -> dict[str, tuple[bytes, int]]:
    """Return the files of a source distribution, fetched once into `cache`. Raises ConfigurationError."""
    return dict(_unpacked(_archive(package, version, cache)))


def is_fetched(case: Case, cache: Path) -> bool:
    """Tell whether a case's archive is in the cache already."""
    return _is_there(_folder(case.package, case.version, cache))


def _is_there(folder: Path) -> bool:
    return any(folder.glob("*"))


def _folder(package: str, version: str, cache: Path) -> Path:
    return cache / f"{package}-{version}"


def _shipped(case: Case) -> Iterator[tuple[str, tuple[bytes, int]]]:
    root = case.directory / case.files
    for path in sorted(root.rglob("*")):
        inner = path.relative_to(root)
        if path.is_file() and not path.is_symlink() and LEFT_OUT.isdisjoint(inner.parts):
            yield (
                inner.as_posix(),
                (path.read_bytes(), 0o100755 if path.stat().st_mode & 0o100 else 0o100644),
            )


def _archive(package: str, version: str, cache: Path) -> Path:
    """Fetch the source distribution by name and version with the index that pip is set up for here."""
    folder = _folder(package, version, cache)
    if not _is_there(folder):
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="fetching-", dir=cache) as arriving:
            _fetch(f"{package}=={version}", Path(arriving) / "got")
            shutil.rmtree(folder, ignore_errors=True)
            (Path(arriving) / "got").rename(folder)
    return next(path for path in sorted(folder.iterdir()) if path.is_file())


def _fetch(wanted: str, folder: Path) -> None:
    folder.mkdir()
    command = [sys.executable, "-m", "unearth", "--no-binary", "-d", str(folder), *_index(), wanted]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_SECONDS)
        said = done.stderr.strip().splitlines()
        why = "" if done.returncode == 0 and any(folder.iterdir()) else (said or ["no reason given"])[-1]
    except subprocess.TimeoutExpired:
        why = f"no answer within {FETCH_SECONDS} s"
    if why:
        raise ConfigurationError(
            f"the source distribution of {wanted} could not be fetched ({why[-300:]}). Is there a network, a "
            "package index that pip knows, and this version as source?"
        )


def _index() -> list[str]:
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True
    )
    url = asked.stdout.strip()
    return ["-i", url] if asked.returncode == 0 and url else []


def _unpacked(archive: Path) -> Iterator[tuple[str, tuple[bytes, int]]]:
    try:
        yield from _archived(archive)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, OSError) as error:
        raise ConfigurationError(f"{archive} is broken ({error}); remove it, then try again") from None


def _archived(archive: Path) -> Iterator[tuple[str, tuple[bytes, int]]]:
    """Yield an archive's files below its top directory; links and oddly named members are left out."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            for name in packed.namelist():
                yield from _member(name, 0o644, b"" if name.endswith("/") else packed.read(name))
        return
    with tarfile.open(archive) as unpacked:
        for member in unpacked:
            content = unpacked.extractfile(member) if member.isfile() else None
            if content is not None:
                yield from _member(member.name, member.mode, content.read())


def _member(name: str, mode: int, content: bytes) -> Iterator[tuple[str, tuple[bytes, int]]]:
    parts = PurePosixPath(name).parts[1:]
    if parts and not name.endswith("/") and ".." not in parts and ".git" not in parts:
        yield "/".join(parts), (content, 0o100755 if mode & 0o100 else 0o100644)
