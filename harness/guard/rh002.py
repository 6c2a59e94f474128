"""RH002: an existing test asks for less: fewer assertions, tautologies, other expectations (Python)."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from domain.model import Category, Finding, Severity
from harness.guard import fakes
from harness.guard.assertions import (
    TOLERANCES,
    Assertion,
    all_literals,
    approximations,
    assertions_of,
    expected_literals,
    is_tautology,
    swapped_literals,
    tolerances,
)
from harness.guard.change import Change
from harness.guard.context import Context, critical, prepare, warning
from harness.guard.lineage import is_table
from harness.guard.literals import is_named
from harness.guard.python_code import Function, TestFunction, own_lines, tests_of
from harness.guard.python_walk import nodes_of, of_kinds
from harness.guard.rh001 import Survivor, removed, survivors
from harness.guard.syntax import rh002 as syntax_rh002
from harness.guard.tolerance import EditedTest

RULE = "RH002"
_WHY = "The test now accepts what it used to reject, so its passing says less than before."
_PLATFORM = re.compile(
    r"version_info|platform|os\.name|PY\d|WIN|LINUX|MAC|PYPY|byteorder|maxsize", re.IGNORECASE
)
_WHY_LITERAL = "Changing what is expected makes any behaviour pass; only the issue can say that it was wrong."


def check(context: Context) -> Iterator[Finding]:
    """Yield findings for tests that survive the change, for new tautologies, and for false equality."""
    beside: dict[str, bool] = {}
    for survivor in survivors(context):
        if not _is_untouched(context, survivor, beside):
            yield from _weaker(context, survivor)
    yield from _new_tautologies(context)
    yield from fakes.check(context)
    yield from _false_equality(context)


def corrected_expectations(change: Change, issue_text: str) -> frozenset[tuple[str, str]]:
    """Return (path, test) whose changed expectation the issue names: both the old and the new literal."""
    context = prepare(change, Category.BUG, issue_text)
    found = set()
    for survivor in survivors(context):
        lost, gained = _literal_changes(context, survivor)
        if lost and is_named(lost, gained, issue_text) and not list(_weaker(context, survivor))[1:]:
            found.add((survivor.path, survivor.new.name))
    return frozenset(found) | syntax_rh002.corrected(context)


def edited_tests(change: Change, issue_text: str) -> Mapping[Finding, EditedTest]:
    """Return the critical findings of tests that were removed, or edited to ask for something else or less.

    They may be put up with where runs show that the original test passes with the fix as well, so that the
    edit hides nothing. Assertions that cannot fail, or are made under a condition, are never among them.
    """
    context = prepare(change, Category.BUG, issue_text)
    found = {
        finding: EditedTest((finding.path, name), None, must_show=True) for finding, name in removed(context)
    }
    for survivor in survivors(context):
        was, now = (survivor.old_path, survivor.old.name), (survivor.path, survivor.new.name)
        lost, gained = _literal_changes(context, survivor)
        for finding in _rewritten(context, survivor):
            is_replaced = bool(lost and gained) and finding.why == _WHY_LITERAL and was == now
            if finding.severity is Severity.CRITICAL:
                found[finding] = EditedTest(was, now, must_show=not is_replaced)
    return {**found, **syntax_rh002.edited(context)}


def _weaker(context: Context, survivor: Survivor) -> Iterator[Finding]:
    yield from _rewritten(context, survivor)
    path, name = survivor.path, survivor.new.name
    before, now = assertions_of(survivor.old), assertions_of(survivor.new)
    empty = [assertion for assertion in now if is_tautology(assertion)]
    for assertion in empty[sum(map(is_tautology, before)) :]:
        yield critical(RULE, path, assertion.line, f"an assertion of `{name}` can never fail", _WHY)
    yield from _guarded(path, name, before, now)


def _rewritten(context: Context, survivor: Survivor) -> Iterator[Finding]:
    """Yield what a test expects otherwise, or asks less for, by assertions that can fail."""
    path, old, new = survivor.path, survivor.old, survivor.new
    before, now = assertions_of(old), assertions_of(new)
    name, line = new.name, new.node.lineno
    lost, gained = _literal_changes(context, survivor)
    if not lost:
        lost, gained = (sorted(side) for side in swapped_literals(old, new))
    if lost:
        yield _changed_literals(context, path, new, lost, gained)
    if len(now) < len(before):
        missing = Counter(item.dump for item in before) - Counter(item.dump for item in now)
        moved = (missing & context.lineage.surplus).total()
        as_table = is_table(new) and not is_table(old) and not lost
        if len(now) + moved < len(before):
            what = f"`{name}` makes {len(now)} assertions, it made {len(before)}"
            make = warning if as_table else critical
            yield make(RULE, path, line, what + (" (its cases became a table)" if as_table else ""), _WHY)
    yield from _loosened(path, name, before, now)
    if _looser_tolerance(old, new) or approximations(new) > approximations(old):
        yield critical(RULE, path, line, f"`{name}` compares less exactly than before", _WHY)


def _literal_changes(context: Context, survivor: Survivor) -> tuple[list[str], list[str]]:
    """Return literals that the test rested on and lost, and literals that it gained."""
    old, new = survivor.old, survivor.new
    old_module = context.python[survivor.old_path].old
    new_module = context.python[survivor.path].new
    lost = expected_literals(old, old_module) - all_literals(new, new_module)
    if lost and is_table(new) and not is_table(old):
        there = all_literals(new, new_module)
        lost = Counter({value: count for value, count in lost.items() if not there[value]})
    if lost:
        lost -= context.lineage.literals
    gained = all_literals(new, new_module) - all_literals(old, old_module)
    return sorted(lost), sorted(gained)


def _is_untouched(context: Context, survivor: Survivor, beside: dict[str, bool]) -> bool:
    """Tell whether a test and what it may rest on in its file, assignments and classes, are as they were."""
    path = survivor.path
    if path != survivor.old_path or _text(context, survivor, old=True) != _text(context, survivor, old=False):
        return False
    if path not in beside:
        pair = context.python[path]
        old, new = (context.lines(path, old=side) for side in (True, False))
        beside[path] = _assignments(pair.old, old) == _assignments(pair.new, new)
    return beside[path] and _decorators(survivor.old) == _decorators(survivor.new)


def _text(context: Context, survivor: Survivor, *, old: bool) -> list[bytes]:
    if old:
        return own_lines(survivor.old, context.lines(survivor.old_path, old=True))
    return own_lines(survivor.new, context.lines(survivor.path, old=False))


def _assignments(tree: ast.Module | None, lines: list[bytes]) -> list[bytes]:
    """Return the text of a file's own assignments."""
    found = [node for node in (tree.body if tree else []) if isinstance(node, ast.Assign | ast.AnnAssign)]
    return [b"\n".join(lines[node.lineno - 1 : node.end_lineno]) for node in found]


def _decorators(test: TestFunction) -> list[str]:
    return [ast.dump(item) for owner in test.owners for item in owner.decorator_list]


def _changed_literals(
    context: Context, path: str, new: TestFunction, lost: list[str], gained: list[str]
) -> Finding:
    to = f" to {', '.join(gained)[:80]}" if gained else ""
    what = f"`{new.name}` no longer expects {', '.join(lost)[:80]}: changed{to}"
    if is_named(lost, gained, context.issue_text):
        return warning(RULE, path, new.node.lineno, what + " (the issue names both)", _WHY_LITERAL)
    return critical(RULE, path, new.node.lineno, what, _WHY_LITERAL)


def _loosened(path: str, name: str, before: list[Assertion], now: list[Assertion]) -> Iterator[Finding]:
    """Pair the assertions that went with those that came, in order, and compare how strict they are."""
    kept = {assertion.dump for assertion in before} & {assertion.dump for assertion in now}
    gone = [assertion for assertion in before if assertion.dump not in kept]
    came = [assertion for assertion in now if assertion.dump not in kept]
    for old, new in zip(gone, came, strict=False):
        if new.strictness < old.strictness and not is_tautology(new):
            yield critical(RULE, path, new.line, f"an assertion of `{name}` is less strict than it was", _WHY)


def _guarded(path: str, name: str, before: list[Assertion], now: list[Assertion]) -> Iterator[Finding]:
    """Object to assertions that are still there, but are made only under a condition that may never hold."""
    unguarded: dict[str, list[Assertion]] = {}
    for item in before:
        unguarded.setdefault(item.dump, []).append(item)
    for item in now:
        if not unguarded.get(item.dump):
            continue
        former = unguarded[item.dump].pop(0).guards
        fresh = [guard for guard in item.guards if guard not in former]
        if fresh:
            is_other = len(item.guards) <= len(former) or _PLATFORM.search(fresh[0])
            make = warning if is_other else critical
            what = f"an assertion of `{name}` is made only under a condition now: {fresh[0][:60]}"
            yield make(RULE, path, item.line, what, _WHY)


def _looser_tolerance(old: TestFunction, new: TestFunction) -> bool:
    before, now = tolerances(old), tolerances(new)
    if [name for name, _ in before] != [name for name, _ in now]:
        return len(now) > len(before)
    return any(
        (value - former) * TOLERANCES[name] > 0
        for (name, former), (_, value) in zip(before, now, strict=True)
    )


def _new_tautologies(context: Context) -> Iterator[Finding]:
    for path, pair in context.python_tests():
        before = tests_of(pair.old)
        for name, test in tests_of(pair.new).items():
            if name in before:
                continue
            assertions = assertions_of(test)
            if assertions and all(map(is_tautology, assertions)):
                yield warning(RULE, path, test.node.lineno, f"the new test `{name}` can never fail", _WHY)


def _false_equality(context: Context) -> Iterator[Finding]:
    for path, pair in context.python.items():
        doubtful = [node for node in _equalities(pair.new) if _only_returns_true(node)]
        before = {ast.dump(node) for node in _equalities(pair.old)} if doubtful else set()
        for node in doubtful:
            if ast.dump(node) not in before:
                what = f"`{node.name}` says that any two objects are equal"
                yield critical(
                    RULE, path, node.lineno, what, "Every comparison with it passes, in tests too."
                )


def _equalities(tree: ast.Module | None) -> list[Function]:
    functions: list[Function] = [*of_kinds(tree, ast.FunctionDef), *of_kinds(tree, ast.AsyncFunctionDef)]
    return [node for node in functions if node.name in {"__eq__", "__contains__"}]


def _only_returns_true(node: Function) -> bool:
    returns = [item for item in nodes_of(node) if isinstance(item, ast.Return)]
    return bool(returns) and all(
        isinstance(item.value, ast.Constant) and item.value.value is True for item in returns
    )
