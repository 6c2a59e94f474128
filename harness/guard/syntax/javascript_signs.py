"""Signs in JavaScript that stand by themselves: replaced matchers and globals, dangerous options."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from harness.guard.syntax.dialect import string_of, truth
from harness.guard.syntax.javascript_errors import FUNCTIONS
from harness.guard.syntax.model import Sign, What
from harness.guard.syntax.nodes import line_of, text_of


def shadows(node: Node) -> Iterator[Sign]:
    """Yield the runner's own names where something made on the spot takes their place."""
    name, value = text_of(node.child_by_field_name("name")), node.child_by_field_name("value")
    made = node.type == "function_declaration" or (value is not None and value.type in {*FUNCTIONS, "object"})
    if made and re.fullmatch(r"it|test|describe|expect|assert|jest|vi|suite|specify", name):
        yield Sign(What.SHADOW, f"`{name}` is defined anew", line_of(node))


def overridden(node: Node) -> Iterator[Sign]:
    """Yield matchers of the runner's own that are put in place of themselves."""
    for item in node.named_children:
        name = text_of(item.child_by_field_name("key") or item.child_by_field_name("name") or item)
        if re.fullmatch(
            r"toBe|toEqual|toStrictEqual|toMatch|toContain|toThrow|toHaveLength|toBeTruthy", name
        ):
            yield Sign(What.TAMPER, f"the matcher `{name}` is replaced", line_of(item))


def paired(node: Node) -> Iterator[Sign]:
    """Yield options of an object that switch protection off."""
    key, value = string_of(node.child_by_field_name("key") or node), node.child_by_field_name("value")
    if key == "rejectUnauthorized" and truth(value) is False:
        yield Sign(What.DANGER, "rejectUnauthorized: false", line_of(node))
    elif key == "shell" and value is not None and value.type == "true":
        yield Sign(What.DANGER, "shell: true", line_of(node))
