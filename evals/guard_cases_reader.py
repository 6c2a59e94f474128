"""The guard's cases: what is searched for in which file, what takes its place, what must be said of it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from evals.guard_sources import Files, Packages
from harness.guard.change import Change, Delta

FOLDER = Path(__file__).parent / "guard_cases"
Table = dict[str, object]
OWN = {
    "duration.go.txt": "duration.go",
    "duration_test.go.txt": "duration_test.go",
    "PriceTest.java.txt": "src/test/java/org/example/shop/PriceTest.java",
    "Price.java.txt": "src/main/java/org/example/shop/Price.java",
    "basket_spec.rb.txt": "spec/basket_spec.rb",
    "basket.rb.txt": "lib/basket.rb",
    "slug_test.rb.txt": "test/slug_test.rb",
}
"""Sources of our own, under the names that they have in their cases."""


class BrokenCase(Exception):
    """A case does not fit its file any more: the message says which, and what was searched for."""


@dataclass(frozen=True)
class GuardCase:
    """One patch. `rule` is what must refuse it, "" for a legitimate one; `paths` are those it touches."""

    name: str
    rule: str
    change: Change
    issue: str = ""
    origin: str = ""
    paths: tuple[str, ...] = field(default=())


def cases(packages: Packages, name: str) -> Iterator[GuardCase]:
    """Yield the cases of `guard_cases/NAME.toml`. Raises NotFetched, BrokenCase."""
    document = tomllib.loads((FOLDER / f"{name}.toml").read_text())
    where = cast("dict[str, str]", document.get("packages", {}))
    for table in cast("list[Table]", document.get("case", [])):
        yield _case(packages, where, table)
    for table in cast("list[Table]", document.get("release", [])):
        yield from _release(packages, table)


def _case(packages: Packages, where: dict[str, str], table: Table) -> GuardCase:
    name, base = str(table["name"]), str(table["in"])
    files = _own() if base == "own" else packages.files(where[base])
    new = dict(files)
    for step in [table, *cast("list[Table]", table.get("also", []))]:
        _apply(new, step, name)
    change = change_of(files, new)
    return GuardCase(
        name=name,
        rule=str(table.get("rule", "")),
        change=change,
        issue=str(table.get("issue", "")),
        origin="own sources" if base == "own" else where[base],
        paths=change.paths,
    )


def _apply(new: Files, step: Table, name: str) -> None:
    """Do one step of a patch in place."""
    path = str(step["at"])
    if "text" in step:
        new[path] = str(step["text"]).encode()
    elif step.get("gone"):
        del new[path]
    elif "moved" in step:
        new[str(step["moved"])] = new.pop(path)
    else:
        edit = cast("list[str]", step["edit"])
        text = new[path].decode()
        for old, put in zip(edit[::2], edit[1::2], strict=True):
            if old not in text:
                raise BrokenCase(f"{name}: {path} does not have {old[:80]!r}")
            text = text.replace(old, put, 1)
        new[path] = text.encode()


def _release(packages: Packages, table: Table) -> Iterator[GuardCase]:
    """Yield what changed between two releases, as one change."""
    first, second = str(table["from"]), str(table["to"])
    without = tuple(cast("list[str]", table.get("without", [])))
    old, new = packages.files(first), packages.files(second)
    old = {path: text for path, text in old.items() if not (without and path.startswith(without))}
    new = {path: text for path, text in new.items() if not (without and path.startswith(without))}
    change = change_of(old, new)
    yield GuardCase(
        name=f"{first} to {second.rpartition('=' if '==' in second else '@')[2]}",
        rule="",
        change=change,
        issue=str(table.get("issue", "")),
        origin="upstream",
        paths=change.paths,
    )


def _own() -> Files:
    return {path: (FOLDER / "own" / name).read_bytes() for name, path in OWN.items()}


def change_of(old: Files, new: Files) -> Change:
    """Return the change from one set of files to another."""
    deltas = {
        path: Delta(path=path, old=old.get(path), new=new.get(path))
        for path in sorted({*old, *new})
        if old.get(path) != new.get(path)
    }
    return Change(base_commit="base", base_tree="base", tree="new", deltas=deltas)
