"""What a unit's code says when it is read once: assertions, signs, literals, and what it compares with."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import islice

from tree_sitter import Node

from harness.guard.syntax.dialect import Dialect
from harness.guard.syntax.flow import live
from harness.guard.syntax.model import Assertion, Link, Sign, Unit, What
from harness.guard.syntax.nodes import (
    STRINGS,
    is_literal,
    line_of,
    literal,
    names,
    placed,
    text_of,
)

MOST_NODES = 50_000
"""Nodes of one unit that are read; what goes on beyond is a table of data."""
_ASSIGNS = frozenset(
    {
        *("variable_declarator", "short_var_declaration", "assignment_statement", "assignment_expression"),
        *("assignment", "let_declaration", "var_spec", "const_spec", "range_clause", "for_in_statement"),
        *("for_expression", "enhanced_for_statement", "const_item", "static_item"),
    }
)

Placed = tuple[str, int]
"""A literal, and the byte at which it begins."""
Assigned = tuple[frozenset[str], frozenset[str], tuple[Placed, ...]]
"""What an assignment gives a value to, the names that it takes it from, and its literals."""


@dataclass(slots=True)
class View:
    """A unit as it runs. `loops` counts what repeats, `looped` assertions in it; `cases` are of its head."""

    unit: Unit
    assertions: list[Assertion] = field(default_factory=list)
    signs: list[Sign] = field(default_factory=list)
    placed: set[Placed] = field(default_factory=set)
    cases: set[Placed] = field(default_factory=set)
    assigned: list[Assigned] = field(default_factory=list)
    compared: list[tuple[str, int]] = field(default_factory=list)
    loops: int = 0
    called: set[str] = field(default_factory=set)
    calls: int = 0
    looped: int = 0

    def expected(self) -> Counter[str]:
        """Return the literals that assertions rest on: their own, and those of what they name."""
        found, reached = set(self.cases), set[str]()
        for assertion in self.assertions:
            found.update(assertion.literals)
            reached |= assertion.names
        waiting = list(self.assigned)
        is_growing = True
        while is_growing:
            is_growing = False
            for entry in list(waiting):
                targets, sources, values = entry
                if not targets.isdisjoint(reached):
                    waiting.remove(entry)
                    reached |= sources
                    found.update(values)
                    is_growing = True
        return Counter(value for value, _ in found)

    @property
    def literals(self) -> Counter[str]:
        """Every literal that the unit has where it can run, and how often."""
        return Counter(value for value, _ in self.placed | self.cases)


def view_of(unit: Unit, dialect: Dialect) -> View:
    """Read a unit once, from top to bottom, without what can never run."""
    view = View(unit)
    view.signs += unit.marks
    view.signs += dialect.of_attributes(unit.extra)
    for head in dialect.table(unit.node, unit.extra):
        view.cases.update(placed(head))
    for link in islice(live(unit.node, dialect), MOST_NODES):
        _read(view, link, dialect)
    return view


def _read(view: View, link: Link, dialect: Dialect) -> None:
    node = link.node
    if not node.is_named:
        return
    call = dialect.call(node)
    if call is not None:
        assertion = dialect.assertion(call, link)
        if assertion is not None:
            view.placed.update(assertion.literals)
            if not view.assertions or not _repeats(assertion, view.assertions[-1]):
                view.assertions.append(replace(assertion, guards=dialect.guards(assertion, link)))
                view.looped += _is_looped(link, dialect)
        view.signs += dialect.signs(call)
        view.called.add(call.last)
        view.calls += 1
        if dialect.repeats.fullmatch(call.chain):
            view.loops += 1
        if dialect.matching.fullmatch(call.chain):
            view.compared += [
                (literal(item), line_of(item))
                for group in call.arguments
                for item in group
                if is_literal(item)
            ]
    view.signs += dialect.more(node, link)
    view.compared += [(literal(item), line_of(item)) for item in dialect.compared(node) if is_literal(item)]
    kind = node.type
    if is_literal(node):
        _literal(view, node, dialect)
    elif kind in {"unary_expression", "unary"}:
        view.placed.update(placed(node) if text_of(node).startswith("-") and node.child_count == 2 else ())
    elif kind in dialect.loops:
        view.loops += 1
    if kind in _ASSIGNS and len(view.assigned) < 2000:
        view.assigned.append(_assignment(node))


def _repeats(item: Assertion, before: Assertion) -> bool:
    """Tell whether an assertion says the very same as the one before it: the second adds nothing."""
    return item.dump == before.dump and "(" in item.subject


def _literal(view: View, node: Node, dialect: Dialect) -> None:
    view.placed.add(dialect.placed_literal(node))
    if node.type in STRINGS:
        text = text_of(node)[1:-1]
        if dialect.telling.fullmatch(text):
            view.signs.append(Sign(What.PROBE, f"`{text}`", line_of(node)))


def _assignment(node: Node) -> Assigned:
    left = (
        node.child_by_field_name("left")
        or node.child_by_field_name("name")
        or node.child_by_field_name("pattern")
    )
    right = node.child_by_field_name("right") or node.child_by_field_name("value")
    targets = names(left) if left is not None else set()
    if right is None:
        return frozenset(targets), frozenset(), ()
    return frozenset(targets), frozenset(names(right)), tuple(placed(right))


def _is_looped(link: Link, dialect: Dialect) -> bool:
    """Tell whether a node stands in a loop, or in a function that is given to one."""
    up = link.up
    while up is not None:
        if up.node.type in dialect.loops:
            return True
        call = (
            dialect.call(up.node)
            if up.node.type in {"call_expression", "call", "method_invocation"}
            else None
        )
        if call is not None and dialect.repeats.fullmatch(call.chain):
            return True
        up = up.up
    return False
