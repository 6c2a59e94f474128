"""The routes that ask for something: a run for an issue, an approval, a cancel, another attempt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Body, Header, Request, Response
from fastapi.concurrency import run_in_threadpool

from app.api.asking import AskingDesk, RunWish, Wish
from app.api.caller import Caller, not_permitted
from app.api.guests import GuestCaps
from app.api.issue_address import IssueAddress, NoIssue, read_address
from app.api.models import Acted, Approval, RunRequest
from app.api.problems import Problem, ProblemBody
from app.api.run_routes import NOT_FOUND, PROBLEMS, Number, is_operator, seen
from app.api.views import RunReader
from domain.approving import Gate
from domain.events import Verb
from domain.guests import GUEST
from domain.model import Category, Task
from domain.policy import Serving
from domain.ports import Admission
from domain.states import State, Trigger, is_legal
from store.decisions import Decided

_ACT_PROBLEMS: dict[int | str, dict[str, object]] = {
    **PROBLEMS,
    409: {"model": ProblemBody, "description": "Not as the run stands now; the answer says why."},
}

Key = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        max_length=200,
        pattern=r"^[\x21-\x7e]*$",
        description="Requests with the same key count once.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ActParts:
    """What the routes need."""

    reader: RunReader
    desk: AskingDesk
    serving: Serving
    github_api_url: str
    guests: GuestCaps


def act_routes(parts: ActParts) -> APIRouter:
    """Return the routes."""
    router = APIRouter(tags=["runs"], responses=_ACT_PROBLEMS)
    _add_begin(router, parts)
    _add_approvals(router, parts)

    @router.post("/runs/{number}/cancel", responses=NOT_FOUND)
    async def cancel(request: Request, number: Number, key: Key = "") -> Acted:
        """End a run: an attempt stops at once, and nothing more is published."""
        task = await _own(request, parts, number)
        _require(task, is_legal(task.state, Trigger.CANCELLED))
        return await _command(parts, key, task, Verb.CANCEL)

    @router.post("/runs/{number}/retry", responses=NOT_FOUND)
    async def retry(request: Request, number: Number, key: Key = "") -> Acted:
        """Have another attempt made, with a new count of attempts."""
        task = await _own(request, parts, number)
        is_over = task.state is State.CANCELLED
        _require(task, is_over or is_legal(task.state, Trigger.RESUMED))
        return await _command(parts, key, task, Verb.RETRY)

    return router


def _add_begin(router: APIRouter, parts: ActParts) -> None:
    @router.post(
        "/runs",
        status_code=201,
        responses={
            200: {"model": Acted, "description": "The issue has a run already: this one."},
            202: {"model": Acted, "description": "Written down; the worker has not decided yet."},
            403: {"model": ProblemBody, "description": "The repository is not served."},
            429: {"model": ProblemBody, "description": "No room now; see `Retry-After`."},
        },
    )
    async def begin(request: Request, body: RunRequest, response: Response, key: Key = "") -> Acted:
        """Begin an issue's run. It has one: asking again returns it, and begins a cancelled one anew."""
        address = _address(parts, body.issue)
        wish = Wish(caller=Caller.OPERATOR if is_operator(request) else Caller.GUEST, key=key)
        known = await run_in_threadpool(_known, parts, address)
        if known is not None and not (wish.caller is Caller.OPERATOR and known.state is State.CANCELLED):
            _check_seen(wish, known)
            response.status_code = 200
            return Acted(run=await run_in_threadpool(parts.reader.run, known.id))
        is_guest = wish.caller is Caller.GUEST
        release = await run_in_threadpool(parts.guests.check) if is_guest else lambda: None
        label = _label_of(parts.serving, body.kind)
        try:
            asked = RunWish(address=address, label=label, ended=known, stored=release)
            decided = await parts.desk.begin(wish, asked)
        finally:
            release()
        return await run_in_threadpool(_begun, parts, wish, address, decided, response)


def _add_approvals(router: APIRouter, parts: ActParts) -> None:
    async def approved(request: Request, number: int, name: str, key: str, gate: Gate | None) -> Acted:
        task = await _own(request, parts, number)
        waiting = await run_in_threadpool(parts.reader.waiting, task)
        if waiting is None or gate not in {None, waiting.gate}:
            raise _not_now(task, "nothing_waits", "The run waits for no such approval")
        if name != waiting.name:
            raise _not_now(task, "another_waits", f"Another {waiting.gate} waits than the one that is named")
        return await _command(parts, key, task, Verb.APPROVE, waiting.name)

    @router.post("/runs/{number}/approve", responses=NOT_FOUND)
    async def approve(
        request: Request, number: Number, approval: Annotated[Approval, Body()], key: Key = ""
    ) -> Acted:
        """Let exactly what the run waits with go on: its plan, or its verified change."""
        return await approved(request, number, approval.name, key, None)

    @router.post("/runs/{number}/publish", responses=NOT_FOUND)
    async def publish(
        request: Request, number: Number, approval: Annotated[Approval, Body()], key: Key = ""
    ) -> Acted:
        """Let exactly the verified change that waits be published as a draft."""
        return await approved(request, number, approval.name, key, Gate.PUBLISH)


async def _own(request: Request, parts: ActParts, number: int) -> Task:
    """Return the task that the operator means; nobody else may ask for a change."""
    if not is_operator(request):
        raise not_permitted()
    return await run_in_threadpool(seen, request, parts.reader, number)


async def _command(parts: ActParts, key: str, task: Task, verb: Verb, argument: str = "") -> Acted:
    decided = await parts.desk.command(Wish(caller=Caller.OPERATOR, key=key), task, verb, argument)
    run = await run_in_threadpool(parts.reader.run, task.id)
    return Acted(run=run, delivery=decided.id, decision=decided.decision)


def _address(parts: ActParts, text: str) -> IssueAddress:
    try:
        address = read_address(text, parts.github_api_url)
    except NoIssue as error:
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "no_issue",
            f"issue: {error}.",
            way_out="Send https://github.com/owner/name/issues/1, or forge:owner/name#1.",
        ) from None
    if not parts.serving.serves(address.forge, address.repository):
        raise Problem(
            HTTPStatus.FORBIDDEN,
            "not_served",
            f"{address.forge}:{address.repository} is not served here.",
            way_out="The operator can add it to FIXWRIGHT_REPOSITORIES.",
        )
    return address


def _known(parts: ActParts, address: IssueAddress) -> Task | None:
    return parts.reader.pages.of_issue(address.forge, address.repository, address.number)


def _check_seen(wish: Wish, task: Task) -> None:
    """Tell a guest that an issue is taken, and nothing of others' runs."""
    if wish.caller is Caller.GUEST and task.requested_by.id != GUEST.id:
        raise Problem(
            HTTPStatus.CONFLICT,
            "taken",
            "Somebody else has asked for this issue already.",
            way_out="Its maintainers see how it goes on the issue.",
        )


def _begun(parts: ActParts, wish: Wish, address: IssueAddress, decided: Decided, response: Response) -> Acted:
    """Answer with the run that there is now, or with why there is none. Raises Problem."""
    task = _known(parts, address)
    if task is not None:
        _check_seen(wish, task)  # somebody else may have asked in the meantime
    decision = decided.decision or ""
    if decided.is_awaited:
        response.status_code = 202
        run = None
    elif task is None or not decision.startswith("run: "):
        raise _refused(decided)
    else:
        run = parts.reader.run(task.id)
        response.status_code = 201 if decision == f"run: {Admission.QUEUED}" else 200
        response.headers["Location"] = f"/api/v1/runs/{task.id}"
    return Acted(run=run, delivery=decided.id, decision=decided.decision)


def _refused(decided: Decided) -> Problem:
    if decided.decision == f"run: {Admission.QUEUE_FULL}":
        return Problem(
            HTTPStatus.TOO_MANY_REQUESTS,
            "queue_full",
            "As many issues of this repository wait as may wait.",
            way_out="Try again later, with a new Idempotency-Key.",
            headers={"Retry-After": "600"},
        )
    return Problem(
        HTTPStatus.CONFLICT,
        "not_begun",
        f"The worker begins nothing: {decided.decision or decided.admission}.",
        way_out="The issue must be open and unlocked, in a repository that the service reaches.",
    )


def _require(task: Task, is_possible: bool) -> None:
    if not is_possible:
        raise _not_now(task, "not_now", f"A run that is {task.state} cannot do this")


def _not_now(task: Task, name: str, problem: str) -> Problem:
    return Problem(
        HTTPStatus.CONFLICT,
        name,
        f"{problem}.",
        way_out=f"GET /api/v1/runs/{task.id} tells how it stands and what it waits with.",
    )


def _label_of(serving: Serving, kind: Category | None) -> str:
    """Return a label that stands for a kind of work."""
    labels: Mapping[str, Category] = serving.labels
    return next((label for label, each in labels.items() if each is kind), "")
