"""Parsers by grammar package: loaded when the first file of a language comes by."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import cast

from tree_sitter import Language, Parser

LARGEST = 2**20
"""Bytes; a larger file is not parsed."""


def as_utf8(source: bytes) -> bytes:
    """Return a source in UTF-8 with line feeds: a byte order mark and UTF-16 are read, CRLF is one break."""
    if source.startswith((b"\xff\xfe", b"\xfe\xff")):
        source = source.decode("utf-16", "replace").encode("utf-8", "replace")
    return source.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")


@functools.cache
def parser_of(module: str, entry: str) -> Parser:
    """Return the parser that a grammar package gives under a name."""
    load = cast("Callable[[], object]", getattr(importlib.import_module(module), entry))
    return Parser(Language(load()))
