"""Which file an import means: by dotted name in Python, by path in every other language."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from posixpath import splitext

from harness.localize.corpus import Corpus
from harness.localize.facts import Import

_ROOTS = frozenset({"src", "lib", "python"})
_INDEX_FILES = ("__init__", "index", "mod")
MOST_HOPS = 5
"""Packages through which a name that is imported and exported again is followed."""


@dataclass(slots=True)
class Modules:
    """Imports of a corpus by file: whom each file imports, and who imports it."""

    by_dotted: dict[str, int]
    imported: list[set[int]]
    importers: list[set[int]]
    exports: dict[tuple[int, str], tuple[int, str]]

    @classmethod
    def of(cls, corpus: Corpus) -> Modules:
        """Resolve all imports of a corpus."""
        dotted: dict[str, int] = {}
        by_end: dict[str, list[int]] = defaultdict(list)
        for number, file in enumerate(corpus.files):
            parts = _module_parts(file.path)
            dotted.setdefault(".".join(parts), number)
            if parts:
                by_end[parts[-1]].append(number)
        modules = cls(dotted, [set() for _ in corpus.files], [set() for _ in corpus.files], {})
        for number, file in enumerate(corpus.files):
            for each in file.imports:
                target = modules._target(corpus, number, each, by_end)
                if target is None or target == number:
                    continue
                modules.imported[number].add(target)
                modules.importers[target].add(number)
                if each.name and file.path.endswith("__init__.py"):
                    modules.exports[number, each.alias or each.name] = target, each.name
        return modules

    def _target(self, corpus: Corpus, number: int, each: Import, by_end: dict[str, list[int]]) -> int | None:
        path = corpus.files[number].path
        if each.level < 0:
            return _by_path(corpus, path, each.module, by_end)
        module = each.module
        if each.level:
            package = _package(path)
            base = package[: len(package) - each.level + 1]
            module = ".".join([*base, module] if module else base)
        if each.name and (found := self.by_dotted.get(f"{module}.{each.name}")) is not None:
            return found
        return self.by_dotted.get(module)

    def resolve(self, module: str, name: str) -> tuple[int, str] | None:
        """Return the file that a module's name comes from, and the name there ("" for a whole module)."""
        whole = self.by_dotted.get(f"{module}.{name}" if name else module)
        if whole is not None:
            return whole, ""
        file = self.by_dotted.get(module)
        if file is None:
            return None
        for _ in range(MOST_HOPS):
            if (file, name) not in self.exports:
                break
            file, name = self.exports[file, name]
        return file, name


def _module_parts(path: str) -> list[str]:
    parts = splitext(path)[0].split("/")
    if parts[-1] in _INDEX_FILES:
        parts = parts[:-1]
    return parts[1:] if parts and parts[0] in _ROOTS else parts


def _package(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return parts[1:] if parts and parts[0] in _ROOTS else parts


def _by_path(corpus: Corpus, path: str, module: str, by_end: dict[str, list[int]]) -> int | None:
    """Return the file whose path ends like the import's; of several, the one nearest to the importer."""
    wanted = [
        part for part in module.split("/") if part not in {".", "..", "", "crate", "self", "super", "*"}
    ]
    if not wanted:
        return None
    wanted[-1] = wanted[-1].rsplit(".", 1)[0] if "." in wanted[-1] else wanted[-1]
    here = tuple(path.split("/"))
    best: tuple[int, int, int] | None = None
    for names in (wanted, wanted[:-1]):
        if not names or names[-1] not in by_end:
            continue
        for number in by_end[names[-1]][:200]:
            parts = _module_parts(corpus.files[number].path)
            shared = _shared_end(parts, names)
            near = _shared_start(here, tuple(corpus.files[number].path.split("/")))
            if best is None or (shared, near) > best[:2]:
                best = shared, near, number
        break
    return best[2] if best is not None else None


def _shared_end(one: list[str], other: list[str]) -> int:
    return _shared_start(tuple(reversed(one)), tuple(reversed(other)))


def _shared_start(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count
