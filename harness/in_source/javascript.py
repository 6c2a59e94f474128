"""JavaScript and TypeScript: vitest's blocks in sources, `if (import.meta.vitest) { … }`."""

from __future__ import annotations

import re

from tree_sitter import Node

from harness.in_source.layout import Home, Key, Layout, Region, numbered
from harness.syntax.parsing import LARGEST, parser_of

ASKS = re.compile(
    rb"\(?\s*import\.meta\.vitest\s*(?:!==?\s*undefined)?\s*\)?|\(?\s*!!import\.meta\.vitest\s*\)?"
)
_GRAMMARS = {
    ".ts": ("tree_sitter_typescript", "language_typescript"),
    ".mts": ("tree_sitter_typescript", "language_typescript"),
    ".cts": ("tree_sitter_typescript", "language_typescript"),
    ".tsx": ("tree_sitter_typescript", "language_tsx"),
}
SUFFIXES = frozenset({*_GRAMMARS, ".js", ".jsx", ".mjs", ".cjs"})


def is_own_tests(node: Node) -> bool:
    """Tell whether a statement holds tests that only vitest runs: a condition on it, and nothing else."""
    condition = node.child_by_field_name("condition") if node.type == "if_statement" else None
    if condition is None or not ASKS.fullmatch(condition.text or b""):
        return False
    return node.child_by_field_name("alternative") is None


def layout_of(source: bytes, suffix: str) -> Layout | None:
    """Return where a file's own tests are; None for one that does not parse."""
    home = {"": Home(len(source))}
    if b"import.meta.vitest" not in source:
        return Layout(source, (), home)
    if len(source) > LARGEST:
        return None
    root = parser_of(*_GRAMMARS.get(suffix, ("tree_sitter_javascript", "language"))).parse(source).root_node
    if root.has_error:
        return None
    seen: dict[Key, int] = {}
    regions = []
    for child in root.children:
        if is_own_tests(child):
            regions.append(Region("", numbered("vitest", seen, ""), child.start_byte, child.end_byte))
    return Layout(source, tuple(regions), home)
