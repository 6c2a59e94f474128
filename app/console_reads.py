"""What each page of the console reads: from a request's words to a template and its values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import urlencode

from starlette.requests import Request

from app.console_acts import acts_for
from app.console_overview import (
    SPAN_DAYS,
    read_health,
    read_overview,
    read_places,
    read_spend_page,
    read_tasks,
)
from app.console_receipts import verify_words
from app.console_sessions import Viewer
from app.console_view import Reading, read_difference, read_task
from app.console_words import PHASES, STATE_NAMES
from app.receipt_view import read_receipt
from domain.ports import Admission
from domain.receipt import Receipt
from domain.states import State
from store.board import Choice

STEPS_ON_TASK = 12
"""Steps of the newest attempt that a task's page shows; another page has all."""

STEPS_PER_PAGE = 40
DELIVERIES_PER_PAGE = 50
MOST_BODY = 60_000

_NUMBER = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)
_HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)

Page = tuple[str, dict[str, object]]


class NotThere(LookupError):
    """There is nothing of this kind, or none that this person may see; says which kind."""


class ConsoleReads:
    """Each method reads one page; all may raise NotThere and StoreUnavailable."""

    def __init__(self, reading: Reading, is_worker_heard: Callable[[], bool], *, has_replay: bool) -> None:
        self._reading = reading
        self._is_worker_heard = is_worker_heard
        self._has_replay = has_replay

    def overview(self, request: Request, viewer: Viewer) -> Page:
        """The first page."""
        shown = read_overview(self._reading, viewer.scope)
        heard = self._is_worker_heard()
        return "overview.html", {"overview": shown, "phases": PHASES, "is_worker_heard": heard}

    def tasks(self, request: Request, viewer: Viewer) -> Page:
        """A list of tasks, chosen by state, repository and words."""
        query = request.query_params
        states = tuple(State(each) for each in query.getlist("state") if each in set(State))
        choice = Choice(
            states=states,
            repository=query.get("repository", "").strip()[:200],
            words=query.get("words", "").strip()[:100],
            scope=viewer.scope,
        )
        found = read_tasks(self._reading, choice, _count(query.get("page", ""), 1))
        names = [line.full_name for line in self._reading.board.places(viewer.scope)]
        kept = [("state", state.value) for state in states]
        kept += [("repository", choice.repository)] * bool(choice.repository)
        kept += [("words", choice.words)] * bool(choice.words)
        return "tasks.html", {
            "found": found,
            "choice": choice,
            "names": names,
            "states": STATE_NAMES,
            "link": lambda page: f"/console/tasks?{urlencode([*kept, ('page', page)])}",
        }

    def task(self, request: Request, viewer: Viewer) -> Page:
        """One task."""
        try:
            view = read_task(self._reading, _number(request, "number", "task"), viewer.scope)
        except KeyError:
            raise NotThere("task") from None
        newest = view.newest
        script = self._reading.shelf.read(newest.attempt.id) if newest else None
        steps = script.steps if script else ()
        return "task.html", {
            "view": view,
            "newest": newest,
            "acts": acts_for(view, viewer),
            "steps": steps[-STEPS_ON_TASK:],
            "hidden": max(0, len(steps) - STEPS_ON_TASK),
            "script": script,
            "diffs": {each.attempt.id: read_difference(self._reading, each) for each in view.attempts[-1:]},
            "phases": PHASES,
            "verify": lambda receipt: verify_words(receipt, self._reading.data_dir),
            "live": f"{newest.attempt.id}-{script.end}" if newest and script else "",
        }

    def transcript(self, request: Request, viewer: Viewer) -> Page:
        """One attempt's transcript, page by page, and its difference."""
        try:
            view = read_task(self._reading, _number(request, "number", "task"), viewer.scope)
        except KeyError:
            raise NotThere("task") from None
        wanted = _number(request, "attempt", "attempt")
        attempt = next((each for each in view.attempts if each.attempt.number == wanted), None)
        if attempt is None:
            raise NotThere("attempt")
        script = self._reading.shelf.read(attempt.attempt.id)
        pages = max(1, -(-len(script.steps) // STEPS_PER_PAGE))
        page = min(pages, _count(request.query_params.get("page", ""), 1))
        first = (page - 1) * STEPS_PER_PAGE
        return "transcript.html", {
            "view": view,
            "each": attempt,
            "script": script,
            "steps": script.steps[first : first + STEPS_PER_PAGE],
            "page": page,
            "pages": pages,
            "diff": read_difference(self._reading, attempt),
        }

    def places(self, request: Request, viewer: Viewer) -> Page:
        """The repositories."""
        return "repositories.html", {"found": read_places(self._reading, viewer.scope)}

    def place(self, request: Request, viewer: Viewer) -> Page:
        """One repository: its outcomes, its tasks, and its own file as it was last read."""
        name = f"{request.path_params['forge']}:{request.path_params['repository']}"
        lines = self._reading.board.places(viewer.scope)
        line = next((each for each in lines if each.full_name.lower() == name.lower()), None)
        if line is None:
            raise NotThere("repository")
        choice = Choice(repository=line.full_name, scope=viewer.scope)
        found = read_tasks(self._reading, choice, 1)
        config = None
        for each in found.lines[:5]:
            script = self._reading.shelf.read(each.line.attempt_id) if each.line.attempt_id else None
            if script is not None and script.config is not None:
                config = script.config
                break
        shown = replace(found, lines=found.lines[:10])
        return "repository.html", {"place": line, "found": shown, "config": config, "reading": self._reading}

    def spend(self, request: Request, viewer: Viewer) -> Page:
        """The spend of some days."""
        wanted = _count(request.query_params.get("days", ""), 30)
        days = wanted if wanted in SPAN_DAYS else 30
        return "spend.html", {
            "spend": read_spend_page(self._reading, days, viewer.scope),
            "spans": SPAN_DAYS,
            "daily_cap": self._reading.daily_cap,
            "service_cap": self._reading.service_cap,
        }

    def deliveries(self, request: Request, viewer: Viewer) -> Page:
        """The deliveries, newest first."""
        query = request.query_params
        named = query.get("admission", "")
        admission = Admission(named) if named in set(Admission) else None
        before = query.get("before", "")
        found = self._reading.deliveries.page(
            DELIVERIES_PER_PAGE + 1,
            before=int(before) if _NUMBER.fullmatch(before) else None,
            admission=admission,
            scope=viewer.scope,
        )
        shown = found[:DELIVERIES_PER_PAGE]
        more = {"before": shown[-1].record.id} if len(found) > DELIVERIES_PER_PAGE else {}
        kept = {"admission": admission.value} if admission else {}
        return "deliveries.html", {
            "shown": shown,
            "admission": admission,
            "admissions": list(Admission),
            "older": f"/console/deliveries?{urlencode({**kept, **more})}" if more else "",
            "is_first": not before,
        }

    def delivery(self, request: Request, viewer: Viewer) -> Page:
        """One delivery, with what was received."""
        number = _number(request, "number", "delivery")
        found = self._reading.deliveries.one(number, viewer.scope)
        if found is None:
            raise NotThere("delivery")
        body = self._reading.history.delivery_body(number) if found.has_body and viewer.is_operator else None
        return "delivery.html", {
            "found": found,
            "record": found.record,
            "body": _shown_body(body),
            "may_replay": self._has_replay and bool(viewer.session) and viewer.is_operator and found.has_body,
        }

    def health(self, request: Request, viewer: Viewer) -> Page:
        """The signs of life."""
        signs = read_health(self._reading, is_worker_heard=self._is_worker_heard())
        return "health.html", {"signs": signs}

    def receipt(self, name: str, viewer: Viewer) -> Receipt:
        """Return a receipt that may be seen."""
        found = self._reading.receipts.named(name) if _HASH.fullmatch(name) else None
        if found is None:
            raise NotThere("receipt")
        if viewer.scope is not None:
            task = self._reading.queue.task(self._reading.queue.attempt(found.attempt_id).task_id)
            if (task.issue.forge, task.issue.repository_id) not in viewer.scope:
                raise NotThere("receipt")
        return found

    def receipt_page(self, receipt: Receipt) -> Page:
        """One receipt."""
        holds, words = verify_words(receipt, self._reading.data_dir)
        return "receipt.html", {"view": read_receipt(receipt), "holds": holds, "words": words}


def _number(request: Request, name: str, what: str) -> int:
    text = request.path_params[name]
    if not _NUMBER.fullmatch(text):
        raise NotThere(what)
    return int(text)


def _count(text: str, default: int) -> int:
    return int(text) if _NUMBER.fullmatch(text[:9]) else default


def _shown_body(body: bytes | None) -> str:
    """Write a body for people; it is what its sender wrote, signed, and nothing of ours is in it."""
    if body is None:
        return ""
    text = body[: 4 * MOST_BODY].decode("utf-8", "replace")
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text
