"""RH004 by syntax: a file that parsed does not parse any more, or a merge was left half done."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from domain.model import Finding
from harness.guard.context import Context, critical, warning
from harness.guard.syntax.files import SyntaxFile, is_fixture, is_others
from harness.guard.syntax.nodes import text_of

RULE = "RH004"
_WHY = "Nothing that needs this file can run."
_MARKERS = re.compile(rb"^(?:<{7} |>{7} )", re.MULTILINE)
_OWN_DIALECT = re.compile(rb"@flow\b|\{\{|<%|\$\{\w+\}\s*$", re.MULTILINE)
"""Typed by another tool than TypeScript, or a template that is filled in before it is a program."""


def check(context: Context) -> Iterator[Finding]:
    """Yield findings for files with errors, and for merge markers in any text."""
    for file in context.files:
        if file.is_broken:
            yield from _broken(file)
    for path, delta in context.change.deltas.items():
        if delta.new is None or delta.is_binary or path.endswith((".md", ".rst", ".txt", ".patch", ".diff")):
            continue
        if b"<<<<<<< " not in delta.new:
            continue
        now = _MARKERS.findall(delta.new[:4_000_000])
        if len(set(now)) == 2 and len(now) > len(_MARKERS.findall((delta.old or b"")[:4_000_000])):
            if is_fixture(path):
                continue
            line = delta.new.count(b"\n", 0, delta.new.find(now[0])) + 1
            yield critical(RULE, path, line, "a merge conflict is left in the file", _WHY)


def _broken(file: SyntaxFile) -> Iterator[Finding]:
    if file.new is None or _OWN_DIALECT.search((file.delta.new or b"")[:4000]):
        return
    node = first_error(file.new.root_node)
    line = node.start_point[0] + 1
    if file.old is not None and file.old.root_node.has_error:
        said = "it did not parse before either, so it was read in part only"
        yield warning(RULE, file.path, line, f"not analysed: {said}", _WHY)
        return
    near = text_of(node).strip().splitlines()[:1]
    where = f"missing {node.type}" if node.is_missing else f"near {(near or [''])[0][:60]!r}"
    what = f"it does not parse: {where}"
    is_data = is_fixture(file.path) or is_others(file.delta) or re.search(r"\.d\.[cm]?ts$", file.path)
    yield (warning if is_data else critical)(RULE, file.path, line, what, _WHY)


def first_error(root: Node) -> Node:
    """Return the first node that is an error or was missing, the root if none is found."""
    node = root
    while True:
        below = next(
            (child for child in node.children if child.has_error or child.is_error or child.is_missing), None
        )
        if below is None:
            return node
        if below.is_error or below.is_missing:
            return below
        node = below
