"""`fixwright retry`, `cancel` and `replay`: the operator's words, through the inbox like everybody's."""

from __future__ import annotations

import hashlib
import json
import secrets
import time

from app.clock import SystemClock
from app.replay import Replayer
from app.tasks_cli.opening import Opened, no_task, opened
from app.wake import Bell
from domain.errors import ConfigurationError, FixwrightError
from domain.events import COMMAND_PREFIX, CommandGiven, Verb
from domain.model import Task
from domain.operators import OPERATOR, OPERATOR_PROVIDER, console_comment
from domain.policy import admit
from domain.ports import Delivery, WebhookDialect
from domain.states import State, Trigger, is_legal
from store.decisions import Decided, Decisions
from store.history import History
from store.inbox import SqliteInbox

PATIENCE_SECONDS = 10.0
LOOK_SECONDS = 0.2


class NotAsItStands(FixwrightError):
    """A task cannot do now what it is asked to."""


def command_text(number: int, verb: Verb, *, as_json: bool, patience: float = PATIENCE_SECONDS) -> str:
    """Give a command about a task, and return what the worker decided, as far as it has.

    Raises ConfigurationError, NotAsItStands, StoreUnavailable.
    """
    with opened() as store:
        try:
            task = store.runs.queue.task(number)
        except KeyError:
            raise no_task(number) from None
        _require(task, verb)
        decided = _told(store, task, verb, patience)
        now = store.runs.queue.task(number).state
    decision = decided.decision if decided else None
    if as_json:
        return json.dumps({"task": number, "decision": decision, "state": now.value}) + "\n"
    if decision is None:
        return f"Written down; the worker has not decided yet. Task {number} is {now}.\n"
    return f"{decision}; task {number} is {now}.\n"


def replay_text(number: int, dialects: dict[str, WebhookDialect], *, as_json: bool) -> str:
    """Bring a delivery in once more, and return what was decided.

    Raises ConfigurationError where there is none, NotReplayable, StoreUnavailable.
    """
    with opened() as store:
        settings = store.settings
        decisions = Decisions(store.database)
        if decisions.one(number) is None:
            raise ConfigurationError(
                f"there is no delivery {number}; the console's page Deliveries lists them"
            )
        replayer = Replayer(
            history=History(store.database),
            decisions=decisions,
            dialects=dialects,
            inbox=SqliteInbox(store.database, settings.labels, settings.max_queued),
            serving=settings.serving({}),
            clock=SystemClock(),
            rung=Bell(settings.bell_path).ring,
        )
        admitted = replayer.replay(number)
    if as_json:
        return json.dumps({"admission": admitted.admission.value, "task": admitted.task_id}) + "\n"
    about = f", task {admitted.task_id}" if admitted.task_id else ""
    return f"Delivery {number} was brought in once more: {admitted.admission}{about}.\n"


def _require(task: Task, verb: Verb) -> None:
    trigger = Trigger.CANCELLED if verb is Verb.CANCEL else Trigger.RESUMED
    is_over = verb is Verb.RETRY and task.state is State.CANCELLED
    if not is_over and not is_legal(task.state, trigger):
        raise NotAsItStands(f"task {task.id} is {task.state}, and cannot {verb}; `fixwright show {task.id}`")


def _told(store: Opened, task: Task, verb: Verb, patience: float) -> Decided | None:
    """Write the command down, wake the worker, and wait a little for its decision."""
    mark = f"cli-{secrets.token_hex(16)}"
    body = json.dumps({"task": task.id, "text": f"{COMMAND_PREFIX} {verb}", "mark": mark}).encode("ascii")
    delivery = Delivery(
        provider=OPERATOR_PROVIDER,
        delivery_id=mark,
        body_sha256=hashlib.sha256(body).hexdigest(),
        body=body,
        received_at=SystemClock().now(),
        event=CommandGiven(
            issue=task.issue,
            actor=OPERATOR,
            verb=verb,
            comment_id=console_comment(mark),
            text=f"{COMMAND_PREFIX} {verb}",
        ),
    )
    serving = store.settings.serving({})
    SqliteInbox(store.database, store.settings.labels).accept([delivery], lambda event: admit(event, serving))
    is_heard = Bell(store.settings.bell_path).ring()
    decisions, deadline = Decisions(store.database), time.monotonic() + (patience if is_heard else 0)
    while True:
        found = decisions.named(OPERATOR_PROVIDER, mark)
        if found is None or not found.is_awaited or time.monotonic() >= deadline:
            return found
        time.sleep(LOOK_SECONDS)


def unknown_format(name: str) -> ConfigurationError:
    """Return that there is no such format to export to."""
    return ConfigurationError(f"--export: {name[:40]!a} is no format; it is json or html")
