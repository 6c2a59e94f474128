"""The worker's side of one run: answers the child's requests and ends the run when it must end."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from decimal import Decimal, InvalidOperation

import structlog

from domain.claim import Restatement
from domain.errors import AgentFailure, CapReached, ModelRefused, ProviderUnavailable, Stopped
from domain.model import CommandResult, Money, Usage
from domain.ports import AgentReport, Brief, Meter, Observer, Reservation, SandboxSession
from harness.agent.child_process import ChildProcess
from harness.agent.protocol import BadMessage, Message, count_of, dump, load, seconds_of, text_of

POLL_SECONDS = 0.2
"""How often a stop is looked for while the child or a command takes its time."""

QUIET_SECONDS = 30.0
"""How often a wait for the child is logged: with a call open, the model takes its time."""

log = structlog.get_logger(__name__)


class WallClock(Exception):
    """The time for the attempt is over."""


class Attendance:
    """Serves one child: the child asks, this answers. The sandbox and the money are held here alone."""

    def __init__(
        self,
        *,
        session: SandboxSession,
        meter: Meter,
        observer: Observer,
        deadline: float,
        command_seconds: float,
        monotonic: Callable[[], float],
    ) -> None:
        self.restatement: Restatement | None = None
        self.steps = 0
        self._session = session
        self._meter = meter
        self._observer = observer
        self._deadline = deadline
        self._command_seconds = command_seconds
        self._monotonic = monotonic
        self._open: dict[int, tuple[Reservation, int]] = {}
        self._hand = ThreadPoolExecutor(1, thread_name_prefix="agent-command")
        self._answers: dict[str, Callable[[Message], Message | None]] = {
            "reserve": self._reserve,
            "settle": self._settle,
            "restated": self._restated,
            "run": self._run,
            "stepped": self._stepped,
            "listen": self._listen,
            "note": self._note,
        }

    def serve(self, child: ChildProcess, brief: Brief) -> AgentReport:
        """Give the child its brief and serve it until it is done.

        Raises AgentFailure, ProviderUnavailable, Stopped, SandboxError, WallClock.
        """
        started = self._monotonic()
        try:
            self._expect_ready(child)
            log.info("agent ready", pid=child.pid, waited_seconds=round(self._monotonic() - started, 2))
            child.send({"type": "brief", "brief": dump(Brief, brief)})
            while True:
                message = self._next(child)
                if message["type"] == "done":
                    child.wait(1.0)
                    return load(AgentReport, message.get("report"))
                self._answer(child, message)
        except BadMessage as error:
            raise AgentFailure(f"the agent's process sent a malformed message: {error}") from None

    def close(self) -> None:
        """Book calls whose end was not seen at their worst, for they may well have been answered."""
        for reservation, _ in self._open.values():
            self._meter.settle(reservation, None, None)
        self._open.clear()
        self._hand.shutdown(wait=False, cancel_futures=True)

    def _expect_ready(self, child: ChildProcess) -> None:
        message = self._next(child)
        if message["type"] == "failed":
            self._failed(message)
        if message["type"] != "ready":
            raise BadMessage(f"{message['type']} before ready")

    def _next(self, child: ChildProcess) -> Message:
        """Return the child's next message, watching for a stop and the end of time meanwhile."""
        began = told = self._monotonic()
        while True:
            self._check()
            message = child.receive(POLL_SECONDS)
            if message is not None:
                return message
            now = self._monotonic()
            if now - told >= QUIET_SECONDS:
                log.info("agent is quiet", step=self.steps, seconds=round(now - began), calls=len(self._open))
                told = now

    def _check(self) -> None:
        if self._observer.should_stop():
            raise Stopped("the attempt was asked to stop")
        if self._monotonic() >= self._deadline:
            raise WallClock

    def _answer(self, child: ChildProcess, message: Message) -> None:
        if message["type"] == "failed":
            self._failed(message)
        answer = self._answers.get(str(message["type"]))
        if answer is None:
            raise BadMessage(f"unknown type {message['type']!r}")
        reply = answer(message)
        if reply is not None:
            child.send({"type": "reply", **reply})

    def _failed(self, message: Message) -> None:
        text = text_of(message, "message")
        if message.get("kind") == "transient":
            raise ProviderUnavailable(text, seconds_of(message, "retry_after"))
        raise ModelRefused(text) if message.get("kind") == "refused" else AgentFailure(text)

    def _reserve(self, message: Message) -> Message:
        self._check()
        input_tokens = count_of(message, "input_tokens")
        try:
            reservation = self._meter.reserve(input_tokens, count_of(message, "wanted_output"))
        except CapReached as refusal:
            return {"refused": str(refusal.limit), "message": str(refusal)}
        self._open[reservation.id] = (reservation, input_tokens)
        return {"reservation": reservation.id, "granted": reservation.max_output_tokens}

    def _settle(self, message: Message) -> Message:
        """Book a call; without usage it is booked at what was set aside for it."""
        try:
            reservation, input_tokens = self._open.pop(count_of(message, "reservation"))
        except KeyError:
            raise BadMessage("settle of a reservation that is not open") from None
        if message.get("usage") is None:
            usage, billed = None, None
        else:
            usage, billed = load(Usage, message["usage"]), _money(message.get("billed"))
        cost = self._meter.settle(reservation, usage, billed)
        return {"cost": str(cost), "usage": dump(Usage, usage or _worst(reservation, input_tokens))}

    def _restated(self, message: Message) -> Message:
        self.restatement = load(Restatement, message.get("restatement"))
        self._observer.restated(self.restatement)
        return {}

    def _stepped(self, message: Message) -> Message:
        record = message.get("record")
        if not isinstance(record, dict):
            raise BadMessage("stepped.record is not an object")
        self.steps = count_of(message, "step")
        self._observer.stepped(self.steps, record)
        return {}

    def _listen(self, message: Message) -> Message:
        return {"said": list(self._observer.listen())}

    def _run(self, message: Message) -> Message:
        """Run a command in the sandbox, in a thread so that a stop need not wait for it."""
        self._check()
        deadline = min(self._command_seconds, max(1.0, self._deadline - self._monotonic()))
        future = self._hand.submit(self._session.run, text_of(message, "command"), deadline)
        try:
            while not wait([future], POLL_SECONDS).done:
                self._check()
        except (Stopped, WallClock):
            self._break_off(future)
            raise
        return {"result": dump(CommandResult, future.result())}

    def _break_off(self, future: Future[CommandResult]) -> None:
        """End a running command and wait a moment for its thread."""
        self._session.stop()
        wait([future], 1.0)

    def _note(self, message: Message) -> None:
        log.info("agent waits", step=self.steps, what=text_of(message, "text"))


def _worst(reservation: Reservation, input_tokens: int) -> Usage:
    return Usage(input_tokens=input_tokens, output_tokens=reservation.max_output_tokens)


def _money(value: object) -> Money | None:
    """Return a provider's own figure if it is one: a finite number, not below 0."""
    if not isinstance(value, str):
        return None
    try:
        amount = Decimal(value)
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and amount >= 0 else None
