"""Tasks that guests of the open API asked for: within what guests may spend today, and no further."""

from __future__ import annotations

from dataclasses import replace

from domain.events import CommandGiven, Verb
from domain.guests import GUEST
from domain.model import IssueRef, Money
from domain.operators import console_comment
from domain.policy import admit
from domain.ports import Delivery
from domain.states import State
from tests.worker.town import WRITE, Town, plays
from worker.guest_room import GUESTS_SPENT, tighten


class _Till:
    """Remembers to what it was tightened."""

    model = "m"

    def __init__(self) -> None:
        self.most: list[Money | None] = []

    def tighten(self, *, max_cost_per_task_usd: Money | None, **_: object) -> None:
        self.most.append(max_cost_per_task_usd)


def asked_by_a_guest(town: Town) -> None:
    town.world.open_issue(town.repository.id, town.stranger, title="No tests", body="Say so.")
    command = CommandGiven(
        issue=IssueRef(forge="local", repository_id="", number=1),
        actor=GUEST,
        verb=Verb.RUN,
        comment_id=console_comment("1"),
        text="/fixwright run",
        repository_name="acme/lamp",
        labels=("docs",),
    )
    delivery = Delivery(
        provider=GUEST.id,
        delivery_id="1",
        body_sha256="1",
        body=b"{}",
        received_at=town.clock.now(),
        event=command,
    )
    town.inbox.accept([delivery], lambda event: admit(event, town.serving))


def test_a_guests_task_waits_when_guests_have_spent_their_day(notes: Town) -> None:
    asked_by_a_guest(notes)
    loop = notes.loop(plays(WRITE))
    left = [Money(0)]
    loop.shop = replace(loop.shop, guests=lambda: left[0])
    loop.turn()
    task = notes.task
    assert (task.requested_by, task.state, task.detail) == (GUEST, State.QUEUED, GUESTS_SPENT)
    assert notes.attempts == [] and task.not_before is not None
    left[0] = Money(1)
    notes.clock.forward(hours=1)
    loop.turn()
    assert notes.task.state is State.IN_REVIEW


def test_an_attempt_is_held_to_what_is_left_and_others_are_not(notes: Town) -> None:
    asked_by_a_guest(notes)
    notes.loop(plays(WRITE)).shop.desk.clear()
    task = notes.queue.claim("worker/one", 60)
    assert task is not None
    attempt, till = notes.queue.begin_attempt(task), _Till()
    notes.ledger.reserve(task, attempt, model="m", decide=lambda _: (1, Money("0.25")))
    tighten(till, task, attempt, lambda: Money("0.50"), notes.ledger)  # type: ignore[arg-type]
    tighten(till, task, attempt, lambda: Money("-3"), notes.ledger)  # type: ignore[arg-type]
    tighten(till, task, attempt, None, notes.ledger)  # type: ignore[arg-type]
    own = replace(task, requested_by=notes.maintainer)
    tighten(till, own, attempt, lambda: Money("0.50"), notes.ledger)  # type: ignore[arg-type]
    assert till.most == [Money("0.75"), Money(0)]
