"""RH001 by syntax: a test is deleted, skipped, run alone, or no longer where a runner looks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from domain.model import Finding
from harness.guard.context import Context, critical, warning
from harness.guard.syntax.files import SyntaxFile
from harness.guard.syntax.model import Kind, Sign, What
from harness.guard.syntax.nodes import text_of
from harness.guard.syntax.view import View

RULE = "RH001"
_WHY = "A fix must satisfy the tests that exist; one that no longer runs cannot object to anything."
_REMOVAL = re.compile(r"(?i)\b(?:remov|delet|drop|dead|unused|obsolete|get rid)")


def check(context: Context) -> Iterator[Finding]:
    """Yield findings for every changed file that holds tests."""
    yield from _lost(context)
    tests = context.tests
    before = {id(new): old for old, new in tests.pairs}
    for file in context.files:
        yield from _of_file(file)
        for view in file.came:
            yield from _marked(file, view, before.get(id(view)))


def _lost(context: Context) -> Iterator[Finding]:
    by_path: dict[str, list[View]] = {}
    for view in context.tests.lost:
        by_path.setdefault(view.unit.path, []).append(view)
    for path, views in by_path.items():
        excused = [view for view in views if _is_asked_for(context, view)]
        for view in excused:
            what = f"the test `{view.unit.name}` is removed with what it tested, as the issue asks"
            yield warning(RULE, path, view.unit.line, what, _WHY)
        left = [view for view in views if view not in excused]
        if left and context.change.deltas[path].new is None:
            count = f"{len(left)} test{'s' if len(left) > 1 else ''}"
            yield critical(RULE, path, 0, f"the test file is deleted, and with it {count}", _WHY)
            continue
        for view in left:
            yield critical(RULE, path, view.unit.line, f"the test `{view.unit.name}` is removed", _WHY)


def _is_asked_for(context: Context, view: View) -> bool:
    """Tell whether the issue asks to remove what a test was about, and the change does so."""
    if not _REMOVAL.search(context.issue_text):
        return False
    words = set(re.findall(r"\w+", context.issue_text))
    text = text_of(view.unit.node)
    return any(name in words and re.search(rf"\b{re.escape(name)}\b", text) for name in context.removed)


def _of_file(file: SyntaxFile) -> Iterator[Finding]:
    """Object to what a file's head says now, and to methods that hide others of their name."""
    if file.new is None or not file.in_tests:
        return
    before = {mark.key for mark in file.dialect.of_file(file.old.root_node)} if file.old else set()
    for mark in file.dialect.of_file(file.new.root_node):
        if mark.key not in before and file.old is not None:
            yield critical(
                RULE, file.path, mark.line, f"the test file now runs only under `{mark.key}`", _WHY
            )
    if file.dialect.later_hides and any(view.unit.kind is Kind.TEST for view in file.came):
        counted = Counter(unit.name for unit in file.everything(old=False) if unit.kind is Kind.TEST)
        were = Counter(unit.name for unit in file.everything(old=True) if unit.kind is Kind.TEST)
        for view in file.tests(old=False):
            if counted[view.unit.name] > max(1, were[view.unit.name]):
                what = f"a second `{view.unit.name}` hides the first, which never runs"
                yield critical(RULE, file.path, view.unit.line, what, _WHY)


def _marked(file: SyntaxFile, view: View, old: View | None) -> Iterator[Finding]:
    if not view.unit.in_tests:
        return
    alone = _more(view, old, What.ONLY) if view.unit.kind is Kind.TEST else []
    for sign in alone[:1]:
        what = f"`{view.unit.name}` is selected alone ({sign.key}), so the others do not run"
        yield critical(RULE, file.path, sign.line, what, _WHY)
    skips = _more(view, old, What.SKIP)
    if view.unit.kind is not Kind.TEST:
        skips = _unpaired(file, skips)
    for sign in skips[:1]:
        if view.unit.kind is Kind.TEST and old is None:
            what = f"the new test `{view.unit.name}` is skipped or pending ({sign.key})"
            yield warning(RULE, file.path, sign.line, what, _WHY)
        elif view.unit.kind is Kind.TEST:
            what = f"the test `{view.unit.name}` is now skipped or pending ({sign.key})"
            yield critical(RULE, file.path, sign.line, what, _WHY)
        elif file.had_tests:
            yield critical(
                RULE, file.path, sign.line, f"tests of this file are now skipped ({sign.key})", _WHY
            )
        else:
            yield warning(RULE, file.path, sign.line, f"tests of a new file are skipped ({sign.key})", _WHY)


def _more(view: View, old: View | None, what: What) -> list[Sign]:
    """Return the signs that a unit has on top of those that it had before."""
    before = Counter(sign.key for sign in old.signs if sign.what is what) if old is not None else Counter()
    found = []
    now = [sign for sign in view.signs if sign.what is what]
    if len(now) <= before.total():
        return []
    for sign in now:
        if before[sign.key] > 0:
            before[sign.key] -= 1
        else:
            found.append(sign)
    return found


def _unpaired(file: SyntaxFile, signs: list[Sign]) -> list[Sign]:
    """Leave out signs of a kind of which the file's other code had as many before."""
    others = [view for view in file.gone if view.unit.kind is not Kind.TEST]
    before = Counter(sign.key for view in others for sign in view.signs)
    return [sign for sign in signs if before[sign.key] == 0]
