"""A watch is begun once per commit, counts its reruns, and ends once."""

from __future__ import annotations

import pytest

from domain.model import Task
from domain.ports import CiEnd
from store.database import Database
from store.inbox import SqliteInbox
from store.tasks import SqliteTaskQueue
from store.watches import SqliteWatches
from tests.store.makers import NOON, SetClock, running_task


@pytest.fixture
def watches(database: Database, clock: SetClock) -> SqliteWatches:
    return SqliteWatches(database, clock)


@pytest.fixture
def task(inbox: SqliteInbox, queue: SqliteTaskQueue) -> Task:
    return running_task(inbox, queue, 12)


def test_a_commit_is_watched_once_from_its_first_moment(
    watches: SqliteWatches, task: Task, clock: SetClock
) -> None:
    first = watches.begin(task, "a" * 40, 3, NOON)
    clock.forward(minutes=5)
    assert watches.begin(task, "a" * 40, 3, NOON) == first
    second = watches.begin(task, "b" * 40, 3, NOON)
    assert watches.of_task(task.id) == (first, second)
    assert (first.since, first.reruns, first.end, first.ended_at) == (NOON, 0, None, None)


def test_reruns_are_counted(watches: SqliteWatches, task: Task) -> None:
    watch = watches.begin(task, "a" * 40, 3, NOON)
    assert watches.count_rerun(watches.count_rerun(watch)).reruns == 2


def test_a_watch_ends_once(watches: SqliteWatches, task: Task, clock: SetClock) -> None:
    watch = watches.begin(task, "a" * 40, 3, NOON)
    clock.forward(minutes=5)
    ended = watches.end(watch, CiEnd.OURS, said="red", error="e1", evidence="assert 7 == 10 \ud800")
    assert (ended.end, ended.error, ended.said, ended.ended_at) == (CiEnd.OURS, "e1", "red", clock.now())
    assert "assert 7 == 10" in ended.evidence
    assert watches.end(watch, CiEnd.GREEN, said="green") == ended
    assert watches.of_task(task.id) == (ended,)
