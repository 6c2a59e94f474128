"""A small image out of what is installed on this Debian machine: nothing is downloaded for it."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO

WANTED = (
    *("bash", "coreutils", "findutils", "grep", "sed", "mawk", "diffutils", "procps", "util-linux", "tar"),
    *("dash", "gzip", "git", "perl-base", "python3", "libc-bin", "mount", "hostname", "sqlite3"),
)
EMPTY = ("dev", "etc", "opt", "proc", "run", "sys", "tmp", "usr", "var", "work")
LINKS = ("bin", "sbin", "lib", "lib64")
_LEFT_OUT = re.compile(
    r"/usr/share/(doc|man|locale|info|lintian)\b|/etc/g?shadow|/usr/lib/python3/dist-packages"
)


def write_small_image(archive: IO[bytes]) -> None:
    """Write the root file system as a tar archive, to be imported by an engine."""
    with tarfile.open(fileobj=archive, mode="w|") as tar:
        for name in EMPTY:
            directory = tarfile.TarInfo(name)
            directory.type, directory.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(directory)
        for path in _paths():
            tar.add(path, arcname=os.fspath(path).lstrip("/"), recursive=False)


def _paths() -> Iterator[Path]:
    yield from (Path("/") / name for name in LINKS if (Path("/") / name).is_symlink())
    shown = subprocess.run(
        ["dpkg-query", "-L", *_with_dependencies(WANTED)], capture_output=True, text=True, check=True
    )
    directories: dict[str, str] = {}
    found = set()
    for line in shown.stdout.splitlines():
        parent, _, name = line.rpartition("/")
        if not name or name == "." or _LEFT_OUT.match(line):
            continue
        parent = directories.setdefault(parent, os.path.realpath(parent))
        path = Path(parent) / name
        if path.is_symlink() or (path.exists() and not stat.S_ISDIR(path.stat().st_mode)):
            found.add(path)
    alternatives = {path for path in Path("/etc/alternatives").iterdir() if path.resolve() in found}
    yield from sorted(found | alternatives)


def _with_dependencies(wanted: Iterable[str]) -> list[str]:
    needs, offers = _installed()
    waiting, found = list(wanted), set()
    while waiting:
        name = waiting.pop()
        name = name if name in needs else offers.get(name, "")
        if name and name not in found:
            found.add(name)
            waiting += needs[name]
    return sorted(found)


def _installed() -> tuple[Mapping[str, list[str]], Mapping[str, str]]:
    """Return package → what it needs (each alternative), and virtual package → the one that offers it."""
    listed = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package}|${Provides}|${Pre-Depends}, ${Depends}\n"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    needs: dict[str, list[str]] = {}
    offers: dict[str, str] = {}
    for line in re.sub(r"\([^)]*\)|:any|[ \t]", "", listed.stdout).splitlines():
        name, offered, needed = line.split("|", 2)
        needs[name] = [other for other in re.split(r"[|,]", needed) if other]
        offers |= dict.fromkeys(filter(None, offered.split(",")), name)
    return needs, offers
