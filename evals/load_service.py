"""The service as deployed, for a load: both processes on a fresh data directory, and a forge beside them."""

from __future__ import annotations

import json
import secrets
import signal
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from domain.model import Category, Permission
from domain.states import State, Trigger
from evals.door_load import Deliveries, Load, Origin
from evals.load_plan import ASKING, Sending
from evals.load_sender import Sent
from evals.processes import ended_at_last, free_port, resident_mb, service, wait_until_listening
from providers.local.people import LocalWorld
from store.database import Database
from store.history import History
from store.tasks import SqliteTaskQueue

OPEN_ISSUES = 5
"""Issues that really exist: their tasks go all the way to a comment. The others are found missing."""

IDLE_SECONDS = 120.0
_FIRST_SINGLE = 1_800_000_000
_PAUSE_SECONDS = 0.05
"""Between two single deliveries, so that the worker has gone to sleep again."""


class WallClock:
    """The machine's time, as `domain.ports.Clock` wants it."""

    def now(self) -> datetime:
        """Return the moment, aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return time.monotonic()


class LoadedService:
    """Starts with the block, ends with it. The budget is 0, so that each task ends without a model."""

    def __init__(self, room: Path) -> None:
        self.secret = secrets.token_hex(32)
        self.port = free_port()
        self.data = room / "service"
        world = LocalWorld(room / "forge")
        person = world.create_user("mika")
        repository = world.create_repository("bench/sample", files={"README.md": b"A sample.\n"})
        world.grant(repository.id, person, Permission.MAINTAIN)
        issues = [
            world.open_issue(repository.id, person, title=f"Totals are wrong ({place})")
            for place in range(OPEN_ISSUES)
        ]
        self.open_issues = [issue.number for issue in issues]
        self.origin = Origin(
            repository_id=int(repository.id),
            repository=repository.full_name,
            sender_id=int(person.id),
            sender=person.login,
        )
        self._settings = {
            "FIXWRIGHT_DATA_DIR": str(self.data),
            "FIXWRIGHT_PORT": str(self.port),
            "FIXWRIGHT_WEBHOOK_SECRET": self.secret,
            "FIXWRIGHT_REPOSITORIES": f"local:{repository.full_name}",
            "FIXWRIGHT_LOCAL_FORGE": str(room / "forge"),
            "FIXWRIGHT_MODEL": "openai/gpt-4o",
            "FIXWRIGHT_MAX_COST_PER_TASK_USD": "0",
            "FIXWRIGHT_LOG_FORMAT": "json",
        }
        self._room = room
        self._stack = ExitStack()

    def __enter__(self) -> LoadedService:
        start = self._stack.enter_context
        self._web = start(ended_at_last(service("app.serve", self._settings, self._room / "web.log")))
        wait_until_listening(self._web, self.port)
        self._worker = start(ended_at_last(service("app.work", self._settings, self._room / "work.log")))
        self._database = start(Database(self.database))
        self._queue = self.queue_on(self._database)
        self._wait_for_the_worker()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def database(self) -> Path:
        """Where the service keeps its one database file."""
        return self.data / "fixwright.sqlite3"

    @property
    def web_pid(self) -> int:
        """The web process' id."""
        return self._web.pid

    @property
    def web_mb(self) -> float:
        """Resident MiB of the web process."""
        return resident_mb(self._web.pid)

    @property
    def worker_mb(self) -> float:
        """Resident MiB of the worker process."""
        return resident_mb(self._worker.pid)

    def queue_on(self, database: Database) -> SqliteTaskQueue:
        """Return the task queue on a database of this service."""
        return SqliteTaskQueue(database, WallClock(), {ASKING: Category.BUG})

    def deliver_alone(self, place: int) -> tuple[Sent, float]:
        """Send one delivery to the idle service; return it with the seconds until its task was claimed.

        Counted from the moment at which the door had read the delivery, so the commit is in it.
        """
        number = _FIRST_SINGLE + place
        sending = Sending(number=number, delivery_id=f"single-{place}", label=ASKING)
        request = Deliveries(self.secret.encode("ascii"), self.origin).request(number, sending.delivery_id)
        (answer,) = Load(self.port, [request]).run(1)
        said = json.loads(answer.body)
        self.wait_until_idle()
        time.sleep(_PAUSE_SECONDS)
        events = History(self._database).task_events(said["task"])
        admitted = next(event.at for event in events if event.trigger is Trigger.ADMITTED)
        claimed = next(event.at for event in events if event.trigger is Trigger.CLAIMED)
        sent = Sent(sending, answer.status, said["decision"], answer.seconds)
        return sent, (claimed - admitted).total_seconds()

    def wait_until_idle(self) -> None:
        """Return when no task waits or runs. Raises SystemExit when that takes too long."""
        deadline = time.monotonic() + IDLE_SECONDS
        while time.monotonic() < deadline:
            if not any(task.state in {State.QUEUED, State.RUNNING} for task in self._queue.tasks()):
                return
            time.sleep(0.02)
        raise SystemExit(f"tasks are still waiting after {IDLE_SECONDS:.0f} s:\n{self._last_lines()}")

    def kill(self) -> None:
        """End both processes as a crash would: what was promised must be on the disk."""
        for process in (self._web, self._worker):
            process.send_signal(signal.SIGKILL)
            process.wait()

    def _wait_for_the_worker(self) -> None:
        deadline = time.monotonic() + IDLE_SECONDS
        while "worker is up" not in self._last_lines():
            if self._worker.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"the worker did not start:\n{self._last_lines()}")
            time.sleep(0.05)

    def _last_lines(self) -> str:
        log = self._room / "work.log"
        return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:])
