"""A paid call: count, reserve, call with one layer of retries, settle."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from domain.errors import AgentFailure, CapReached, ModelRefused, ProviderUnavailable
from domain.model import Limit, Usage
from harness.agent.counting import TokenCounter
from harness.agent.link import Link
from harness.agent.protocol import Message, dump
from harness.agent.provider import Completion, Provider
from harness.agent.settings import ModelSettings
from harness.agent.trouble import Kind, Trouble

LONGEST_WAIT = 60.0
"""Seconds between two tries, unless the provider asks for more."""


class ContextOverflow(Exception):
    """The provider says that the conversation is too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaidCall:
    """A completion with what it cost: `cost` in dollars as text, seconds of wall time with all waiting."""

    completion: Completion
    usage: Message
    cost: str
    seconds: float


@dataclass(slots=True)
class _Hold:
    """Money set aside, by the worker, for the call that is being made."""

    reservation: int
    granted: int


class PaidCaller:
    """Makes model calls that the worker has agreed to pay for."""

    def __init__(
        self,
        link: Link,
        provider: Provider,
        counter: TokenCounter,
        settings: ModelSettings,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.deadline = math.inf
        """The `time.monotonic()` at which the attempt's time is over; no wait goes beyond it."""
        self._link = link
        self._provider = provider
        self._counter = counter
        self._settings = settings
        self._sleep = sleep

    def call(self, messages: Sequence[Message], tools: Sequence[Message]) -> PaidCall:
        """Return the model's answer.

        Rate limits, outages and lost connections are retried within the model's patience and the attempt's
        time; this is the only layer that tries again. A try whose answer was lost is booked at its
        reservation, for the provider may bill it.

        Raises CapReached, ContextOverflow, ProviderUnavailable, AgentFailure.
        """
        started = time.monotonic()
        request = [*messages, *tools]
        tokens = self._counter.bound(request)
        hold = self._reserve(tokens)
        retries = _Retries(self._settings, min(started + self._settings.patience_seconds, self.deadline))
        while True:
            try:
                completion = self._provider.complete(messages, tools, hold.granted)
            except Trouble as trouble:
                hold = self._recover(hold, trouble, retries, tokens)
                continue
            settled = self._settle(hold, completion.usage, completion.billed)
            self._learn(request, completion.usage)
            return PaidCall(
                completion=completion,
                usage=settled["usage"],  # type: ignore[arg-type]  # an object by the protocol
                cost=str(settled["cost"]),
                seconds=round(time.monotonic() - started, 3),
            )

    def _recover(self, hold: _Hold, trouble: Trouble, retries: _Retries, tokens: int) -> _Hold:
        """Wait for the next try and return the money for it: the same, unless a lost answer used it up."""
        after = retries.after(trouble)
        if trouble.may_be_billed:
            self._settle(hold, None, None)
        elif isinstance(after, Exception):
            self._settle(hold, Usage(), None)
        if isinstance(after, Exception):
            raise after from trouble
        self._link.tell("note", text=f"{trouble}; trying again in {after:.0f} s")
        self._sleep(after)
        return self._reserve(tokens) if trouble.may_be_billed else hold

    def _reserve(self, tokens: int) -> _Hold:
        reply = self._link.ask("reserve", input_tokens=tokens, wanted_output=self._settings.max_output_tokens)
        if "refused" in reply:
            raise CapReached(Limit(str(reply["refused"])), str(reply["message"]))
        return _Hold(int(str(reply["reservation"])), int(str(reply["granted"])))

    def _settle(self, hold: _Hold, usage: Usage | None, billed: str | None) -> Message:
        return self._link.ask(
            "settle",
            reservation=hold.reservation,
            usage=None if usage is None else dump(Usage, usage),
            billed=billed,
        )

    def _learn(self, request: Sequence[Message], usage: Usage | None) -> None:
        if usage is not None:
            reported = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
            self._counter.learn(request, reported)


class _Retries:
    """How long to wait before the next try of one call, or that there will be none."""

    def __init__(self, settings: ModelSettings, deadline: float) -> None:
        self._settings = settings
        self._deadline = deadline
        self._next_wait = settings.first_wait_seconds
        self._lost = 0

    def after(self, trouble: Trouble) -> float | Exception:
        """Return the seconds to wait, or the error to end with.

        What the provider asks for is kept to, but never shortens our own waits: a server that always says
        "at once" would be asked without end. A wait that does not fit the time is left to the queue.
        """
        if trouble.kind is Kind.OVERFLOW:
            return ContextOverflow(str(trouble))
        if trouble.kind is Kind.REFUSED:
            return ModelRefused(str(trouble))
        if trouble.kind is Kind.PERMANENT:
            return AgentFailure(str(trouble))
        self._lost += trouble.may_be_billed
        pause = max(trouble.retry_after or 0.0, self._next_wait)
        self._next_wait = min(LONGEST_WAIT, self._next_wait * 2)
        if self._lost > self._settings.most_timeouts or time.monotonic() + pause > self._deadline:
            return ProviderUnavailable(str(trouble), trouble.retry_after)
        return pause
