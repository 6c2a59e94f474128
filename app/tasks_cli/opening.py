"""Opens the service's database for a command, beside a service that may be running."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from app.api.news import NewsReader, Place, StreamEvent
from app.api.views import RunReader
from app.clock import SystemClock
from app.settings import CommonSettings, load_common_settings
from domain.errors import ConfigurationError, FixwrightError
from domain.text import Redactor
from store.database import Database
from store.ledger import SqliteLedger
from store.migrate import known_migrations
from store.progress import Progress
from store.reading import reading
from store.task_pages import TaskPages
from store.tasks import SqliteTaskQueue

MOST_EVENTS = 100_000


class StoryTooLong(FixwrightError):
    """A task has more events than anybody could read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What the commands work with."""

    settings: CommonSettings
    database: Database
    runs: RunReader
    news: NewsReader

    def story(self, task_id: int) -> list[StreamEvent]:
        """Return all that has happened to a task, in order. Raises StoreUnavailable."""
        place, events, is_all = Place(task_id), list[StreamEvent](), False
        while not is_all:
            found = self.news.after(place)
            place, is_all = found.place, found.is_all
            events += found.events
            if len(events) > MOST_EVENTS:
                raise StoryTooLong(f"task {task_id} has more than {MOST_EVENTS} events; read its transcript")
        return events


@contextmanager
def opened() -> Iterator[Opened]:
    """Give the database of the settings in force. It is never made or upgraded here.

    Raises:
        ConfigurationError: there is none, or it is of another version.
    """
    settings = load_common_settings()
    with reading(settings.database_path, oldest=len(known_migrations())):
        pass
    redact, clock = Redactor(), SystemClock()
    with Database(settings.database_path) as database:
        yield Opened(
            settings=settings,
            database=database,
            runs=RunReader(
                queue=SqliteTaskQueue(database, clock),
                ledger=SqliteLedger(database, clock),
                pages=TaskPages(database),
                redact=redact,
                public_url=settings.public_url,
            ),
            news=NewsReader(Progress(database), settings.data_dir / "transcripts", redact),
        )


def no_task(number: int) -> ConfigurationError:
    """Return that there is no such task."""
    return ConfigurationError(f"there is no task {number}; `fixwright tasks` lists them")
