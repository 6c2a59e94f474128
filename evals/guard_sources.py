"""Real packages' sources for the guard's benchmark: fetched by name and version, kept in a cache."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

FETCH_SECONDS = 120
LARGEST = 2**20
"""Bytes; larger files of a package are left out: no case is about them."""
_TEXT = re.compile(
    r"\.(?:py|pyi|[cm]?[jt]sx?|go|java|rb|rake|rs|toml|cfg|ini|json|md|rst|txt|snap|yml|yaml|gemspec)$|/(?:Makefile|Rakefile|Podfile)$"
)

Files = dict[str, bytes]


class NotFetched(Exception):
    """A package could not be had: the message says which, and why."""


class Packages:
    """Packages by `pypi:NAME==VERSION` or `npm:NAME@VERSION`, unpacked once and kept in memory for a run."""

    def __init__(self, cache: Path) -> None:
        """Keep archives in `cache`, which is made where needed."""
        self._cache = cache
        self._read: dict[str, Files] = {}

    def files(self, package: str) -> Files:
        """Return a package's text files by their path below its top directory. Raises NotFetched."""
        if package not in self._read:
            self._read[package] = dict(_unpacked(self.archive(package)))
        return self._read[package]

    def archive(self, package: str) -> Path:
        """Return a package's archive. Raises NotFetched."""
        folder = self._cache / re.sub(r"[^\w.@=-]+", "_", package)
        if not folder.is_dir() or not any(folder.iterdir()):
            self._cache.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix="fetching-", dir=self._cache) as arriving:
                place = Path(arriving) / "got"
                place.mkdir()
                _fetch(package, place)
                shutil.rmtree(folder, ignore_errors=True)
                place.rename(folder)
        return next(path for path in sorted(folder.iterdir()) if path.is_file())


def _fetch(package: str, folder: Path) -> None:
    registry, _, wanted = package.partition(":")
    if registry == "npm":
        command = ["npm", "pack", wanted, "--silent", "--pack-destination", str(folder)]
    else:
        command = [sys.executable, "-m", "unearth", "--no-binary", "-d", str(folder), *_index(), wanted]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_SECONDS)
        said = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
        why = "" if done.returncode == 0 and any(folder.iterdir()) else said[-1][-300:]
    except FileNotFoundError:
        why = f"`{command[0]}` is not installed"
    except subprocess.TimeoutExpired:
        why = f"no answer within {FETCH_SECONDS} s"
    if why:
        raise NotFetched(
            f"{package} could not be fetched ({why}); is there a registry that this machine knows?"
        )


def _index() -> list[str]:
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True
    )
    url = asked.stdout.strip()
    return ["-i", url] if asked.returncode == 0 and url else []


def _unpacked(archive: Path) -> Iterator[tuple[str, bytes]]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            for entry in packed.infolist():
                if _is_wanted(entry.filename) and entry.file_size <= LARGEST:
                    yield _inner(entry.filename), packed.read(entry)
        return
    with tarfile.open(archive) as unpacked:
        for member in unpacked:
            if member.isfile() and member.size <= LARGEST and _is_wanted(member.name):
                content = unpacked.extractfile(member)
                if content is not None:
                    yield _inner(member.name), content.read()


def _is_wanted(name: str) -> bool:
    return _TEXT.search(name) is not None and ".." not in name


def _inner(name: str) -> str:
    return "/".join(PurePosixPath(name).parts[1:])
