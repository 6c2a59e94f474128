"""What each language has to say for the guard to read it: the interface, and what most of them share."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator

from tree_sitter import Node

from harness.guard.syntax.model import Assertion, Call, Link, Sign, What
from harness.guard.syntax.nodes import COMMENTS, is_literal, line_of, literal, normal, text_of
from harness.guard.syntax.nodes import string_content as string_of

__all__ = ["Dialect", "holds", "string_of", "truth"]

NEVER = re.compile(r"(?!)")


class Dialect(ABC):
    """One language: its containers, tests, calls and words. Words are patterns over a call's whole chain."""

    opened: frozenset[str]
    """Node types whose children are looked at one by one."""
    blocks: frozenset[str]
    """Node types whose children run one after the other."""
    ends: frozenset[str] = frozenset()
    """Statements after which the rest of a block does not run."""
    branches: frozenset[str] = frozenset({"if_statement"})
    loops: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()
    skips: re.Pattern[str] = NEVER
    dangers: re.Pattern[str] = NEVER
    stops: re.Pattern[str] = NEVER
    prints: re.Pattern[str] = NEVER
    probes: re.Pattern[str] = NEVER
    exits: re.Pattern[str] = NEVER
    repeats: re.Pattern[str] = NEVER
    """Calls that do something for each item of a table."""
    telling: re.Pattern[str] = NEVER
    """Strings that only code asks for which looks for tests."""
    matching: re.Pattern[str] = NEVER
    """Calls whose arguments are compared with."""
    later_hides = False
    """Whether a second test of the same name takes the first one's place."""

    def opens(self, node: Node, in_tests: bool) -> bool:
        """Tell whether a node holds units, rather than being one."""
        del in_tests
        return node.type in self.opened

    def owner(self, node: Node) -> str:
        """Return the name that a container gives to what is in it, "" for none."""
        del node
        return ""

    def around(self, node: Node, extra: tuple[Node, ...]) -> tuple[Sign, ...]:
        """Return what a container says about running the tests in it."""
        del node, extra
        return ()

    def of_file(self, root: Node) -> tuple[Sign, ...]:
        """Return what a file's head says about running what is in it."""
        del root
        return ()

    def begins_tests(self, node: Node, extra: tuple[Node, ...]) -> bool:
        """Tell whether a container holds tests although its file does not look like it."""
        del node, extra
        return False

    @abstractmethod
    def test_name(self, node: Node, extra: tuple[Node, ...], path: str) -> str:
        """Return a test's name, "" for what is no test."""

    @abstractmethod
    def function_name(self, node: Node) -> str:
        """Return a function's name, "" for what is none."""

    def test_marks(self, node: Node, extra: tuple[Node, ...]) -> tuple[Sign, ...]:
        """Return what a test's own head says about running it."""
        del node, extra
        return ()

    def of_attributes(self, extra: tuple[Node, ...]) -> Iterator[Sign]:
        """Yield what attributes before a unit are signs of."""
        del extra
        return iter(())

    @abstractmethod
    def body(self, node: Node) -> list[Node] | None:
        """Return the statements of a function, None where it has no body."""

    @abstractmethod
    def call(self, node: Node) -> Call | None:
        """Read a call, None for any other node."""

    @abstractmethod
    def assertion(self, call: Call, link: Link) -> Assertion | None:
        """Read an assertion from a call, None for any other call."""

    def guards(self, assertion: Assertion, link: Link) -> tuple[str, ...]:
        """Return the conditions around an assertion that are no part of it."""
        del assertion
        return link.guards

    def more(self, node: Node, link: Link) -> Iterator[Sign]:
        """Yield what is a sign in this language only."""
        del node, link
        return iter(())

    def compared(self, node: Node) -> Iterator[Node]:
        """Yield the nodes that a node compares something with."""
        if (
            node.type in {"binary_expression", "binary"}
            and any(child.type in {"==", "===", "!=", "!=="} for child in node.children)
        ) or node.type in {"switch_case", "expression_case", "when", "match_pattern", "switch_label"}:
            yield from node.named_children

    def placed_literal(self, node: Node) -> tuple[str, int]:
        """Return a literal, and the byte at which it begins."""
        return literal(node), node.start_byte

    def table(self, unit: Node, extra: tuple[Node, ...]) -> list[Node]:
        """Return the nodes of a test's head that hold its cases."""
        del unit
        return list(extra)

    def imports(self, root: Node) -> dict[str, frozenset[str]]:
        """Return what is imported from where: module → names."""
        del root
        return {}

    def is_program(self, path: str) -> bool:
        """Tell whether a file is a command, for which printing is its work."""
        del path
        return False

    def signs(self, call: Call) -> Iterator[Sign]:
        """Yield what a call is a sign of, by its chain alone."""
        for what, words in (
            (What.SKIP, self.skips),
            (What.DANGER, self.dangers),
            (What.STOP, self.stops),
            (What.PRINT, self.prints),
            (What.PROBE, self.probes),
            (What.EXIT, self.exits),
        ):
            if words.fullmatch(call.chain):
                yield Sign(what, call.chain, line_of(call.node))


def truth(node: Node | None) -> bool | None:
    """Return what a condition always is, None for one that depends on something."""
    if node is None:
        return None
    if node.type in {"parenthesized_expression", "parenthesized_statements", "condition_clause"}:
        inner = [child for child in node.named_children if child.type not in COMMENTS]
        return truth(inner[0]) if len(inner) == 1 else None
    if node.type in {"unary_expression", "unary"} and node.children[0].type in {"!", "not"}:
        value = truth(node.children[-1])
        return None if value is None else not value
    if is_literal(node):
        return text_of(node) not in {"false", "0", "nil", "null", "undefined", "''", '""', "``"}
    if node.type in {"binary_expression", "binary"} and len(node.children) == 3:
        return _of_two(*node.children)
    return None


def holds(branch: Node) -> bool | None:
    """Return whether the first part of a branch always runs, or never; None where that depends."""
    value = truth(branch.child_by_field_name("condition"))
    return value if value is None or not branch.type.startswith("unless") else not value


def _of_two(left: Node, operator: Node, right: Node) -> bool | None:
    sides = truth(left), truth(right)
    if operator.type in {"&&", "and"}:
        return False if False in sides else True if sides == (True, True) else None
    if operator.type in {"||", "or"}:
        return True if True in sides else False if sides == (False, False) else None
    if is_literal(left) and is_literal(right):
        same = literal(left) == literal(right)
        if operator.type in {"==", "===", "is"}:
            return same
        if operator.type in {"!=", "!=="}:
            return not same
    if operator.type in {"==", "==="} and normal(left) == normal(right) and left.type == "identifier":
        return True
    return None
