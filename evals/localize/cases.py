"""Development cases: issues of public repositories with the files and functions that their fixes touched."""

from __future__ import annotations

import hashlib
import json
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from evals.guard_sources import NotFetched, Packages

CASES = "dev.jsonl"
CACHE = Path(__file__).parents[2] / ".cache" / "localize"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One issue. `functions` are "path:Class.method"; `archive`: its source distribution."""

    id: str
    repository: str
    package: str
    archive: str
    sha256: str
    issue: str
    files: tuple[str, ...]
    functions: tuple[str, ...]
    names_the_file: bool


def read_cases(data: Path) -> list[Case]:
    """Return the cases of a directory, or of a file. Raises OSError, ValueError, KeyError."""
    file = data / CASES if data.is_dir() else data
    return [_case(json.loads(line)) for line in file.read_text("utf-8").splitlines() if line.strip()]


def _case(read: dict[str, object]) -> Case:
    flags = read.get("flags")
    gold, functions = read["gold_files"], read.get("gold_functions") or []
    assert isinstance(gold, list) and isinstance(functions, list)
    return Case(
        id=str(read["instance_id"]),
        repository=str(read["repo"]),
        package=str(read.get("package") or f"pypi:{read['pkg']}=={read['version']}"),
        archive=str(read["sdist_file"]),
        sha256=str(read["sdist_sha256"]),
        issue=str(read["problem_statement"]),
        files=tuple(map(str, gold)),
        functions=tuple(map(str, functions)),
        names_the_file=isinstance(flags, dict) and bool(flags.get("names_gold_file")),
    )


class Trees:
    """Unpacked source distributions: taken from a directory of archives, or fetched once into a cache."""

    def __init__(self, cache: Path, archives: Path | None = None) -> None:
        self._cache = cache
        self._archives = archives
        self._packages = Packages(cache / "archives")

    def tree(self, case: Case) -> Path:
        """Return the top directory of a case's sources. Raises NotFetched."""
        folder = self._cache / "trees" / case.archive
        if not folder.is_dir():
            archive = self._archive(case)
            if hashlib.sha256(archive.read_bytes()).hexdigest() != case.sha256:
                raise NotFetched(f"{archive} is not the archive that the case is about")
            _unpack(archive, folder)
        return next(path for path in sorted(folder.iterdir()) if path.is_dir())

    def _archive(self, case: Case) -> Path:
        if self._archives is not None and (given := self._archives / case.archive).is_file():
            return given
        return self._packages.archive(case.package)


def _unpack(archive: Path, folder: Path) -> None:
    arriving = folder.with_name(folder.name + ".arriving")
    arriving.mkdir(parents=True, exist_ok=True)
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(arriving)
    else:
        with tarfile.open(archive) as packed_tar:
            for member in packed_tar:
                _extract(packed_tar, member, arriving)
    arriving.rename(folder)


def _extract(packed: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    """Write a regular file below the folder; links, devices and names that lead elsewhere are left out."""
    name = PurePosixPath(member.name)
    content = packed.extractfile(member) if member.isfile() else None
    if content is None or name.is_absolute() or ".." in name.parts:
        return
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.read())
