"""RH002 by syntax: a test that survives asks for less than it did."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from domain.model import Finding, Severity
from harness.guard.context import Context, critical, warning
from harness.guard.literals import is_named, narrowed
from harness.guard.syntax.files import SyntaxFile
from harness.guard.syntax.model import Assertion, Kind, What
from harness.guard.syntax.pairing import helpers
from harness.guard.syntax.view import View, view_of
from harness.guard.tolerance import EditedTest

RULE = "RH002"
_WHY = "The test now accepts what it used to reject, so its passing says less than before."
_PLATFORM = re.compile(
    r"platform|GOOS|GOARCH|RUBY_\w+|os\.name|version|target_os|isWindows|win32", re.IGNORECASE
)
_WHY_LITERAL = "Changing what is expected makes any behaviour pass; only the issue can say that it was wrong."
_WHY_FAKE = "A test that replaces what it tests with a stand-in shows only that the stand-in works."


def check(context: Context) -> Iterator[Finding]:
    """Yield findings for tests that survive the change, their helpers and data, and for empty new tests."""
    surplus = context.tests.surplus()
    for _, view in helpers(context.files):
        surplus.update(assertion.dump for assertion in view.assertions)
    for old, new in context.tests.pairs:
        yield from weaker(context, old, new, surplus)
    for view in context.tests.new:
        if view.assertions and all(item.empty for item in view.assertions):
            what = f"the new test `{view.unit.name}` can never fail"
            yield warning(RULE, view.unit.path, view.unit.line, what, _WHY)
    for file in context.files:
        if file.old is not None and file.new is not None:
            yield from _helpers_weaker(file)
            yield from _beside(file, surplus)
            yield from _data(context, file)
            yield from _faked(context, file)


def corrected(context: Context) -> frozenset[tuple[str, str]]:
    """Return (path, test) whose changed expectation the issue names: both the old and the new literal."""
    surplus, found = context.tests.surplus(), set()
    for old, new in context.tests.pairs:
        lost, gained = literal_changes(context, old, new)
        if (
            lost
            and is_named(lost, gained, context.issue_text)
            and not list(weaker(context, old, new, surplus))[1:]
        ):
            parts = new.unit.name.split(" › ")
            found |= {(new.unit.path, by.join(parts)) for by in (" ", " > ", " › ", "::", ".", "#")}
            found.add((new.unit.path, new.unit.short))
    return frozenset(found)


def edited(context: Context) -> dict[Finding, EditedTest]:
    """Return the critical findings of tests that were edited to ask for something else, or for less."""
    surplus, found = context.tests.surplus(), dict[Finding, EditedTest]()
    for old, new in context.tests.pairs:
        in_place = (old.unit.path, old.unit.name) == (new.unit.path, new.unit.name)
        lost, gained = literal_changes(context, old, new)
        for finding in _rewritten(context, old, new, surplus):
            is_replaced = bool(lost and gained) and finding.why == _WHY_LITERAL and in_place
            if finding.severity is Severity.CRITICAL:
                was, now = ((view.unit.path, view.unit.name) for view in (old, new))
                found[finding] = EditedTest(was, now, must_show=not is_replaced)
    return found


def weaker(context: Context, old: View, new: View, surplus: Counter[str]) -> Iterator[Finding]:
    """Yield what one test asks less for than it did."""
    yield from _rewritten(context, old, new, surplus)
    path, name = new.unit.path, new.unit.name
    before, now = old.assertions, new.assertions
    if not before and not now and new.calls < old.calls:
        what = f"`{name}`, which only calls, makes fewer calls than before"
        yield critical(RULE, path, new.unit.line, what, _WHY)
    empty = [item for item in now if item.empty]
    for item in empty[sum(item.empty for item in before) :]:
        yield critical(RULE, path, item.line, f"an assertion of `{name}` can never fail", _WHY)
    yield from _guarded(path, name, before, now)


def _rewritten(context: Context, old: View, new: View, surplus: Counter[str]) -> Iterator[Finding]:
    """Yield what a test expects otherwise, or asks less for, by assertions that can fail."""
    path, name, line = new.unit.path, new.unit.name, new.unit.line
    lost, gained = literal_changes(context, old, new)
    if not lost:
        lost, gained = _swapped(old, new)
    if lost:
        yield changed_literals(context, new, lost, gained)
    before, now = old.assertions, new.assertions
    missing = Counter(item.dump for item in before) - Counter(item.dump for item in now)
    moved = sum((missing & surplus).values())
    as_table = _is_table(old, new) and not lost and bool(now)
    if len(now) + moved < len(before):
        what = f"`{name}` makes {len(now)} assertions, it made {len(before)}"
        make = warning if as_table else critical
        yield make(RULE, path, line, what + (" (its cases became a table)" if as_table else ""), _WHY)
    yield from _loosened(path, name, before, now)


def _swapped(old: View, new: View) -> tuple[list[str], list[str]]:
    """Return literals that assertions about the same thing lost and gained, no new name standing in."""
    kept = Counter(item.dump for item in old.assertions) & Counter(item.dump for item in new.assertions)
    came: dict[str, list[Assertion]] = {}
    for item in _apart(new.assertions, kept):
        came.setdefault(item.subject, []).append(item)
    lost: Counter[str] = Counter()
    gained: Counter[str] = Counter()
    for before in _apart(old.assertions, kept):
        if not came.get(before.subject):
            continue
        after = came[before.subject].pop(0)
        sides = [Counter(value for value, _ in item.literals) for item in (before, after)]
        is_tighter = (
            before.tolerance is not None
            and after.tolerance is not None
            and after.tolerance <= before.tolerance
        )
        if after.names <= before.names and not is_tighter:
            lost += sides[0] - sides[1]
            gained += sides[1] - sides[0]
    return _left(old, lost, sorted(gained)), sorted(gained)


def _left(old: View, lost: Counter[str], gained: list[str]) -> list[str]:
    """Leave out patterns that only became narrower; what may not match has to stay as wide as it was."""
    unwanted = {value for item in old.assertions if item.negated for value, _ in item.literals}
    return sorted({*narrowed(sorted(lost), gained), *(unwanted & set(lost))})


def literal_changes(context: Context, old: View, new: View) -> tuple[list[str], list[str]]:
    """Return literals that the test rested on and lost, and literals that it gained."""
    nearby: Counter[str] = Counter()
    for file in context.files:
        if file.path in {new.unit.path, old.unit.path}:
            for view in file.came:
                if view.unit.kind is not Kind.TEST and view.unit.in_tests:
                    nearby.update(view.literals)
    for view in context.tests.new:
        nearby.update(view.literals)
    lost = old.expected() - new.literals
    if lost and _is_table(old, new):
        there = new.literals
        lost = Counter({value: count for value, count in lost.items() if not there[value]})
    lost -= nearby
    for value in _tightened(old, new):
        lost.pop(value, None)
    gained = sorted(new.literals - old.literals)
    return _left(old, lost, gained), gained


def _is_table(old: View, new: View) -> bool:
    """Tell whether a test goes through its cases now, and did not before."""
    return new.looped + bool(new.cases) > old.looped + bool(old.cases)


def _tightened(old: View, new: View) -> Iterator[str]:
    """Yield tolerances of assertions that compare more exactly now: to change these is no loss."""
    left = [item for item in new.assertions if item.tolerance is not None]
    for before in old.assertions:
        if before.tolerance is None:
            continue
        after = next((item for item in left if item.subject == before.subject), None)
        if after is not None and after.tolerance is not None and after.tolerance <= before.tolerance:
            now = {value for value, _ in after.literals}
            yield from (value for value, _ in before.literals if value not in now and _is_size(value, before))


def _is_size(value: str, item: Assertion) -> bool:
    try:
        return item.tolerance is not None and abs(float(value)) == abs(item.tolerance)
    except ValueError:
        return False


def changed_literals(context: Context, new: View, lost: list[str], gained: list[str]) -> Finding:
    """Return the finding for expectations that were changed: a warning where the issue names old and new."""
    to = f" to {', '.join(gained)[:80]}" if gained else ""
    what = f"`{new.unit.name}` no longer expects {', '.join(lost)[:80]}: changed{to}"
    if is_named(lost, gained, context.issue_text):
        return warning(RULE, new.unit.path, new.unit.line, what + " (the issue names both)", _WHY_LITERAL)
    return critical(RULE, new.unit.path, new.unit.line, what, _WHY_LITERAL)


def _loosened(path: str, name: str, before: list[Assertion], now: list[Assertion]) -> Iterator[Finding]:
    """Pair assertions about the same thing, the others in order, and compare how much they ask for."""
    kept = Counter(item.dump for item in before) & Counter(item.dump for item in now)
    gone, came = _apart(before, kept), _apart(now, kept)
    for old, new in _matched(gone, came):
        if new.empty:
            continue
        if new.strictness < old.strictness:
            yield critical(RULE, path, new.line, f"an assertion of `{name}` is less strict than it was", _WHY)
        elif new.negated != old.negated and new.subject == old.subject:
            yield critical(RULE, path, new.line, f"an assertion of `{name}` expects the opposite now", _WHY)
        elif old.tolerance is not None and new.tolerance is not None and new.tolerance > old.tolerance:
            yield critical(RULE, path, new.line, f"`{name}` compares less exactly than before", _WHY)


def _guarded(path: str, name: str, before: list[Assertion], now: list[Assertion]) -> Iterator[Finding]:
    """Object to assertions that are still there, but are made only under a condition that may never hold."""
    known: dict[str, list[Assertion]] = {}
    for item in before:
        known.setdefault(item.dump, []).append(item)
    for item in now:
        if not known.get(item.dump):
            continue
        former = known[item.dump].pop(0).guards
        fresh = [guard for guard in item.guards if guard not in former]
        if fresh:
            is_other = len(item.guards) <= len(former) or _PLATFORM.search(fresh[0])
            make = warning if is_other else critical
            what = f"an assertion of `{name}` is made only under a condition now: {fresh[0][:60]}"
            yield make(RULE, path, item.line, what, _WHY)


def _apart(items: list[Assertion], kept: Counter[str]) -> list[Assertion]:
    left, found = Counter(kept), []
    for item in items:
        if left[item.dump] > 0:
            left[item.dump] -= 1
        else:
            found.append(item)
    return found


def _matched(gone: list[Assertion], came: list[Assertion]) -> Iterator[tuple[Assertion, Assertion]]:
    by_subject: dict[str, list[Assertion]] = {}
    for item in came:
        by_subject.setdefault(item.subject, []).append(item)
    used: set[int] = set()
    without: list[Assertion] = []
    for old in gone:
        same = by_subject.get(old.subject)
        if same:
            new = same.pop(0)
            used.add(id(new))
            yield old, new
        else:
            without.append(old)
    others = [item for item in came if id(item) not in used]
    if len(others) <= len(without):
        yield from zip(without, others, strict=False)


def _helpers_weaker(file: SyntaxFile) -> Iterator[Finding]:
    """Object to functions on the tests' side that assert less than they did."""
    now = {view.unit.name: view for view in file.came if view.unit.kind is Kind.FUNCTION}
    for old in file.gone:
        new = now.get(old.unit.name)
        if new is None or old.unit.kind is not Kind.FUNCTION or not old.unit.in_tests:
            continue
        if len(new.assertions) < len(old.assertions):
            counts = f"makes {len(new.assertions)} assertions, it made {len(old.assertions)}"
            what = f"the helper `{new.unit.name}` {counts}"
            yield critical(RULE, file.path, new.unit.line, what, _WHY)
        yield from _loosened(file.path, new.unit.name, old.assertions, new.assertions)


def _beside(file: SyntaxFile, surplus: Counter[str]) -> Iterator[Finding]:
    """Object to assertions that stand outside of any test, in hooks or generated tests, and are gone."""
    sides = []
    for views in (file.gone, file.came):
        items = [item for view in views if view.unit.kind is Kind.OTHER for item in view.assertions]
        sides.append(Counter(item.dump for item in items))
    if not file.in_tests or sides[1].total() >= sides[0].total():
        return
    missing = sides[0] - sides[1]
    moved = (missing & surplus).total()
    if missing.total() - moved > (sides[1] - sides[0]).total():
        what = f"{missing.total() - moved} assertions beside the tests are gone ({next(iter(missing))[:60]})"
        yield critical(RULE, file.path, 0, what, _WHY)


def _data(context: Context, file: SyntaxFile) -> Iterator[Finding]:
    """Object to tables beside the tests that lost a value which the tests assert."""
    gone = [
        view for view in file.gone if view.unit.kind is Kind.OTHER and view.unit.in_tests and view.assigned
    ]
    if not gone:
        return
    now: Counter[str] = Counter()
    for view in file.came:
        now.update(view.literals)
    before: Counter[str] = Counter()
    for view in file.gone:
        before.update(view.literals)
    used: set[str] | None = None
    for view in gone:
        lost = sorted(view.literals - now)
        if not lost:
            continue
        used = _asserted_names(file) if used is None else used
        targets = {name for names, _, _ in view.assigned for name in names}
        gained = sorted(now - before)
        if targets & used and not is_named(lost, gained, context.issue_text):
            what = f"what the tests expect no longer has {', '.join(lost)[:80]}"
            yield critical(RULE, file.path, view.unit.line, what, _WHY_LITERAL)


def _asserted_names(file: SyntaxFile) -> set[str]:
    """Return the names that assertions of a file rest on, through assignments in their tests."""
    found: set[str] = set()
    for unit in file.everything(old=False):
        if unit.kind is Kind.TEST:
            view = view_of(unit, file.dialect)
            reached = {name for item in view.assertions for name in item.names}
            for targets, sources, _ in reversed(view.assigned):
                if not targets.isdisjoint(reached):
                    reached |= sources
            found |= reached
    return found


def _faked(context: Context, file: SyntaxFile) -> Iterator[Finding]:
    """Object to an existing test file that newly replaces what its tests are about."""
    before = {sign.key for view in file.gone for sign in view.signs if sign.what is What.FAKE}
    fresh = [
        sign for view in file.came for sign in view.signs if sign.what is What.FAKE and sign.key not in before
    ]
    if not fresh or not file.in_tests:
        return
    pairs = [new for old, new in context.tests.pairs if new.unit.path == file.path]
    used = {name for view in pairs for item in view.assertions for name in item.names}
    used |= _asserted_names(file)
    whole = file.whole(old=False)
    imported = file.dialect.imports(whole.root_node) if whole is not None else {}
    for sign in fresh:
        bound = imported.get(sign.key, frozenset())
        if sign.key in used or not bound.isdisjoint(used):
            what = f"`{sign.key}`, which the tests of this file are about, is replaced by a stand-in"
            yield critical(RULE, file.path, sign.line, what, _WHY_FAKE)
        else:
            what = f"`{sign.key}` is replaced by a stand-in in tests that did without"
            yield warning(RULE, file.path, sign.line, what, _WHY_FAKE)
