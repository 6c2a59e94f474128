"""The operator's routes about what was: deliveries with their decisions, a replay, and spend."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request

from app.api.caller import not_permitted
from app.api.models import DeliveryLine, DeliveryPage, Replayed, Spend, SpendLine
from app.api.problems import Problem, ProblemBody
from app.api.run_routes import PROBLEMS, is_operator
from app.api.views import dollars_text
from app.replay import NotReplayable, Replayer
from domain.budget import ZERO, utc_day
from domain.model import Money
from domain.ports import Clock
from store.decisions import Decided, Decisions
from store.spend import SpendLine as StoredLine
from store.spend import SpendLines

RecordNumber = Annotated[int, Path(ge=1, le=2**53, description="The delivery's number.")]

_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"

_MISSING: dict[int | str, dict[str, object]] = {
    404: {"model": ProblemBody, "description": "There is no such delivery."}
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordParts:
    """What the routes need."""

    decisions: Decisions
    replayer: Replayer
    spend: SpendLines
    clock: Clock
    cap_today: Money


def _operators_alone(request: Request) -> None:
    if not is_operator(request):
        raise not_permitted()


def record_routes(parts: RecordParts) -> APIRouter:
    """Return the routes, all for the operator alone."""
    router = APIRouter(tags=["service"], responses=PROBLEMS, dependencies=[Depends(_operators_alone)])

    @router.get("/deliveries")
    def deliveries(
        before: Annotated[int | None, Query(ge=1, le=2**53)] = None,
        limit: Annotated[int, Query(ge=1, le=200)] = 50,
    ) -> DeliveryPage:
        """List deliveries with what was decided about each, newest first."""
        found = parts.decisions.page(limit + 1, before)
        lines = tuple(_line(each) for each in found[:limit])
        return DeliveryPage(deliveries=lines, next_before=lines[-1].id if len(found) > limit else None)

    @router.get("/deliveries/{number}", responses=_MISSING)
    def delivery(number: RecordNumber) -> DeliveryLine:
        """Return one delivery."""
        found = parts.decisions.one(number)
        if found is None:
            raise _missing(number)
        return _line(found)

    @router.post(
        "/deliveries/{number}/replay",
        responses={**_MISSING, 409: {"model": ProblemBody, "description": "Its body is not kept any more."}},
    )
    def replay(number: RecordNumber) -> Replayed:
        """Bring a delivery in once more; it is decided anew, whatever its age."""
        if parts.decisions.one(number) is None:
            raise _missing(number)
        try:
            admitted = parts.replayer.replay(number)
        except NotReplayable as error:
            raise Problem(
                HTTPStatus.CONFLICT,
                "not_replayable",
                f"{error}.",
                way_out="Have the forge send it again, from its own list of deliveries.",
            ) from None
        return Replayed(admission=admitted.admission, run=admitted.task_id)

    _add_spend(router, parts)
    return router


def _add_spend(router: APIRouter, parts: RecordParts) -> None:
    @router.get("/spend")
    def spend(
        day: Annotated[
            str | None, Query(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$", examples=["2026-03-04"])
        ] = None,
        repository: Annotated[str | None, Query(max_length=300, examples=["acme/shop"])] = None,
    ) -> Spend:
        """Tell what was spent, by day, run and model."""
        today = utc_day(parts.clock.now())
        lines = parts.spend.read(day=day, repository=repository)
        spent_today = parts.spend.read(day=today)
        return Spend(
            lines=tuple(_spend_line(each) for each in lines),
            spent_usd=dollars_text(sum((each.spent for each in lines), ZERO)),
            today=today,
            spent_today_usd=dollars_text(sum((each.spent for each in spent_today), ZERO)),
            cap_today_usd=dollars_text(parts.cap_today),
        )


def _line(found: Decided) -> DeliveryLine:
    return DeliveryLine(
        id=found.id,
        provider=found.provider,
        delivery_id=found.delivery_id,
        received_at=found.received_at,
        kind=found.kind,
        actor=found.actor,
        note=found.note,
        repository_id=found.repository_id,
        issue=found.issue_number,
        admission=found.admission,
        run=found.task_id,
        decision=found.decision,
        decided_at=found.decided_at,
    )


def _spend_line(line: StoredLine) -> SpendLine:
    fields = asdict(line)
    spent, set_aside = fields.pop("spent"), fields.pop("open_amount")
    run, _ = fields.pop("task"), fields.pop("repository_id")
    return SpendLine(run=run, spent_usd=dollars_text(spent), open_usd=dollars_text(set_aside), **fields)


def _missing(number: int) -> Problem:
    return Problem(
        HTTPStatus.NOT_FOUND,
        "no_such_delivery",
        f"There is no delivery {number}.",
        way_out="GET /api/v1/deliveries lists them.",
    )
