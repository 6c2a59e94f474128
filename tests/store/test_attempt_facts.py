"""What is known of attempts beside a running worker: category, repository, outcome; and of none, in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from domain.errors import ConfigurationError
from store.attempt_facts import AttemptFacts, read_attempts
from store.database import Database
from store.inbox import SqliteInbox
from store.tasks import SqliteTaskQueue
from tests.store.makers import CATEGORIES, SetClock, running_task


def test_attempts_and_their_kind(file_database: Database, clock: SetClock) -> None:
    queue = SqliteTaskQueue(file_database, clock)
    task = running_task(SqliteInbox(file_database, CATEGORIES), queue)
    attempt = queue.begin_attempt(task)

    found = read_attempts(Path(str(file_database.path)))

    assert found == {
        attempt.id: AttemptFacts(category="bug", repository=task.repository_name, outcome=""),
    }


def test_a_database_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        read_attempts(tmp_path / "absent.sqlite3")
