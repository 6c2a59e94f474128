"""The child's side in a thread of the test process: the same code and pipes, without a start of its own."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Mapping
from dataclasses import replace

from domain.errors import AgentFailure, ProviderUnavailable
from domain.ports import AgentReport, Brief, Meter, Observer, SandboxSession
from domain.text import Redactor
from harness.agent.attendance import Attendance, WallClock
from harness.agent.link import Link
from harness.agent.protocol import Message, decode, dump, encode, load
from harness.agent.settings import AgentSettings, ModelSettings


class InlineChild:
    """Looks like a `ChildProcess` to the attendance."""

    pid = 0

    def __init__(self, model: ModelSettings, settings: AgentSettings) -> None:
        to_child, self._to_child = os.pipe()
        self._from_child, from_child = os.pipe()
        self._lines: list[bytes] = []
        self._partial = b""
        self._writer = os.fdopen(self._to_child, "wb", buffering=0)
        link = Link(os.fdopen(to_child, "rb"), os.fdopen(from_child, "wb"), orphaned=lambda: None)
        link.redact = Redactor(model.secrets)
        self.thread = threading.Thread(target=self._work, args=(link, model, settings), daemon=True)
        self.thread.start()

    def _work(self, link: Link, model: ModelSettings, settings: AgentSettings) -> None:
        from harness.agent.conversation import Conversation

        try:
            link.tell("ready")
            report = Conversation(link, model, settings).run(load(Brief, link.receive("brief")["brief"]))
            link.tell("done", report=dump(AgentReport, report))
        except ProviderUnavailable as error:
            link.tell("failed", kind="transient", message=str(error), retry_after=error.retry_after)
        except AgentFailure as error:
            link.tell("failed", kind="permanent", message=str(error))

    def send(self, message: Mapping[str, object]) -> None:
        self._writer.write(encode(message))

    def receive(self, wait_seconds: float) -> Message | None:
        while not self._lines:
            if not select.select([self._from_child], [], [], wait_seconds)[0]:
                return None
            *whole, self._partial = (self._partial + os.read(self._from_child, 2**16)).split(b"\n")
            self._lines += whole
        return decode(self._lines.pop(0))

    def wait(self, seconds: float) -> None:
        self._writer.close()


class InlineAgent:
    """The child agent without the process; same model, same loop, same attendance."""

    def __init__(
        self, model: ModelSettings, settings: AgentSettings | None = None, **changes: object
    ) -> None:
        self.model = model
        self.settings = replace(settings or AgentSettings(), **changes)  # type: ignore[arg-type]
        self.time = 0.0

    def run(self, brief: Brief, session: SandboxSession, meter: Meter, observer: Observer) -> AgentReport:
        attendance = Attendance(
            session=session,
            meter=meter,
            observer=observer,
            deadline=self.settings.wall_seconds,
            command_seconds=self.settings.command_seconds,
            monotonic=lambda: self.time,
        )
        try:
            return attendance.serve(InlineChild(self.model, self.settings), brief)  # type: ignore[arg-type]
        except WallClock:
            raise AssertionError("the wall clock is tested with a real child") from None
        finally:
            attendance.close()
