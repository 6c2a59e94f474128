"""Where JavaScript drops errors: handlers that do nothing with them, in `catch` and on promises."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from harness.guard.syntax.model import Link, Sign, What
from harness.guard.syntax.nodes import CONSTANTS, is_literal, line_of, normal, statements, text_of

FUNCTIONS = frozenset(
    {"arrow_function", "function_expression", "generator_function", "function_declaration", "function"}
)


def caught(node: Node, link: Link) -> Iterator[Sign]:
    """Judge a `catch`: what it drops, and whether it at least says so."""
    body = statements(node.child_by_field_name("body"))
    if not all(map(_is_idle, body)):
        return
    wrapped = link.up.node.child_by_field_name("body") if link.up is not None else None
    logs = any(map(_is_log, body))
    gives = [item for item in body if item.type == "return_statement"]
    is_soft = logs or (bool(gives) and len(statements(wrapped)) < 2)
    yield Sign(
        What.SOFT_SWALLOW if is_soft else What.SWALLOW, f"catch around {normal(wrapped)[:200]}", line_of(node)
    )


def caught_promise(node: Node) -> Iterator[Sign]:
    """Judge `.catch(() => …)`."""
    function = function_in(node)
    if function is None:
        return
    body = function.child_by_field_name("body")
    inside = (
        statements(body) if body is not None and body.type == "statement_block" else [body] if body else []
    )
    if all(_is_idle(item) or _is_constant(item) for item in inside):
        soft = any(map(_is_log, inside))
        yield Sign(What.SOFT_SWALLOW if soft else What.SWALLOW, normal(node)[:200], line_of(node))


def _is_constant(node: Node) -> bool:
    if node.type in {"object", "array"}:
        return not node.named_children
    return is_literal(node) or node.type in CONSTANTS or text_of(node) == "undefined"


def _is_idle(node: Node) -> bool:
    if node.type in {"continue_statement", "break_statement"} or _is_log(node):
        return True
    inner = node.named_children[0] if node.named_children else None
    if node.type == "return_statement":
        return inner is None or _is_constant(inner)
    if node.type == "expression_statement" and inner is not None and inner.type == "assignment_expression":
        value = inner.child_by_field_name("right")
        return value is not None and _is_constant(value)
    return node.type == "expression_statement" and inner is not None and is_literal(inner)


def _is_log(node: Node) -> bool:
    target = node.named_children[0] if node.type == "expression_statement" and node.named_children else node
    if target.type != "call_expression":
        return False
    return bool(re.match(r"(?:console|logger|log|debug|winston|this\.log(?:ger)?)\b", text_of(target)))


def function_in(node: Node) -> Node | None:
    """Return the function that a call is given, or that is called where it stands."""
    arguments = node.child_by_field_name("arguments")
    for argument in reversed(arguments.named_children if arguments is not None else []):
        if argument.type in FUNCTIONS:
            return argument
        if argument.type == "call_expression" and any(
            item.type in FUNCTIONS
            for item in (argument.child_by_field_name("arguments") or argument).named_children
        ):
            return argument
    function = node.child_by_field_name("function")
    if function is not None and function.type == "parenthesized_expression":
        return function
    return None


def leaves_finally(node: Node, ends: frozenset[str]) -> Iterator[Sign]:
    """Judge a `finally` that returns: whatever was thrown is gone."""
    body = node.child_by_field_name("body") or next(iter(node.named_children), None)
    if body is not None and any(item.type in ends for item in statements(body)):
        yield Sign(What.SWALLOW, f"finally {normal(body)[:100]}", line_of(node))
