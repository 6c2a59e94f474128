"""Where JavaScript asks whether it is being tested."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

from tree_sitter import Node

from harness.guard.syntax.hidden import hidden_in
from harness.guard.syntax.model import Sign, What
from harness.guard.syntax.nodes import line_of, normal, text_of

_LOOKS = re.compile(
    r".*(?:argv|execArgv|stack|\bfilename)\b.*\.(?:includes|indexOf|match|some|search|test|endsWith)|/.*/\.test|….test"
)
PROBING = frozenset(
    {"binary_expression", "unary_expression", "call_expression", "member_expression", "switch_statement"}
)
"""Kinds of nodes that may ask."""
_RUNNING = re.compile(r"(?i)jest|mocha|vitest|\btest|spec\b|\.test\b|runner|tape|jasmine")


class Chains(Protocol):
    """Reads what is called, or read, as `a.b().c`."""

    def chain(self, node: Node | None) -> str:
        """Return the chain."""


def probed(node: Node, chains: Chains) -> Iterator[Sign]:
    """Yield what asks whether tests are running: the environment, globals, the stack, the command line."""
    kind, line = node.type, line_of(node)
    yield from hidden_in(node)
    if kind == "member_expression":
        chain = chains.chain(node)
        if re.fullmatch(
            r"process\.env\.(?:JEST_WORKER_ID|VITEST\w*|MOCHA\w*|NODE_TEST_CONTEXT)|(?:globalThis|global|window)\.(?:it|describe|jest|expect|vi|__karma__|mocha|beforeEach)|(?:import\.meta|…)\.vitest|require\(\)\.main",
            chain,
        ):
            yield Sign(What.PROBE, f"`{chain}`", line)
    elif kind == "unary_expression" and text_of(node).startswith("typeof"):
        name = text_of(node.children[-1])
        if re.fullmatch(r"(?:jest|describe|it|expect|vi|mocha|test|beforeEach|jasmine|suite)", name):
            yield Sign(What.PROBE, f"`typeof {name}`", line)
    elif kind == "switch_statement" and "NODE_ENV" in normal(node.child_by_field_name("value")):
        yield Sign(What.PROBE, "a switch over `NODE_ENV`", line)
    elif kind == "binary_expression" and node.children[1].type not in {"&&", "||", "??"}:
        text = normal(node)
        if re.search(r"NODE_ENV|APP_ENV|\bMODE\b|npm_lifecycle_event", text) and re.search(
            r"'(?:test|testing|ci)'", text
        ):
            yield Sign(What.PROBE, "`NODE_ENV` of tests", line)
    elif kind == "call_expression" and _LOOKS.fullmatch(chains.chain(node)):
        text = text_of(node)
        if _RUNNING.search(text) and re.search(r"argv|stack|filename", text, re.IGNORECASE):
            yield Sign(What.PROBE, "tests in the call stack or command line", line)
