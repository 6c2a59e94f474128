"""What follows from a batch of deliveries, inside the inbox's transaction: duplicates, tasks, signals."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain.events import CommandGiven, Event, IssueLabelled, IssueUnlabelled, PullClosed, Uninteresting
from domain.model import Category, IssueRef
from domain.noted import CheckAsked, IssueChanged, IssueCommented, Noted, ReviewGiven
from domain.policy import is_too_old
from domain.ports import Admission, Admitted, Delivery
from domain.reviewing import ReviewEvent
from domain.states import FIRST_STATE, State, Trigger
from store.bodies import Packed, Place
from store.documents import event_text
from store.own_labels import kind_of_command, own_category
from store.pull_outcomes import note_outcome
from store.rows import storable, time_text

_DUPLICATES = """
    SELECT item.key AS position, task_id
    FROM json_each(:keys) AS item CROSS JOIN deliveries
    WHERE provider = json_extract(item.value, '$[0]') AND delivery_id = json_extract(item.value, '$[1]')
    UNION ALL
    SELECT item.key, task_id
    FROM json_each(:keys) AS item CROSS JOIN deliveries
    WHERE provider = json_extract(item.value, '$[0]') AND body_sha256 = json_extract(item.value, '$[2]')
"""

_TASKS_OF_ISSUES = """
    SELECT forge, repository_id, issue_number, tasks.id, state, requester_id
    FROM json_each(?) AS item CROSS JOIN tasks
    WHERE forge = json_extract(item.value, '$[0]') AND repository_id = json_extract(item.value, '$[1]')
        AND issue_number = json_extract(item.value, '$[2]')
"""

_TASK_OF_BRANCH = """
    SELECT id FROM tasks WHERE forge = :forge AND repository_id = :repository_id AND wip_branch = :branch
    UNION ALL
    SELECT tasks.id FROM publications JOIN tasks ON tasks.id = task_id
    WHERE branch = :branch AND forge = :forge AND repository_id = :repository_id
    LIMIT 1
"""

_TASK_OF_PULL = """
    SELECT tasks.id FROM publications JOIN tasks ON tasks.id = task_id
    WHERE pull_number = ? AND forge = ? AND repository_id = ?
    ORDER BY publications.id DESC
    LIMIT 1
"""

_TASK_OF_COMMIT = """
    SELECT tasks.id FROM publications JOIN tasks ON tasks.id = task_id
    WHERE commit_sha = ? AND forge = ? AND repository_id = ?
"""

_WAITING_AT = """
    SELECT count(*) FROM tasks WHERE state = 'queued' AND forge = ? AND repository_id = ?
"""

_ASKED_FOR = "SELECT 1 FROM redeliveries WHERE provider = ? AND delivery_id = ?"

_WAITING_OF_TASK = "SELECT id FROM signals WHERE task_id = ? AND decided_at IS NULL LIMIT 1"

_TASK_COLUMNS = """
    id, forge, repository_id, issue_number, repository_name, category, requester_id, requester_login,
    requester_is_bot, state, created_at, updated_at, title, body, word_at, label, by_command
"""
_TASK_EVENT_COLUMNS = "task_id, at, trigger, to_state, generation, detail"
_DELIVERY_COLUMNS = """
    id, provider, delivery_id, body_sha256, received_at, kind, repository_id, issue_number, actor, note,
    admission, task_id, body_pack, body_start, body_length
"""
_SIGNAL_COLUMNS = "delivery, task_id, kind, event, decision, decided_at"
_ERRAND_COLUMNS = "delivery, kind, event, admission"
_LEAVING_AN_ERRAND = frozenset({Admission.ERRAND, Admission.QUEUE_FULL, Admission.TOO_OLD})

Value = str | int | bytes | None


@dataclass(frozen=True, slots=True)
class _Known:
    """A task that an issue has: its row as far as admission needs it."""

    id: int
    state: State
    requester_id: str


class Batch:
    """Decides deliveries one after another against the rows, and then writes all that follows at once.

    Looks up what the whole batch needs with two statements, so that a row costs no round trip of its own.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        deliveries: Sequence[Delivery],
        categories: Mapping[str, Category],
        packed: Packed,
        most_queued: int | None = None,
    ) -> None:
        """Take a connection inside a write transaction, and the deliveries' bodies, packed.

        `most_queued` is how many tasks of one repository may wait for a new one to be added.
        """
        self._connection = connection
        self._categories = categories
        self._duplicates = _find_duplicates(connection, deliveries)
        self._tasks = _find_tasks(connection, deliveries)
        self._packed = packed
        self._most_queued = most_queued
        self._waiting: dict[tuple[str, str], int] = {}
        self._next_delivery, self._next_task, self._first_pack = _next_ids(connection)
        self._seen: dict[tuple[str, str, str], int | None] = {}
        self._new_packs: dict[int, tuple[Value, ...]] = {}
        self._new_tasks: list[tuple[Value, ...]] = []
        self._new_task_events: list[tuple[Value, ...]] = []
        self._new_deliveries: list[tuple[Value, ...]] = []
        self._new_signals: list[tuple[Value, ...]] = []
        self._new_errands: list[tuple[Value, ...]] = []

    def take(self, position: int, delivery: Delivery, wish: Admission) -> Admitted:
        """Decide the delivery at this position. `wish` is the policy's answer."""
        keys = (
            (delivery.provider, "delivery", delivery.delivery_id),
            (delivery.provider, "body", delivery.body_sha256),
        )
        if position in self._duplicates:
            return Admitted(admission=Admission.DUPLICATE, task_id=self._duplicates[position])
        for key in keys:
            if key in self._seen:
                return Admitted(admission=Admission.DUPLICATE, task_id=self._seen[key])
        answer = self._decide(delivery, wish)
        self._seen.update(dict.fromkeys(keys, answer.task_id))
        self._add_delivery(delivery, answer, self._packed.places[position])
        return answer

    def write(self) -> None:
        """Write everything decided, in the order that the references between the rows ask for."""
        for table, columns, rows in (
            ("tasks", _TASK_COLUMNS, self._new_tasks),
            ("task_events", _TASK_EVENT_COLUMNS, self._new_task_events),
            ("body_packs", "id, received_at, content", list(self._new_packs.values())),
            ("deliveries", _DELIVERY_COLUMNS, self._new_deliveries),
            ("signals", _SIGNAL_COLUMNS, self._new_signals),
            ("errands", _ERRAND_COLUMNS, self._new_errands),
        ):
            _insert(self._connection, table, columns, rows)

    def _decide(self, delivery: Delivery, wish: Admission) -> Admitted:
        event = delivery.event
        if wish is Admission.TOO_OLD and self._look_up(_ASKED_FOR, (delivery.provider, delivery.delivery_id)):
            wish = Admission.QUEUED if isinstance(event, IssueLabelled) else Admission.SIGNAL
        if wish is Admission.OTHER_LABEL and isinstance(event, IssueLabelled | IssueUnlabelled):
            wish = self._wish_of_own_label(delivery, event)
        if wish is Admission.QUEUED and isinstance(event, IssueLabelled):
            return self._want_task(delivery, event)
        is_command = isinstance(event, CommandGiven) and wish is Admission.ERRAND
        if wish not in {Admission.QUEUED, Admission.SIGNAL} and not is_command:
            return Admitted(admission=wish, task_id=None)
        task_id = self._task_of(event)
        if task_id is None and is_command:
            return Admitted(admission=Admission.ERRAND, task_id=None)
        if task_id is None and wish is Admission.QUEUED and isinstance(event, CommandGiven):
            return self._want_commanded(delivery, event)
        admission = Admission.NO_TASK if task_id is None else Admission.SIGNAL
        return Admitted(admission=admission, task_id=task_id)

    def _wish_of_own_label(self, delivery: Delivery, event: IssueLabelled | IssueUnlabelled) -> Admission:
        """Return what a label that the settings do not know means by its repository's own file."""
        if own_category(self._connection, event) is None:
            return Admission.OTHER_LABEL
        if isinstance(event, IssueUnlabelled):
            return Admission.SIGNAL
        is_old = not delivery.is_found and is_too_old(event, delivery.received_at)
        return Admission.TOO_OLD if is_old else Admission.QUEUED

    def _want_task(self, delivery: Delivery, event: IssueLabelled) -> Admitted:
        """Give the issue a task, unless it has one: there is one per issue, for good."""
        known = self._tasks.get(event.issue)
        if known is not None:
            met = {
                State.CANCELLED: Admission.SIGNAL,
                State.BLOCKED: Admission.SIGNAL,
                State.DONE: Admission.DONE_TASK,
            }
            live = Admission.SIGNAL if self._must_hear(known, event) else Admission.LIVE_TASK
            return Admitted(admission=met.get(known.state, live), task_id=known.id)
        category = own_category(self._connection, event) or self._categories.get(event.label.strip().lower())
        if category is None:
            return Admitted(admission=Admission.OTHER_LABEL, task_id=None)
        if not delivery.is_found and not self._has_room(event.issue):
            return Admitted(admission=Admission.QUEUE_FULL, task_id=None)
        task_id = self._add_task(delivery, event, category, event.label)
        return Admitted(admission=Admission.QUEUED, task_id=task_id)

    def _want_commanded(self, delivery: Delivery, event: CommandGiven) -> Admitted:
        """Give an issue its task by a command, as by a label."""
        if not delivery.is_found and not self._has_room(event.issue):
            return Admitted(admission=Admission.QUEUE_FULL, task_id=None)
        category, label = kind_of_command(self._connection, event, self._categories)
        task_id = self._add_task(delivery, event, category, label)
        return Admitted(admission=Admission.QUEUED, task_id=task_id)

    def _has_room(self, issue: IssueRef) -> bool:
        """Tell whether one more task of the issue's repository may wait."""
        if self._most_queued is None:
            return True
        place = (issue.forge, issue.repository_id)
        if place not in self._waiting:
            self._waiting[place] = self._look_up(_WAITING_AT, place) or 0
        return self._waiting[place] < self._most_queued

    def _must_hear(self, live: _Known, event: IssueLabelled) -> bool:
        """Tell whether the worker has to decide about a label on an issue whose task is live.

        From somebody else than the one who asked, who may have had no right to. And after a signal that
        still waits, since that may end the task: a label taken off and put on again at once is on.
        """
        if live.state is State.QUEUED and live.requester_id != event.actor.id:
            return True
        is_waiting = any(signal[1] == live.id for signal in self._new_signals)
        return is_waiting or self._look_up(_WAITING_OF_TASK, (live.id,)) is not None

    def _task_of(self, event: Event) -> int | None:
        """Find whom a signal concerns; a pull request never by its bare number across repositories."""
        if isinstance(event, ReviewEvent) and event.number is not None:
            return self._look_up(_TASK_OF_PULL, (event.number, event.forge, event.repository_id))
        if isinstance(event, CheckAsked):
            return self._look_up(_TASK_OF_COMMIT, (event.sha, event.forge, event.repository_id))
        if isinstance(event, Uninteresting) or (
            isinstance(event, Noted) and not isinstance(event, IssueChanged | IssueCommented)
        ):
            return None
        if isinstance(event, PullClosed):
            return self._task_of_branch(event)
        known = self._tasks.get(event.issue)
        if known is not None:
            return known.id
        if isinstance(event, CommandGiven):
            issue = event.issue
            return self._look_up(_TASK_OF_PULL, (issue.number, issue.forge, issue.repository_id))
        return None

    def _task_of_branch(self, event: PullClosed) -> int | None:
        if not event.head_branch:
            return None
        values = {
            "forge": event.issue.forge,
            "repository_id": event.issue.repository_id,
            "branch": storable(event.head_branch),
        }
        return self._look_up(_TASK_OF_BRANCH, values)

    def _task_of_pull(self, event: Event) -> int | None:
        """Find whose pull request was closed or reviewed."""
        if isinstance(event, PullClosed):
            return self._task_of_branch(event)
        if isinstance(event, ReviewGiven) and event.number is not None:
            return self._look_up(_TASK_OF_PULL, (event.number, event.forge, event.repository_id))
        return None

    def _look_up(self, query: str, values: tuple[Value, ...] | dict[str, str]) -> int | None:
        row = self._connection.execute(query, values).fetchone()
        return None if row is None else int(row[0])

    def _add_task(
        self, delivery: Delivery, event: IssueLabelled | CommandGiven, category: Category, label: str
    ) -> int:
        task_id = self._next_task
        self._next_task += 1
        at = time_text(delivery.received_at)
        issue, actor = event.issue, event.actor
        self._tasks[issue] = _Known(task_id, FIRST_STATE, actor.id)
        place = (issue.forge, issue.repository_id)
        if place in self._waiting:
            self._waiting[place] += 1
        self._new_tasks.append(
            (
                task_id,
                issue.forge,
                issue.repository_id,
                issue.number,
                storable(event.repository_name),
                category,
                actor.id,
                storable(actor.login),
                actor.is_bot,
                FIRST_STATE,
                at,
                at,
                storable(event.title or ""),
                storable(event.body or ""),
                time_text(event.at) if event.at else "",
                storable(label),
                isinstance(event, CommandGiven),
            )
        )
        self._new_task_events.append((task_id, at, Trigger.ADMITTED, FIRST_STATE, 0, ""))
        return task_id

    def _add_delivery(self, delivery: Delivery, answer: Admitted, place: Place) -> None:
        row_id = self._next_delivery
        self._next_delivery += 1
        event = delivery.event
        kind = type(event).__name__
        at = time_text(delivery.received_at)
        pack_id = self._first_pack + place.pack
        self._new_packs.setdefault(pack_id, (pack_id, at, self._packed.packs[place.pack]))
        self._new_deliveries.append(
            (
                row_id,
                delivery.provider,
                delivery.delivery_id,
                delivery.body_sha256,
                at,
                kind,
                *_extract(event),
                answer.admission,
                answer.task_id,
                pack_id,
                place.start,
                place.length,
            )
        )
        note_outcome(self._connection, event, self._task_of_pull(event), at)
        if answer.admission is Admission.SIGNAL:
            self._new_signals.append((row_id, answer.task_id, kind, event_text(event), None, None))
        elif answer.admission is Admission.QUEUED and isinstance(event, CommandGiven):
            # Decided already; kept so that the same comment, told once more, is known.
            self._new_signals.append((row_id, answer.task_id, kind, event_text(event), "began the task", at))
        elif answer.admission in _LEAVING_AN_ERRAND:
            self._new_errands.append((row_id, kind, event_text(event), answer.admission))


def _extract(event: Event) -> tuple[Value, ...]:
    """Return (repository id, issue number, actor, note) for the list of deliveries."""
    if isinstance(event, Uninteresting):
        return None, None, "", storable(event.why)
    if isinstance(event, Noted):
        return event.repository_id or None, event.number, storable(event.actor.login), storable(event.action)
    note = ""
    if isinstance(event, IssueLabelled | IssueUnlabelled):
        note = storable(event.label)
    elif isinstance(event, CommandGiven):
        note = event.verb
    elif isinstance(event, PullClosed):
        note = "merged" if event.merged else "closed"
    return event.issue.repository_id, event.issue.number, storable(event.actor.login), note


def _issue_of(event: Event) -> IssueRef | None:
    if isinstance(event, IssueChanged | IssueCommented):
        return event.issue if event.number is not None else None
    return None if isinstance(event, Noted | Uninteresting) else event.issue


def _find_duplicates(connection: sqlite3.Connection, deliveries: Sequence[Delivery]) -> dict[int, int | None]:
    """Map the positions of deliveries seen before to the earlier task, if any."""
    keys = json.dumps([(each.provider, each.delivery_id, each.body_sha256) for each in deliveries])
    rows = connection.execute(_DUPLICATES, {"keys": keys}).fetchall()
    return {row["position"]: row["task_id"] for row in reversed(rows)}


def _find_tasks(connection: sqlite3.Connection, deliveries: Sequence[Delivery]) -> dict[IssueRef, _Known]:
    """Map the issues that the deliveries speak of to their tasks, where there is one."""
    issues = {issue for each in deliveries if (issue := _issue_of(each.event)) is not None}
    keys = json.dumps([(each.forge, each.repository_id, each.number) for each in issues])
    return {
        IssueRef(forge=row["forge"], repository_id=row["repository_id"], number=row["issue_number"]): _Known(
            row["id"], State(row["state"]), row["requester_id"]
        )
        for row in connection.execute(_TASKS_OF_ISSUES, (keys,)).fetchall()
    }


def _next_ids(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """Return the ids that the next delivery, the next task and the next pack of bodies will have."""
    row = connection.execute(
        "SELECT (SELECT coalesce(max(id), 0) FROM deliveries), (SELECT coalesce(max(id), 0) FROM tasks),"
        " (SELECT coalesce(max(id), 0) FROM body_packs)"
    ).fetchone()
    return row[0] + 1, row[1] + 1, row[2] + 1


def _insert(
    connection: sqlite3.Connection, table: str, columns: str, rows: Sequence[tuple[Value, ...]]
) -> None:
    if rows:
        places = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO {table} ({columns}) VALUES ({places})", rows)
