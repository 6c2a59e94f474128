"""Which language a file is in, and its syntax tree."""

from __future__ import annotations

from enum import StrEnum
from pathlib import PurePosixPath

from tree_sitter import Parser, Range, Tree

from harness.syntax.parsing import LARGEST as LARGEST
from harness.syntax.parsing import as_utf8 as as_utf8
from harness.syntax.parsing import parser_of


class Language(StrEnum):
    """The languages that are read by syntax here. Python has its own reader."""

    JAVASCRIPT = "JavaScript"
    TYPESCRIPT = "TypeScript"
    TSX = "TSX"
    GO = "Go"
    JAVA = "Java"
    RUBY = "Ruby"
    RUST = "Rust"


_SUFFIXES = {
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs"), Language.JAVASCRIPT),
    **dict.fromkeys((".ts", ".mts", ".cts"), Language.TYPESCRIPT),
    ".tsx": Language.TSX,
    ".go": Language.GO,
    ".java": Language.JAVA,
    **dict.fromkeys((".rb", ".rake", ".gemspec", ".ru"), Language.RUBY),
    ".rs": Language.RUST,
}
_NAMES = {"Rakefile": Language.RUBY, "Gemfile": Language.RUBY, "Guardfile": Language.RUBY}
_GRAMMARS = {
    Language.JAVASCRIPT: ("tree_sitter_javascript", "language"),
    Language.TYPESCRIPT: ("tree_sitter_typescript", "language_typescript"),
    Language.TSX: ("tree_sitter_typescript", "language_tsx"),
    Language.GO: ("tree_sitter_go", "language"),
    Language.JAVA: ("tree_sitter_java", "language"),
    Language.RUBY: ("tree_sitter_ruby", "language"),
    Language.RUST: ("tree_sitter_rust", "language"),
}


def language_of(path: str) -> Language | None:
    """Return the language of a file by its name, or None for one that is not read by syntax."""
    pure = PurePosixPath(path)
    return _SUFFIXES.get(pure.suffix.lower()) or _NAMES.get(pure.name)


def parse(language: Language, source: bytes | None) -> Tree | None:
    """Return a file's syntax tree; None for no source and for one that is too large.

    A file with errors has a tree as well: look at its root's `has_error`.
    """
    if source is None or len(source) > LARGEST:
        return None
    return _parser(language).parse(as_utf8(source))


def parse_again(language: Language, old: Tree | None, source: bytes | None) -> Tree | None:
    """Return a file's tree by what differs from a tree of it as it was: the same as `parse`, only sooner."""
    before = old.root_node.text if old is not None else None
    if old is None or before is None or source is None or len(source) > LARGEST:
        return parse(language, source)
    now = as_utf8(source)
    start, old_end, new_end = _differing(before, now)
    edited = old.copy()
    edited.edit(start, old_end, new_end, _point(before, start), _point(before, old_end), _point(now, new_end))
    tree = _parser(language).parse(now, edited)
    return parse(language, source) if tree is None or tree.root_node.has_error else tree


def parse_part(language: Language, source: bytes, start: int, end: int) -> Tree:
    """Return the tree of a part of a text in UTF-8; its bytes and lines are those of the whole."""
    parser = _parser(language)
    points = _point(source, start), _point(source, end)
    parser.included_ranges = [Range(*points, start, end)]
    try:
        return parser.parse(source)
    finally:
        parser.included_ranges = []


def shared_ends(old: bytes, new: bytes) -> tuple[int, int]:
    """Return how many bytes two texts have in common at their beginning, and at their end."""
    start, old_end, _ = _differing(old, new)
    return start, len(old) - old_end


def _differing(old: bytes, new: bytes) -> tuple[int, int, int]:
    """Return the bytes from which and to which two texts differ."""
    shortest = min(len(old), len(new))
    start = _shared(old, new, shortest)
    end = _shared(old[::-1], new[::-1], shortest - start)
    return start, len(old) - end, len(new) - end


def _shared(one: bytes, other: bytes, most: int) -> int:
    """Return how many bytes two texts have in common at their beginning, at most so many."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _point(text: bytes, place: int) -> tuple[int, int]:
    before = text[:place]
    return before.count(b"\n"), place - (before.rfind(b"\n") + 1)


def _parser(language: Language) -> Parser:
    return parser_of(*_GRAMMARS[language])
