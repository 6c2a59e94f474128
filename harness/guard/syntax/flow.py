"""Which nodes of a unit can run, and under which conditions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from harness.guard.syntax.dialect import Dialect, holds, truth
from harness.guard.syntax.model import Link
from harness.guard.syntax.nodes import COMMENTS, STRINGS, is_literal, normal, text_of, without_key

_SPEAKS = re.compile(
    r"\b(?:assert|expect|should|fail|Fatal|Error|throw|panic|raise|flunk|skip|Skip|t\.\w+\()"
)
_LATER = re.compile(
    rb"(?:setTimeout|setInterval|setImmediate|queueMicrotask|process\.nextTick|time\.AfterFunc)\("
)
DEEPEST = 300
"""Levels below a unit; what is nested deeper is left unread: no code that people write is."""
MOST_GUARDS = 20
"""Conditions that are told for one place; more of them say no more."""
_EMPTY = frozenset({"array", "array_expression", "composite_literal", "object", "hash"})


def live(start: Node, dialect: Dialect) -> Iterator[Link]:
    """Walk what can run: nothing after a `return` in its block, nothing under `if (false)`, no empty loop."""
    waiting = [Link(start)]
    while waiting:
        link = waiting.pop()
        node = link.node
        if node.type in COMMENTS or (link.up is not None and _is_never_called(node, start)):
            continue
        yield link
        if link.depth > DEEPEST or not node.child_count or (node.type in STRINGS and is_literal(node)):
            continue
        below = [Link(item.node, link, item.guards, link.depth + 1) for item in _below(link, dialect)]
        waiting.extend(reversed(below))


def _below(link: Link, dialect: Dialect) -> Iterator[Link]:
    """Yield a node's children that can run, with the conditions that these run under."""
    node, guards = link.node, link.guards
    if node.type in dialect.branches:
        yield from _branches(link)
        return
    if node.type in {"binary_expression", "binary"} and node.child_count == 3:
        yield from _short_circuit(link)
        return
    if node.type == "call_expression" and _LATER.match(node.text or b""):
        guards = (*guards, "when a time has passed")
    dead = _never_entered(node, dialect)
    is_block = node.type in dialect.blocks
    for child in without_key(node):
        if dead is not None and child == dead:
            continue
        yield Link(child, link, guards)
        if not is_block:
            continue
        if is_end(child, dialect):
            return
        leaving = _leaves_quietly(child, dialect)
        if leaving is not None and len(guards) < MOST_GUARDS:
            guards = (*guards, f"not {normal(leaving)[:80]}")


def _is_never_called(node: Node, unit: Node) -> bool:
    """Tell whether a function is made inside of a unit under a name that is nowhere used in it."""
    if node.type not in {"function_declaration", "variable_declarator"}:
        return False
    value = node.child_by_field_name("value")
    if node.type == "variable_declarator" and (
        value is None or value.type not in {"arrow_function", "function_expression"}
    ):
        return False
    name = node.child_by_field_name("name")
    text = name.text if name is not None and name.type == "identifier" else None
    return bool(text) and len(re.findall(rb"\b" + re.escape(text or b"") + rb"\b", unit.text or b"")) == 1


def _short_circuit(link: Link) -> Iterator[Link]:
    """Yield both sides of an expression; the second of `a && b` depends on the first."""
    node, guards = link.node, link.guards
    left, operator, right = node.children
    yield Link(left, link, guards)
    yield Link(operator, link, guards)
    if operator.type not in {"&&", "||", "and", "or"}:
        yield Link(right, link, guards)
        return
    value, decisive = truth(left), operator.type in {"&&", "and"}
    if value is None or value is decisive:
        yield Link(
            right, link, guards if value is decisive else (*guards, f"{operator.type} {normal(left)[:80]}")
        )


def _branches(link: Link) -> Iterator[Link]:
    node, guards = link.node, link.guards
    condition = node.child_by_field_name("condition")
    first = node.child_by_field_name("consequence") or node.child_by_field_name("body")
    other = node.child_by_field_name("alternative")
    value = holds(node)
    both = value is not None or (other is not None and _speaks(first) and _speaks(other))
    said = normal(condition)[:80]
    for child in node.children:
        if child == first:
            if value is not False:
                yield Link(child, link, guards if both else (*guards, said))
        elif child == other:
            if value is not True:
                yield Link(child, link, guards if both else (*guards, f"not {said}"))
        else:
            yield Link(child, link, guards)


def _never_entered(node: Node, dialect: Dialect) -> Node | None:
    """Return the body of a loop over nothing, or the function that is given to one."""
    if node.type in dialect.loops or node.type == "for":
        over = node.child_by_field_name("right") or node.child_by_field_name("value")
        clause = next((child for child in node.children if child.type == "range_clause"), None)
        over = clause.child_by_field_name("right") if clause is not None else over
        return node.child_by_field_name("body") if over is not None and _is_empty(over) else None
    if node.type in {"call_expression", "call"}:
        function = node.child_by_field_name("function")
        over = (
            function.child_by_field_name("object")
            if function is not None
            else node.child_by_field_name("receiver")
        )
        if over is not None and _is_empty(over):
            return node.child_by_field_name("arguments") or node.child_by_field_name("block")
    return None


def _is_empty(node: Node) -> bool:
    if node.type == "composite_literal":
        body = node.child_by_field_name("body")
        return body is not None and not body.named_children
    return node.type in _EMPTY and not node.named_children


def _leaves_quietly(node: Node, dialect: Dialect) -> Node | None:
    """Return the condition on which a statement makes the rest of its block not run, without a word."""
    inner = node.named_children[0] if node.type == "expression_statement" and node.named_children else node
    if inner.type not in dialect.branches:
        return None
    if inner.child_by_field_name("alternative") is not None:
        return None
    body = inner.child_by_field_name("consequence") or inner.child_by_field_name("body")
    if body is None or _speaks(body):
        return None
    last = [body, *_flat(body)]
    return inner.child_by_field_name("condition") if any(item.type in dialect.ends for item in last) else None


def _speaks(node: Node | None) -> bool:
    return node is not None and _SPEAKS.search(text_of(node)) is not None


def is_end(node: Node, dialect: Dialect) -> bool:
    """Tell whether nothing after a statement runs: a `return`, or an `if (true)` around one."""
    if node.type in dialect.ends:
        return True
    if node.type == "expression_statement" and node.named_children:
        node = node.named_children[0]
        if node.type in dialect.ends:
            return True
    if node.type in dialect.branches and holds(node) is True:
        inner = node.child_by_field_name("consequence")
        return inner is not None and (
            inner.type in dialect.ends or any(item.type in dialect.ends for item in _flat(inner))
        )
    return False


def _flat(block: Node) -> Iterator[Node]:
    for child in block.named_children:
        if child.type in {"statement_list", "then", "expression_statement"}:
            yield from child.named_children
        yield child
