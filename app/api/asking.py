"""Brings the wishes of the API's callers to the worker, through the same inbox as the forges' deliveries."""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from starlette.concurrency import run_in_threadpool

from app.api.caller import Caller
from app.api.issue_address import IssueAddress
from app.api.problems import LATER, Problem
from app.group_commit import NotStored
from domain.events import COMMAND_PREFIX, CommandGiven, Verb
from domain.guests import GUEST
from domain.model import IssueRef, Task
from domain.operators import OPERATOR, OPERATOR_PROVIDER, console_comment
from domain.ports import Admission, Admitted, Clock, Delivery
from store.decisions import Decided, Decisions

PATIENCE_SECONDS = 8.0
"""How long a caller waits for the worker's decision before it is told to look later."""

LOOK_SECONDS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Who asks, and the key under which the same request counts once; "" for a request of its own."""

    caller: Caller
    key: str = ""

    @property
    def provider(self) -> str:
        """Return whose word it is, as deliveries are kept."""
        return OPERATOR_PROVIDER if self.caller is Caller.OPERATOR else GUEST.id

    @property
    def mark(self) -> str:
        """Return a name for it that is like no other's, and the same for the same key of the same caller."""
        if not self.key:
            return f"api-{secrets.token_hex(16)}"
        return f"api-key-{hashlib.sha256(f'{self.provider} {self.key}'.encode()).hexdigest()[:32]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWish:
    """Which issue is to be worked on, as what kind ("" for what its own labels say).

    `ended` is the task that it has, cancelled, if it has one. `stored` is called when it is written down.
    """

    address: IssueAddress
    label: str = ""
    ended: Task | None = None
    stored: Callable[[], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingDesk:
    """Stores a wish durably, and waits a little for what the worker makes of it. `tell` is the writer's."""

    tell: Callable[[Delivery], Awaitable[Admitted]]
    decisions: Decisions
    clock: Clock
    patience_seconds: float = PATIENCE_SECONDS

    async def begin(self, wish: Wish, request: RunWish) -> Decided:
        """Ask for work on an issue of which only the repository's name is known. Raises Problem."""
        mark, address = wish.mark, request.address
        command = CommandGiven(
            issue=IssueRef(forge=address.forge, repository_id="", number=address.number),
            actor=OPERATOR if wish.caller is Caller.OPERATOR else GUEST,
            verb=Verb.RUN,
            comment_id=console_comment(mark),
            text=f"{COMMAND_PREFIX} run",
            repository_name=address.repository,
            labels=(request.label,) if request.label else (),
        )
        facts = {"run": str(address), "label": request.label}
        decided = await self._ask(wish, mark, command, facts, request.stored)
        if request.ended is not None and decided.decision == f"run: {Admission.SIGNAL}":
            # The errand has become a word about a task that there was: what came of that is waited for.
            issue = request.ended.issue
            name = f"command {issue.repository_id}#{issue.number} {command.comment_id}"
            await self._decided(wish.provider, name)
        return decided

    async def command(self, wish: Wish, task: Task, verb: Verb, argument: str = "") -> Decided:
        """Give a command about a task. Raises Problem."""
        mark = wish.mark
        command = CommandGiven(
            issue=task.issue,
            actor=OPERATOR,
            verb=verb,
            comment_id=console_comment(mark),
            text=f"{COMMAND_PREFIX} {verb} {argument}".rstrip(),
        )
        return await self._ask(wish, mark, command, {"task": task.id, "text": command.text})

    async def _ask(
        self,
        wish: Wish,
        mark: str,
        command: CommandGiven,
        facts: Mapping[str, str | int | None],
        stored: Callable[[], None] | None = None,
    ) -> Decided:
        body = json.dumps({**facts, "mark": mark}).encode("ascii")
        delivery = Delivery(
            provider=wish.provider,
            delivery_id=mark,
            body_sha256=hashlib.sha256(body).hexdigest(),
            body=body,
            received_at=self.clock.now(),
            event=command,
        )
        try:
            admitted = await self.tell(delivery)
        except NotStored as error:
            raise _not_stored(error) from None
        if stored is not None:
            stored()
        decided = await self._decided(wish.provider, mark)
        if admitted.admission is Admission.DUPLICATE and (
            decided is None or decided.body_sha256 != delivery.body_sha256
        ):
            raise _key_reused()
        if decided is None:
            raise _not_stored("it cannot be found again")
        return decided

    async def _decided(self, provider: str, mark: str) -> Decided | None:
        """Return what became of a wish, as far as it is known when patience ends."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.patience_seconds
        while True:
            found = await run_in_threadpool(self.decisions.named, provider, mark)
            if found is None or not found.is_awaited or loop.time() >= deadline:
                return found
            await asyncio.sleep(LOOK_SECONDS)


def _not_stored(error: object) -> Problem:
    return Problem(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "not_stored",
        f"Not written down: {error}.",
        way_out="Try again, with the same Idempotency-Key.",
        headers=LATER,
    )


def _key_reused() -> Problem:
    return Problem(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "key_reused",
        "This Idempotency-Key came with another request before.",
        way_out="Take a new key for a new request.",
    )
