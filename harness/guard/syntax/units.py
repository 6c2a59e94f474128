"""A file cut into what stands for itself, and two sides of it compared: what went, and what came."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node, Tree

from harness.guard.syntax.dialect import Dialect
from harness.guard.syntax.grammar import Language
from harness.guard.syntax.model import Kind, Sign, Unit
from harness.guard.syntax.nodes import COMMENTS

_ATTRIBUTES = frozenset({"attribute_item", "inner_attribute_item", "decorator"})
DEEPEST = 200
"""Levels of suites, classes and blocks around a unit."""
MOST_UNITS = 20_000
"""A file's further units are left unread: no file that people write has as many."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a file's units are: its path, its language, and whether it belongs to the tests."""

    path: str
    language: Language
    in_tests: bool


@dataclass(frozen=True, slots=True)
class _Inside:
    """What is known on the way down to a node."""

    owners: tuple[str, ...]
    marks: tuple[Sign, ...]
    in_tests: bool
    depth: int = 0


def differing(
    old: Tree | None, new: Tree | None, dialect: Dialect, place: Place
) -> tuple[list[Unit], list[Unit]]:
    """Return the units that went and those that came; what is the same on both sides is in neither."""
    same = _top_level(old) & _top_level(new)
    gone = units_of(old, dialect, place, same)
    came = units_of(new, dialect, place, same)
    shared = Counter(unit.key for unit in gone) & Counter(unit.key for unit in came)
    return _without(gone, shared), _without(came, shared)


def units_of(
    tree: Tree | None, dialect: Dialect, place: Place, known: Counter[tuple[str, bytes | None]] | None = None
) -> list[Unit]:
    """Return a file's units in order, without those top-level items that are `known` on both sides."""
    if tree is None:
        return []
    inside = _Inside((), (), place.in_tests)
    left, found = Counter(known or ()), []
    extra: tuple[Node, ...] = ()
    for child in tree.root_node.children:
        if child.type in _ATTRIBUTES:
            extra = (*extra, child)
            continue
        key = (child.type, child.text)
        if not extra and left[key] > 0 and child.type not in COMMENTS:
            left[key] -= 1
            continue
        found += list(_below(child, extra, inside, dialect, place))
        extra = ()
        if len(found) > MOST_UNITS:
            break
    return found


def _top_level(tree: Tree | None) -> Counter[tuple[str, bytes | None]]:
    """Count the items of a file, those with attributes before them left out: these belong together."""
    found: Counter[tuple[str, bytes | None]] = Counter()
    follows = False
    for child in tree.root_node.children if tree is not None else ():
        if child.type in _ATTRIBUTES:
            follows = True
            continue
        if not follows:
            found[child.type, child.text] += 1
        follows = False
    return found


def _without(units: list[Unit], shared: Counter[tuple[object, ...]]) -> list[Unit]:
    left, kept = Counter(shared), []
    for unit in units:
        if left[unit.key] > 0:
            left[unit.key] -= 1
        else:
            kept.append(unit)
    return kept


def _below(
    start: Node, extra: tuple[Node, ...], inside: _Inside, dialect: Dialect, place: Place
) -> Iterator[Unit]:
    """Yield the units of a node: itself, or what is in it."""
    waiting: list[tuple[Node, tuple[Node, ...], _Inside]] = [(start, extra, inside)]
    while waiting:
        node, extra, inside = waiting.pop()
        if node.type in COMMENTS:
            continue
        unit = _unit(node, extra, inside, dialect, place)
        if unit is not None:
            yield unit
            continue
        if inside.depth > DEEPEST or not dialect.opens(node, inside.in_tests):
            if node.is_named:
                name = " › ".join(inside.owners)
                yield Unit(
                    place.path, place.language, Kind.OTHER, name, node, extra, inside.marks, inside.in_tests
                )
            continue
        below = _inside(node, extra, inside, dialect)
        pending: list[tuple[Node, tuple[Node, ...], _Inside]] = []
        attributes: tuple[Node, ...] = ()
        for child in node.children:
            if child.type in _ATTRIBUTES:
                attributes = (*attributes, child)
            elif child.type not in COMMENTS:
                pending.append((child, attributes, below))
                attributes = ()
        waiting.extend(reversed(pending))


def _unit(
    node: Node, extra: tuple[Node, ...], inside: _Inside, dialect: Dialect, place: Place
) -> Unit | None:
    name = dialect.test_name(node, extra, place.path)
    if name:
        marks = (*inside.marks, *dialect.test_marks(node, extra))
        full = " › ".join((*inside.owners, name))
        return Unit(place.path, place.language, Kind.TEST, full, node, extra, marks, True)
    name = dialect.function_name(node)
    if name:
        full = " › ".join((*inside.owners, name))
        return Unit(
            place.path, place.language, Kind.FUNCTION, full, node, extra, inside.marks, inside.in_tests
        )
    return None


def _inside(node: Node, extra: tuple[Node, ...], inside: _Inside, dialect: Dialect) -> _Inside:
    owner = dialect.owner(node)
    return _Inside(
        (*inside.owners, owner) if owner else inside.owners,
        (*inside.marks, *dialect.around(node, extra)),
        inside.in_tests or dialect.begins_tests(node, extra),
        inside.depth + 1,
    )
