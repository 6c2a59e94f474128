"""Expected values that live beside the tests: who may be to blame that a test fails as it was. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from domain.model import Finding, Severity
from harness.guard.change import Change, Delta
from harness.guard.literals import is_named
from harness.guard.waivers import with_ids
from harness.refusal import some
from harness.testing.cases import Case
from harness.testing.compare import is_in
from harness.testing.paths import is_test_file

RULE = "RH002"
_WHY = "Changing what is expected makes any behaviour pass; only the issue can say that it was wrong."
_VALUE = re.compile(r'"[^"\n]{0,200}"|\'[^\'\n]{0,200}\'|[\w.+-]{1,200}')
MOST_NAMED = 20
"""Values of a file that went or came; an issue that names all of more than these was not written by hand."""


def expected_data(
    change: Change, side: Sequence[str], failing: Collection[Case], issue_text: str
) -> tuple[Finding, ...]:
    """Return a finding, with an id, for each changed file that tests may fail for which pass as it is now.

    `side` are the changed files that were taken back for the run in which these tests failed. Data and
    helpers come into question, and files of these very tests in which something went. One whose old and new
    values the issue names is a warning.
    """
    found = [_finding(change.deltas[path], issue_text) for path in _blamed(change, side, failing)]
    names = some(case.id for case in failing)
    said = f"as it was, {names} {'fails' if len(failing) == 1 else 'fail'} with the change"
    return tuple(replace(each, what=f"{each.what} ({said})") for each in with_ids(change, found))


def _blamed(change: Change, side: Sequence[str], failing: Collection[Case]) -> Iterator[str]:
    for path in side:
        delta = change.deltas[path]
        if delta.old is None:
            continue
        is_own = any(is_in(case, [path]) for case in failing)
        if (not is_test_file(path) and not is_own) or (is_own and _lines(delta.old) - _lines(delta.new)):
            yield path


def _lines(text: bytes | None) -> Counter[bytes]:
    return Counter(line.strip() for line in (text or b"").splitlines())


def _finding(delta: Delta, issue_text: str) -> Finding:
    """Say it of the whole file: the id then speaks for all of its content, and for nothing else."""
    lost, gained = _values(delta)
    is_asked_for = (
        0 < len(lost) <= MOST_NAMED and len(gained) <= MOST_NAMED and is_named(lost, gained, issue_text)
    )
    what = "what tests expect is deleted here" if delta.new is None else "what tests expect is changed here"
    return Finding(
        rule=RULE,
        path=delta.path,
        line=0,
        what=what + (", and the issue names both values" if is_asked_for else ""),
        why=_WHY,
        severity=Severity.WARNING if is_asked_for else Severity.CRITICAL,
    )


def _values(delta: Delta) -> tuple[list[str], list[str]]:
    """Return the values that went from a file, and those that came, as Python writes them."""
    if delta.is_binary:
        return [], []
    old, new = (Counter(_VALUE.findall(text)) for text in (delta.old_text, delta.new_text))
    return sorted(map(_plain, old - new)), sorted(map(_plain, new - old))


def _plain(value: str) -> str:
    return repr(value[1:-1]) if value[:1] in "'\"" and len(value) > 1 else value
