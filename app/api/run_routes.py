"""The routes that read runs: a list, one with its attempts, and the stream of what happens."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from app.api.caller import Caller
from app.api.models import RunDetail, RunPage
from app.api.problems import LATER, Problem, ProblemBody, no_such_run
from app.api.stream import MOST_STREAMS, TaskStreams, TooManyStreams, as_text
from app.api.views import RunReader
from domain.guests import GUEST
from domain.model import Task
from domain.states import State
from store.task_pages import Wanted

Number = Annotated[int, Path(ge=1, le=2**53, description="The run's number.", examples=[7])]

KEPT_FROM_GUESTS = MOST_STREAMS // 2
"""Streams that guests leave for the operator."""

STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

_STREAM_WORDS = """
Server-Sent Events: all that happened since `Last-Event-ID` (or from the beginning), then what happens, until
the run is done or cancelled. Kinds: `move`, `phase`, `step` (prompts, answers, commands, outputs, cost),
`restatement`, `claim`, `summary`, and `end` as the last. The data of each is a JSON object. A comment line
comes every 15 seconds. Who has heard everything of a run that is over is answered 204.
"""

PROBLEMS: dict[int | str, dict[str, object]] = {
    401: {"model": ProblemBody, "description": "The operator's token is missing or wrong."},
    422: {"model": ProblemBody, "description": "The request is not one that can be understood."},
    503: {"model": ProblemBody, "description": "Not now; see `Retry-After`."},
}
NOT_FOUND: dict[int | str, dict[str, object]] = {
    404: {"model": ProblemBody, "description": "There is no such run."}
}


def run_routes(reader: RunReader, streams: TaskStreams) -> APIRouter:
    """Return the routes."""
    router = APIRouter(tags=["runs"], responses=PROBLEMS)

    @router.get("/runs")
    def runs(
        request: Request,
        state: Annotated[State | None, Query(description="Only runs in this state.")] = None,
        repository: Annotated[
            str,
            Query(max_length=300, description="Only this one: owner/name.", examples=["acme/shop"]),
        ] = "",
        before: Annotated[int | None, Query(ge=1, le=2**53, description="Only runs before this one.")] = None,
        limit: Annotated[int, Query(ge=1, le=100)] = 50,
    ) -> RunPage:
        """List runs, newest first."""
        requester = "" if is_operator(request) else GUEST.id
        wanted = Wanted(before=before, state=state, repository=repository, requester_id=requester)
        return reader.page(wanted, limit)

    @router.get("/runs/{number}", responses=NOT_FOUND)
    def run(request: Request, number: Number) -> RunDetail:
        """Return one run with its attempts."""
        seen(request, reader, number)
        return reader.run(number)

    _add_stream(router, reader, streams)
    return router


def _add_stream(router: APIRouter, reader: RunReader, streams: TaskStreams) -> None:
    @router.get(
        "/runs/{number}/stream",
        description=_STREAM_WORDS,
        response_class=StreamingResponse,
        responses={
            **NOT_FOUND,
            200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}},
            204: {"description": "The run is over, and all of it was heard."},
        },
    )
    async def stream(
        request: Request,
        number: Number,
        last_event_id: Annotated[
            str, Header(max_length=100, description="The id of the last event that was heard.")
        ] = "",
        until: Annotated[
            str, Query(pattern="^(over|rest)$", description="`rest`: end also when the run waits for people.")
        ] = "over",
    ) -> Response:
        task = await run_in_threadpool(seen, request, reader, number)
        is_rest = until == "rest"
        if await streams.is_over(task.id, last_event_id, until_rest=is_rest):
            return Response(status_code=204)
        try:
            kept = 0 if is_operator(request) else KEPT_FROM_GUESTS
            events = await streams.open(task.id, last_event_id, until_rest=is_rest, kept_free=kept)
        except TooManyStreams as error:
            raise Problem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "too_many_streams",
                f"{error}.",
                way_out="Close a stream, or try again later.",
                headers=LATER,
            ) from None
        return StreamingResponse(as_text(events), headers=STREAM_HEADERS, media_type="text/event-stream")


def is_operator(request: Request) -> bool:
    """Tell whether the operator asks."""
    return request.scope.get("state", {}).get("caller") is Caller.OPERATOR


def seen(request: Request, reader: RunReader, number: int) -> Task:
    """Return a task if who asks may see it; of others' runs, nobody learns that they are there."""
    try:
        task = reader.queue.task(number)
    except KeyError:
        raise no_such_run(number) from None
    if not is_operator(request) and task.requested_by.id != GUEST.id:
        raise no_such_run(number)
    return task
