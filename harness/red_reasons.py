"""Why a test is red on the base: for the fault that was reported, or for something beside the point.

A test that fails only because what it needs came with the change shows that it is new, and nothing else. The
names are looked for in the text of the change, so that this holds for any language.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from harness.guard.change import Change
from harness.testing.cases import Case
from harness.testing.paths import is_documentation, is_test_side

_WORD = re.compile(r"[A-Za-z_]\w*")
_MISSING_NAMES = (
    re.compile(r"fixture '(\w{1,200})' not found"),
    re.compile(r"undefined: (?:[\w.]{0,200}\.)?(\w{1,200})"),
    re.compile(r"\.(\w{1,200}) undefined \(type"),
    re.compile(r"cannot find (?:\w{1,40}(?:, \w{1,40})*(?: or \w{1,40})? )`([\w:]{1,200})`"),
    re.compile(
        r"no (?:method|function or associated item|associated (?:item|function)|variant|field)"
        r"(?: or \w{1,40})? (?:named )?`(\w{1,200})`"
    ),
    re.compile(r"unknown field (\w{1,200}) in struct literal|unknown keywords?: :(\w{1,200})"),
    re.compile(r"Property '(\w{1,200})' does not exist|has no exported member(?: named)? '(\w{1,200})'"),
    re.compile(r"Cannot find name '(\w{1,200})'"),
    re.compile(r"unresolved import `[\w:]{0,200}?(\w{1,200})`"),
    re.compile(r"(?:^|[\s.(])(\w{1,200})\)? is not a (?:function|constructor)"),
    re.compile(r"(?:^|\s)(\w{1,200}) is not defined"),
    re.compile(r"does not provide an export named '(\w{1,200})'"),
    re.compile(
        r"(?:Cannot find module|Failed to resolve import|Could not resolve) "
        r"[\"'][^\"'\n]{0,300}?([\w-]{1,200})(?:\.\w{1,5})?[\"']"
    ),
    re.compile(r"uninitialized constant (?:\w{1,200}::)*(\w{1,200})"),
    re.compile(r"undefined (?:local variable or )?method [`'](\w{1,200})[`']?"),
    re.compile(r"cannot load such file -- (?:\S{0,300}/)?(\w{1,200})"),
    re.compile(r"Call to undefined (?:method|function) (?:[\w\\]{1,200}::)?(\w{1,200})"),
    re.compile(r"Class [\"'](?:[\w\\]{0,200}\\)?(\w{1,200})[\"'] not found"),
    re.compile(r"symbol:\s{1,20}(?:method|class|variable) (\w{1,200})"),
)
_MISSING_FILES = (
    re.compile(
        r"(?:No such file or directory|ENOENT|NoSuchFileException|cannot find the file)"
        r"[^\n\"'`]{0,80}[\"'`]([\w./-]{1,300})"
    ),
    re.compile(r"open ([\w./-]{1,300}): no such file or directory"),
)


def beside_the_point(cases: Iterable[Case], change: Change, issue_text: str) -> frozenset[str]:
    """Return the names or files of the change that all of these tests wait for; empty if one does not."""
    said = set(_WORD.findall(issue_text))
    names = _new_words(change) - said
    files = {path for path in change.paths if change.deltas[path].old is None and path not in issue_text}
    waited: set[str] = set()
    for case in cases:
        wanted = _missing_names(case.message) & names
        wanted |= {path for path in files for found in _missing_files(case.message) if _means(found, path)}
        if not wanted:
            return frozenset()
        waited |= wanted
    return frozenset(waited)


def _missing_names(message: str) -> set[str]:
    found: set[str] = set()
    for pattern in _MISSING_NAMES:
        for match in pattern.finditer(message):
            name = next(filter(None, match.groups()), "")
            found |= {name.rsplit(":", 1)[-1], name.replace("-", "_")}
    return found


def _missing_files(message: str) -> set[str]:
    return {found.removeprefix("./") for pattern in _MISSING_FILES for found in pattern.findall(message)}


def _means(found: str, path: str) -> bool:
    return found == path or path.endswith("/" + found) or found.endswith("/" + path)


def _new_words(change: Change) -> set[str]:
    """Return words of the change's sources that none of these had before, and the names of new files."""
    before: set[str] = set()
    now: set[str] = set()
    for path in change.paths:
        if is_test_side(path) or is_documentation(path) or change.deltas[path].is_binary:
            continue
        delta = change.deltas[path]
        before |= set(_WORD.findall(delta.old_text))
        now |= set(_WORD.findall(delta.new_text))
        if delta.old is None:
            stem = path.rsplit("/", 1)[-1].partition(".")[0]
            now |= {stem, stem.replace("-", "_")}
    return now - before
