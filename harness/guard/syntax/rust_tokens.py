"""A Rust macro's arguments are tokens: which of them are literals, and which minus signs belong to one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tree_sitter import Node

from harness.guard.syntax.nodes import NUMBERS, placed, text_of

_BEFORE_A_SIGN = frozenset({"(", "[", "{", ",", "==", "!=", "<", ">", "<=", ">=", "=>", "..", "=", "&"})


def sign_of(node: Node) -> Node | None:
    """Return the minus sign before a number among a macro's tokens, None where it stands between two."""
    sign = node.prev_sibling if node.type in NUMBERS else None
    if sign is None or sign.type != "-":
        return None
    before = sign.prev_sibling
    return sign if before is None or before.type in _BEFORE_A_SIGN else None


def values(tokens: Sequence[Node]) -> Iterator[tuple[str, int]]:
    """Yield the literals among a macro's tokens: there, a minus sign before a number is one by itself."""
    for node in tokens:
        sign = sign_of(node)
        if node.type == "token_tree":
            yield from values(node.children)
        elif sign is not None:
            yield f"-{text_of(node)}", sign.start_byte
        else:
            yield from placed(node)
