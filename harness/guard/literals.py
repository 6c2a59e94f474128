"""Whether an issue names a literal: old and new, each as a word of its own."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence


def is_named(lost: Sequence[str], gained: Sequence[str], issue_text: str) -> bool:
    """Tell whether the issue's text has every lost literal and every gained one, as words of their own."""
    return bool(lost) and bool(gained) and all(occurs(item, issue_text) for item in [*lost, *gained])


def occurs(literal: str, text: str) -> bool:
    """Tell whether a text has a literal, given as Python writes it: a string without its quotes."""
    value = literal
    if literal[:1] in "'\"" or literal[:2] in {"b'", 'b"'}:
        value = str(ast.literal_eval(literal))
    elif (
        literal.startswith("/") and literal.rfind("/") > 1
    ):  # a pattern, which people quote without its slashes
        value = literal[1 : literal.rfind("/")]
    if len(value.strip()) == 0:
        return literal in text
    return bool(re.search(rf"(?<![\w.]){re.escape(value)}(?!\w|\.\d)", text))
