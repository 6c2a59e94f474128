"""Rust: modules and items under `#[cfg(test)]`, and test functions that stand free among the sources."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from harness.in_source.layout import Home, Key, Layout, Region, numbered
from harness.syntax.parsing import LARGEST, parser_of

ONLY_IN_TESTS = re.compile(rb"#!?\[\s*cfg\(\s*(?:test\s*,?\s*\)|all\(\s*test\s*[,)])")
"""Attributes of what is there only when tests are built; `any(test, …)` is there for others, too."""
_TEST = re.compile(
    rb"#\[\s*(?:\w+::)*(?:test|rstest|test_case|quickcheck|bench|wasm_bindgen_test|traced_test)\b"
)
_SPEAKS_OF_TESTS = re.compile(rb"\btest|\bquickcheck\b|\bbench\b|rstest")
_COMMENTS = frozenset({"line_comment", "block_comment"})
_LISTS = frozenset({"mod_item", "impl_item", "trait_item"})
_WHOLE = ("", "the whole file")
DEEPEST = 50


@dataclass(frozen=True, slots=True)
class Item:
    """An item with the documentation and attributes before it. `home` is what it stands in."""

    node: Node
    attributes: tuple[Node, ...]
    start: int
    home: str

    @property
    def end(self) -> int:
        """The byte at which it ends."""
        return self.node.end_byte

    @property
    def is_for_tests(self) -> bool:
        """Whether it is built for tests only."""
        return any(_is_test(item.text or b"") for item in self.attributes)


def layout_of(source: bytes) -> Layout | None:
    """Return where a file's tests are; None for one that does not parse."""
    if len(source) > LARGEST:
        return None
    if not _SPEAKS_OF_TESTS.search(source):
        return Layout(source, (), {"": _end_of(source)})
    root = parse(source)
    if root is None:
        return None
    if any(
        child.type == "inner_attribute_item" and ONLY_IN_TESTS.match(child.text or b"")
        for child in root.children
    ):
        return Layout(source, (Region(*_WHOLE, 0, len(source)),))
    regions: list[Region] = []
    homes = {"": _end_of(source)}
    seen: dict[Key, int] = {}
    for item in items_of(root, homes):
        name = numbered(_name(item.node), seen, item.home)
        regions.append(Region(item.home, name, item.start, item.end))
    return Layout(source, tuple(regions), homes)


def parse(source: bytes) -> Node | None:
    """Return a file's tree, None for one with errors."""
    root = parser_of("tree_sitter_rust", "language").parse(source).root_node
    return None if root.has_error else root


def items_of(root: Node, homes: dict[str, Home] | None = None) -> Iterator[Item]:
    """Yield what is there for tests only; note the end of each module and `impl` in `homes`."""
    waiting: list[tuple[Node, str, int]] = [(root, "", 0)]
    while waiting:
        node, home, depth = waiting.pop()
        for item in _items(node, home):
            if item.is_for_tests:
                yield item
                continue
            body = item.node.child_by_field_name("body")
            if item.node.type in _LISTS and body is not None and depth < DEEPEST:
                inner = f"{home}::{_name(item.node)}"
                if homes is not None:
                    homes.setdefault(inner, Home(body.end_byte - 1))
                waiting.append((body, inner, depth + 1))


def _items(parent: Node, home: str) -> Iterator[Item]:
    """Yield the items of a list, each with its attributes and its documentation."""
    attributes: list[Node] = []
    start = -1
    for child in parent.children:
        if child.type in _COMMENTS:
            is_said_of_next = (child.text or b"").startswith((b"///", b"/**"))
            start = child.start_byte if start < 0 and is_said_of_next else start
        elif child.type == "attribute_item":
            attributes.append(child)
            start = child.start_byte if start < 0 else start
        elif child.is_named:
            yield Item(child, tuple(attributes), child.start_byte if start < 0 else start, home)
            attributes, start = [], -1


def _is_test(attribute: bytes) -> bool:
    return bool(ONLY_IN_TESTS.match(attribute) or _TEST.match(attribute))


def _name(node: Node) -> str:
    if node.type == "impl_item":
        parts = (node.child_by_field_name("trait"), node.child_by_field_name("type"))
        return "impl " + " for ".join(b"".join((part.text or b"").split()).decode() for part in parts if part)
    named = node.child_by_field_name("name")
    return f"{node.type} {(named.text or b'').decode()}" if named else node.type


def _end_of(source: bytes) -> Home:
    return Home(len(source), b"\n" if source.endswith(b"\n") or not source else b"\n\n")
