"""What a sweep takes for missed: labels that stand, on a text that was approved, and ends that came after."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from domain.model import Actor, Category, Issue, IssueRef, Permission, Task
from domain.policy import Serving
from domain.ports import LabelChange
from domain.reconcile import has_lost_label, is_text_vouched_for, missed_labels, missed_removal
from domain.states import State

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MIKA = Actor(id="7", login="mika")
SERVING = Serving(
    repositories=frozenset({"local:acme/lamp"}),
    own_ids={},
    labels={"bug": Category.BUG, "Defect": Category.BUG, "docs": Category.DOCS},
)


def at(hours: float) -> datetime:
    return NOON + timedelta(hours=hours)


def change(label: str, hours: float, *, added: bool = True, by: Actor = MIKA) -> LabelChange:
    return LabelChange(label=label, added=added, actor=by, at=at(hours))


def issue(*labels: str, changed_at: datetime | None = NOON) -> Issue:
    return Issue(
        number=3,
        title="Dark",
        body="It is dark.",
        is_open=True,
        labels=labels,
        author=Actor(id="9", login="rosa"),
        url="",
        changed_at=changed_at,
    )


def task(state: State = State.QUEUED) -> Task:
    return Task(
        id=1,
        issue=IssueRef(forge="local", repository_id="501", number=3),
        repository_name="acme/lamp",
        category=Category.BUG,
        title="",
        body="",
        requested_by=MIKA,
        state=state,
        created_at=NOON,
        updated_at=NOON,
    )


@pytest.mark.parametrize(
    ("labels", "changes", "ended_at", "expected"),
    [
        (("bug",), [change("bug", 1)], None, [1]),
        (("BUG",), [change("Bug", 1)], None, [1]),
        (("bug",), [change("bug", -1)], None, []),
        (("question",), [change("question", 1)], None, []),
        (("bug",), [], None, []),
        ((), [change("bug", 1)], None, []),
        (("bug",), [change("bug", 1), change("bug", 2, added=False)], None, []),
        (("bug",), [change("bug", 1), change("bug", 2, added=False), change("bug", 3)], None, [3]),
        (("bug", "docs"), [change("docs", 1), change("bug", 2)], None, [1, 2]),
        (("bug", "docs"), [change("bug", 2), change("docs", 3), change("x", 4)], None, [2, 3]),
        (("bug",), [change("bug", 1)], at(1), []),
        (("bug",), [change("bug", 1)], at(2), []),
        (("bug",), [change("bug", 3)], at(2), [3]),
        (("bug",), [change("bug", 1), change("bug", 3)], at(2), [3]),
    ],
)
def test_a_missed_label_stands_and_was_put_on_late_enough(
    labels: tuple[str, ...], changes: list[LabelChange], ended_at: datetime | None, expected: list[int]
) -> None:
    found = missed_labels(issue(*labels), changes, SERVING, since=NOON, ended_at=ended_at)

    assert [placed.at for placed in found] == [at(hours) for hours in expected]


@pytest.mark.parametrize(
    ("changed_at", "author_may", "expected"),
    [
        (at(1), Permission.READ, True),
        (at(1) + timedelta(seconds=2), Permission.READ, True),
        (at(1) + timedelta(seconds=3), Permission.READ, False),
        (at(1) + timedelta(seconds=3), Permission.TRIAGE, False),
        (at(1) + timedelta(seconds=3), Permission.WRITE, True),
        (None, Permission.NONE, False),
        (None, Permission.ADMIN, True),
    ],
)
def test_a_text_that_may_have_been_rewritten_since_needs_a_trusted_author(
    changed_at: datetime | None, author_may: Permission, expected: bool
) -> None:
    shown = issue("bug", changed_at=changed_at)

    assert is_text_vouched_for(shown, change("bug", 1), author_may) is expected


@pytest.mark.parametrize(
    ("labels", "changes", "state", "expected"),
    [
        ((), [change("bug", 0), change("bug", 2, added=False)], State.QUEUED, 2),
        (("docs",), [change("bug", 2, added=False)], State.BLOCKED, 2),
        ((), [change("bug", 2, added=False), change("defect", 3, added=False)], State.RUNNING, 3),
        ((), [change("bug", 2, added=False)], State.IN_REVIEW, None),
        (("defect",), [change("bug", 2, added=False)], State.QUEUED, None),
        ((), [change("bug", 1, added=False)], State.QUEUED, 1),
        ((), [change("bug", 0, added=False)], State.QUEUED, None),
        ((), [change("docs", 2, added=False)], State.QUEUED, None),
        ((), [], State.QUEUED, None),
    ],
)
def test_a_label_taken_off_counts_if_nobody_asked_since_and_none_of_its_kind_is_left(
    labels: tuple[str, ...], changes: list[LabelChange], state: State, expected: int | None
) -> None:
    found = missed_removal(task(state), issue(*labels), changes, SERVING, asked_at=at(1))

    assert (found.at if found else None) == (at(expected) if expected is not None else None)
    if found:
        assert has_lost_label(task(state), issue(*labels), SERVING)
