"""Names that are put together from pieces of text, so that whoever reads the change does not find them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from harness.guard.syntax.model import Sign, What
from harness.guard.syntax.nodes import STRINGS, is_literal, line_of, text_of

HIDDEN = re.compile(
    r"jest|vitest|mocha|NODE_ENV|rspec|minitest|surefire|junit|RUST_TEST|pytest|_called_from_test",
    re.IGNORECASE,
)
_VARIABLES = re.compile(
    r"JEST_WORKER_ID|VITEST(?:_\w+)?|NODE_ENV|RAILS_ENV|RUST_TEST_\w+|MOCHA_\w+|-?test\.v|_test\.go"
)
_MOST = 40
"""Longer expressions are not worked out: names are short."""


def hidden_in(node: Node) -> Iterator[Sign]:
    """Yield a sign where an expression makes a name that tells of tests."""
    text = put_together(node)
    if text is not None:
        yield Sign(What.HIDDEN, text, line_of(node))


def put_together(node: Node) -> str | None:
    """Return a telling text that an expression over strings makes, where no piece of it says it by itself."""
    pieces = _pieces(node)
    if pieces is None or len(pieces) < 2:
        return None
    text = "".join(pieces)
    if _VARIABLES.fullmatch(text) and text not in pieces:
        return text
    is_said = any(HIDDEN.search(piece) for piece in pieces)
    return text if HIDDEN.search(text) and not is_said else None


def _pieces(node: Node) -> list[str] | None:
    """Return the strings that `+` and `[…].join('')` join, None for any other expression."""
    found: list[str] = []
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if len(found) > _MOST:
            return None
        if current.type in STRINGS and is_literal(current):
            found.append(text_of(current)[1:-1])
        elif current.type == "template_string":
            waiting += reversed(current.named_children)
        elif current.type == "string_fragment":
            found.append(text_of(current))
        elif current.type == "template_substitution" and current.named_children:
            waiting.append(current.named_children[0])
        elif current.type in {"binary_expression", "binary"} and current.children[1].type == "+":
            waiting += [current.children[2], current.children[0]]
        elif current.type == "parenthesized_expression" and current.named_children:
            waiting.append(current.named_children[0])
        elif current is node and _is_join(current):
            waiting += reversed(_joined(current).named_children)
        else:
            return None
    return found


def _joined(node: Node) -> Node:
    function = node.child_by_field_name("function") or node
    return function.child_by_field_name("object") or node.child_by_field_name("receiver") or node


def _is_join(node: Node) -> bool:
    if node.type not in {"call_expression", "call"} or len(node.text or b"") > 400:
        return False
    return _joined(node).type == "array" and ".join" in text_of(node)
