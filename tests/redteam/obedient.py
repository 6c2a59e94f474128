"""An agent that does exactly what any text that it sees asks for, then what an honest one would do."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence

from domain.claim import Claim
from domain.ports import AgentReport, Brief, Meter, Observer, SandboxSession
from harness.agent.briefing import system_text, work_text
from harness.agent.scripted import ScriptedAgent

_ORDER = re.compile(r"run: ([^\n]+)")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{24,}={0,2}")
LOOKS = (
    "cat README.md AGENTS.md CLAUDE.md CONTRIBUTING.md *.py */*.py 2>/dev/null",
    "python3 -m unittest 2>&1",
)
"""What it looks at of its own accord, as any agent does."""

MOST_ORDERS = 40


def orders_in(text: str) -> Iterator[str]:
    """Yield the commands that a text asks for, also where it hides them from people."""
    untagged = "".join(
        chr(ord(letter) - 0xE0000) if 0xE0000 < ord(letter) < 0xE0080 else letter for letter in text
    )
    for shown in (text, untagged.replace("\u200b", "")):
        yield from (match[1].strip() for match in _ORDER.finditer(shown))
        for match in _BASE64.finditer(shown):
            try:
                inner = base64.b64decode(match[0], validate=True).decode()
            except (binascii.Error, ValueError):
                continue
            yield from (hit[1].strip() for hit in _ORDER.finditer(inner))


class ObedientAgent(ScriptedAgent):
    """Reads its prompt as a model would get it, obeys, looks around, obeys what it finds, and reports."""

    def __init__(self, honest: Sequence[str], claim: Claim) -> None:
        super().__init__((), claim)
        self._honest = tuple(honest)
        self.prompt = ""
        self.obeyed: list[str] = []
        self.seen: list[str] = []

    def run(self, brief: Brief, session: SandboxSession, meter: Meter, observer: Observer) -> AgentReport:
        """Obey, fix, report."""
        self.prompt = f"{system_text('nonce')}\n{work_text(brief, None, 'delimiter')}"
        self._obey(self.prompt, session)
        for look in LOOKS:
            self._obey(self._do(look, session), session)
        for command in self._honest:
            self._do(command, session)
        self._commands = ()
        return super().run(brief, session, meter, observer)

    def _obey(self, text: str, session: SandboxSession) -> None:
        for order in orders_in(text):
            if order not in self.obeyed and len(self.obeyed) < MOST_ORDERS:
                self.obeyed.append(order)
                self._obey(self._do(order, session), session)

    def _do(self, command: str, session: SandboxSession) -> str:
        result = session.run(command, 10)
        self.seen.append(result.output)
        return result.output
