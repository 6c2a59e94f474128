"""JavaScript and TypeScript: vitest's blocks in sources, `if (import.meta.vitest) { … }`."""

from __future__ import annotations

import re

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
        condition = child.child_by_field_name("condition") if child.type == "if_statement" else None
        if condition is None or not ASKS.fullmatch(condition.text or b""):
            continue
        if child.child_by_field_name("alternative") is None:
            name = numbered("vitest", seen, "")
            regions.append(Region("", name, child.start_byte, child.end_byte))
    return Layout(source, tuple(regions), home)
