"""Many threads and a second process on one file: no lock error, nothing twice, nothing lost."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from domain.model import Money
from domain.ports import Admission, Admitted
from domain.states import State
from store.database import Database
from store.inbox import SqliteInbox
from store.ledger import SqliteLedger
from store.tasks import SqliteTaskQueue
from tests.store.makers import CATEGORIES, LEASE, SetClock, admit_task, delivery, labelled, policy

ROOT = Path(__file__).parents[2]


def test_twenty_copies_at_once_are_one_task(file_database: Database) -> None:
    assert isinstance(file_database.path, Path)
    gate = threading.Barrier(20)
    with Database(file_database.path) as second:
        inboxes = [SqliteInbox(file_database, CATEGORIES), SqliteInbox(second, CATEGORIES)]

        def send(number: int) -> Admitted:
            gate.wait()
            return inboxes[number % 2].accept([delivery(labelled())], policy)[0]

        with ThreadPoolExecutor(20) as threads:
            answers = list(threads.map(send, range(20)))

    assert Counter(each.admission for each in answers) == {Admission.QUEUED: 1, Admission.DUPLICATE: 19}
    assert {each.task_id for each in answers} == {1}
    assert len(SqliteTaskQueue(file_database, SetClock()).tasks()) == 1


def test_one_task_is_claimed_by_one_of_many(file_database: Database) -> None:
    queue = SqliteTaskQueue(file_database, SetClock())
    inbox = SqliteInbox(file_database, CATEGORIES)
    for number in range(1, 6):
        admit_task(inbox, queue, number)
    gate = threading.Barrier(10)

    def claim(number: int) -> int | None:
        gate.wait()
        task = queue.claim(f"worker-{number}/a", LEASE)
        return task and task.id

    with ThreadPoolExecutor(10) as threads:
        claimed = list(threads.map(claim, range(10)))

    assert sorted(each for each in claimed if each) == [1, 2, 3, 4, 5]


def test_duplicate_does_not_stand_in_the_way_of_the_next(file_database: Database) -> None:
    assert isinstance(file_database.path, Path)
    inbox = SqliteInbox(file_database, CATEGORIES)
    with Database(file_database.path, patience_seconds=0) as other:
        for key in ("a", "a", "b"):
            inbox.accept([delivery(labelled(12 if key == "a" else 13), key)], policy)
            assert not file_database._writer.in_transaction
            with other.write():
                pass
        assert SqliteTaskQueue(other, SetClock()).claim("worker-2/a", LEASE) is not None


@pytest.mark.long
def test_worker_process_beside_a_busy_door(file_database: Database) -> None:
    tasks, threads = 40, 4
    inbox = SqliteInbox(file_database, CATEGORIES)
    worker = subprocess.Popen(
        [sys.executable, "-m", "tests.store.neighbour", str(file_database.path), str(tasks)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    finished = threading.Event()

    def door(lane: int) -> None:
        for number in range(lane, tasks, threads):
            inbox.accept([delivery(labelled(number + 1), f"d{number}")], policy)
        extra = 0
        while not finished.is_set():
            inbox.accept([delivery(labelled(label="question"), f"x{lane}-{extra}")], policy)
            extra += 1

    with ThreadPoolExecutor(threads) as pool:
        lanes = [pool.submit(door, lane) for lane in range(threads)]
        try:
            output, errors = worker.communicate(timeout=60)
        finally:
            finished.set()
            worker.kill()
        for lane in lanes:
            lane.result()

    assert (output, worker.returncode) == (f"{tasks}\n", 0), errors
    states = Counter(task.state for task in SqliteTaskQueue(file_database, SetClock()).tasks())
    assert states == {State.IN_REVIEW: tasks}
    spent = SqliteLedger(file_database, SetClock()).spent_on_day("local", "501", "2026-03-01")
    assert spent == tasks * Money("0.0005")
