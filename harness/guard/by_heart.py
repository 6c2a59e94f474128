"""Which literals are too special to be in a program and in its tests by accident."""

from __future__ import annotations

import ast
import re

_WORD = re.compile(r"[-<@%.]{0,2}[A-Za-z_][\w./:+-]*>?")
"""Options, encodings, keywords, types of media: programs compare with these for good reasons."""
SHORTEST = 6
_SMALL = 1000
_EVERYDAY = frozenset(
    {
        *("0", "1", "2", "-1", "''", "' '", "b''", "True", "False", "None", "0.0", "1.0"),
        *("true", "false", "null", "nil", "undefined"),
    }
)


def is_everyday(literal: str) -> bool:
    """Tell whether a literal is so common that it says nothing."""
    return literal in _EVERYDAY


def is_telling(literal: str) -> bool:
    """Tell whether a literal, as Python writes it, is no accident where source and test both have it."""
    try:
        value = ast.literal_eval(literal)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False
    if isinstance(value, str | bytes):
        text = value if isinstance(value, str) else value.decode("latin-1")
        return len(text) >= SHORTEST and _WORD.fullmatch(text) is None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return abs(value) >= _SMALL and value % _SMALL != 0 and value % 256 != 0
    return False
