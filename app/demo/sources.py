"""Where a case's files come from: a directory that ships with it, or a package's source distribution."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from app.demo.cases import Case, Files
from domain.errors import ConfigurationError

FETCH_SECONDS = 120


def files_of(case: Case, cache: Path) -> Files:
    """Return the files of a case's repository; archives are kept in `cache`. Raises ConfigurationError."""
    found = dict(_shipped(case)) if case.files else dict(_archived(_archive(case, cache)))
    if case.config:
        found[".fixwright.yml"] = (case.config.encode(), 0o100644)
    return found


def _shipped(case: Case) -> Iterator[tuple[str, tuple[bytes, int]]]:
    root = case.directory / case.files
    for path in sorted(root.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield (
                path.relative_to(root).as_posix(),
                (path.read_bytes(), 0o100755 if path.stat().st_mode & 0o100 else 0o100644),
            )


def _archive(case: Case, cache: Path) -> Path:
    """Fetch the source distribution by name and version with the index that pip is set up for here."""
    folder = cache / f"{case.package}-{case.version}"
    if not any(folder.glob("*")):
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "unearth", "--no-binary", "-d", str(folder), *_index()]
        wanted = f"{case.package}=={case.version}"
        done = subprocess.run([*command, wanted], capture_output=True, text=True, timeout=FETCH_SECONDS)
        if done.returncode != 0:
            folder.rmdir()
            raise ConfigurationError(
                f"the source distribution of {wanted} could not be fetched: {done.stderr.strip()[-300:]}"
            )
    return next(path for path in sorted(folder.iterdir()) if path.is_file())


def _index() -> list[str]:
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True
    )
    url = asked.stdout.strip()
    return ["-i", url] if asked.returncode == 0 and url else []


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
