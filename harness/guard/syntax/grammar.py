"""Which language a file is in, and its parser: loaded when the first file of that language comes by."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from enum import StrEnum
from pathlib import PurePosixPath
from typing import cast

from tree_sitter import Language as Grammar
from tree_sitter import Parser, Tree

LARGEST = 2**20
"""Bytes; a larger file is not parsed."""


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


def as_utf8(source: bytes) -> bytes:
    """Return a source in UTF-8 with line feeds: a byte order mark and UTF-16 are read, CRLF is one break."""
    if source.startswith((b"\xff\xfe", b"\xfe\xff")):
        source = source.decode("utf-16", "replace").encode("utf-8", "replace")
    return source.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")


@functools.cache
def _parser(language: Language) -> Parser:
    module, entry = _GRAMMARS[language]
    load = cast("Callable[[], object]", getattr(importlib.import_module(module), entry))
    return Parser(Grammar(load()))
