"""A scripted agent whose provider keeps a bill of its own, in a file that outlives every kill."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from domain.claim import Claim, Restatement
from domain.model import Money, Usage
from domain.ports import AgentReport, Brief, Meter, Observer, SandboxSession
from harness.agent.scripted import ScriptedAgent

USAGE = Usage(input_tokens=1000, output_tokens=100)
CALL = Money("0.0014")
"""Dollars that one call of `USAGE` costs at the price of the proof."""

CLAIM = Claim(root_cause="It added.", changes="It multiplies now.", test_commands=["python3 -m unittest"])

_PAST = re.compile(r"^Attempt \d+ ended", re.MULTILINE)


class Bill:
    """What the provider has charged, one line per call, written before the answer goes out."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def charge(self) -> None:
        """Charge one call. The line is in the kernel when this returns: no kill takes it back."""
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, f"{CALL}\n".encode())
        finally:
            os.close(descriptor)

    @property
    def calls(self) -> int:
        """How many calls were charged."""
        return len(self._path.read_text().splitlines()) if self._path.exists() else 0

    @property
    def total(self) -> Money:
        """Dollars."""
        return self.calls * CALL


class BilledAgent(ScriptedAgent):
    """Like its parent; between reserving and settling, the provider charges."""

    def __init__(self, commands: Sequence[str], bill: Bill, restatement: Restatement | None) -> None:
        super().__init__(commands, CLAIM, restatement=restatement, usage=USAGE)
        self._bill = bill

    def _pay(self, meter: Meter) -> None:
        reservation = meter.reserve(USAGE.input_tokens, USAGE.output_tokens)
        self._bill.charge()
        meter.settle(reservation, USAGE, None)


class Cast:
    """An agent for each attempt; which one it is shows from the hand-off, so that it outlives every kill."""

    def __init__(
        self, scripts: Sequence[Sequence[str]], bill: Bill, restatement: Restatement | None = None
    ) -> None:
        self._scripts = scripts
        self._bill = bill
        self._restatement = restatement

    def prestart(self) -> None:
        """There is nothing to get ready."""

    def close(self) -> None:
        """There is nothing to let go of."""

    def run(self, brief: Brief, session: SandboxSession, meter: Meter, observer: Observer) -> AgentReport:
        """Play the script of this attempt. Raises Stopped, SandboxError."""
        past = len(_PAST.findall(brief.hand_off))
        commands = self._scripts[min(past, len(self._scripts) - 1)]
        return BilledAgent(commands, self._bill, self._restatement).run(brief, session, meter, observer)
