"""What the console lists: who sees what, in which order, how much of it, and what it came to."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from domain.model import Reason
from domain.ports import Admission, Landing
from domain.states import State, Trigger
from store.board import Board, Choice, Scope
from store.database import Database
from store.delivery_list import DeliveryList
from store.spending import Spending
from store.vitals import read_vitals
from tests.app.stories import Story

MINE: Scope = frozenset({("local", "42")})
NOBODYS: Scope = frozenset()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database(tmp_path / "board.sqlite3") as database:
        yield database


@pytest.fixture
def story(database: Database) -> Story:
    """Two repositories: four tasks in one, in as many states, and one waiting in the other."""
    story = Story(database)
    story.in_review("reviewed")
    story.blocked("blocked", Reason.CONFIG)
    task, attempt = story.running("running")
    story.spend(task, attempt, "0.5")
    story.labelled("waits")
    story.labelled("elsewhere", repository="acme/other", place="43")
    return story


def titles(board: Board, choice: Choice, order: str = "newest", **window: int) -> list[str]:
    return [
        line.task.title for line in board.lines(choice, order=order, limit=window.pop("limit", 50), **window)
    ]


def test_a_list_is_chosen_ordered_and_cut(database: Database, story: Story) -> None:
    board = Board(database)
    assert titles(board, Choice()) == ["elsewhere", "waits", "running", "blocked", "reviewed"]
    assert titles(board, Choice(), limit=2, offset=1) == ["waits", "running"]
    assert titles(board, Choice(states=(State.QUEUED,)), "turn") == ["waits", "elsewhere"]
    assert titles(board, Choice(states=(State.BLOCKED, State.RUNNING))) == ["running", "blocked"]
    assert titles(board, Choice(repository="Local:Acme/OTHER")) == ["elsewhere"]
    assert board.count(Choice(words="#3")) == 1


def test_only_what_is_in_scope_is_there(database: Database, story: Story) -> None:
    board, spending, deliveries = Board(database), Spending(database), DeliveryList(database)
    day = "2026-03-04"
    for scope, tasks, spent in ((None, 5, "0.5123"), (MINE, 4, "0.5123"), (NOBODYS, 0, "0")):
        assert board.count(Choice(scope=scope)) == tasks
        assert sum(board.counts(scope).values()) == tasks
        assert sum(board.summary(9, scope).counts.values()) == tasks
        assert sum(line.tasks for line in board.places(scope)) == tasks
        assert spending.total(day, day, scope) == Decimal(spent)
        assert sum(share.spent for share in spending.by_model(day, day, scope)) == Decimal(spent)
        assert bool(spending.by_phase(day, day, scope)) is (tasks > 0)
        assert len(deliveries.page(50, scope=scope)) == tasks
    assert deliveries.one(5, MINE) is None and deliveries.one(5) is not None


def test_the_summary_has_the_newest_of_each_kind(database: Database, story: Story) -> None:
    board = Board(database)
    summary = board.summary(1)
    assert summary.counts[State.QUEUED] == 2 and summary.counts[State.DONE] == 0
    assert summary.newest == {State.IN_REVIEW: [1], State.BLOCKED: [2], State.RUNNING: [3]}
    (line,) = board.lines_of(summary.newest[State.RUNNING])
    assert (line.spent, line.attempt_number, line.phase) == (Decimal("0.5"), 1, "prepare")
    (line,) = board.lines_of([1])
    assert line.pull == (12, "https://forge.example/acme/shop/pulls/12")


def test_outcomes_are_counted_by_pull_request(database: Database, story: Story) -> None:
    first, other = Board(database).places()[1], Board(database).places()[0]
    assert (first.full_name, first.opened, first.merged, first.per_merged) == ("local:acme/shop", 1, 0, None)
    assert (first.judged, first.verified, first.verified_percent) == (2, 1, 50)
    assert (other.tasks, other.queued, other.verified_percent, other.spent) == (1, 1, None, Decimal(0))


def test_what_waits_longest_counts_from_when_it_was_due(database: Database, story: Story) -> None:
    board, now = Board(database), story.clock.now()
    oldest = board.oldest_due(now)
    assert oldest is not None and oldest < now
    for _ in range(2):
        task = story.queue.claim("w/1", 60)
        assert task is not None
        story.queue.move(task, Trigger.RELEASED, Landing(not_before=now + timedelta(hours=1)))
    assert board.oldest_due(story.clock.now()) is None


def test_the_signs_of_life(database: Database, story: Story) -> None:
    vitals = read_vitals(database)
    assert vitals.schema > 0 and vitals.running == 1 and vitals.signals == 0
    assert None not in (vitals.delivery_at, vitals.published_at, vitals.model_at, vitals.attempt_at)
    assert (vitals.model, vitals.isolation) == ("m", "bubblewrap: no network, own user, own processes")
    assert vitals.decided_at is None


def test_an_empty_database_has_all_of_it(tmp_path: Path) -> None:
    with Database(tmp_path / "empty.sqlite3") as database:
        database.migrate()
        assert Board(database).places() == [] and Board(database).summary(5).newest == {}
        assert DeliveryList(database).page(5, admission=Admission.SIGNAL) == []
        vitals = read_vitals(database)
        assert vitals.delivery_at is None and vitals.isolation == ""
