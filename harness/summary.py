"""Lets the model sum up unfinished work, if there is room for the call under every cap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from domain.claim import Restatement
from domain.errors import AgentFailure, SandboxError
from domain.model import CommandResult
from domain.ports import Agent, Brief, Meter
from harness.journal import Journal


def summed_up(agent: Agent, brief: Brief, account: str, *, meter: Meter, journal: Journal) -> str:
    """Return the model's summary of an account, or "" where there is none to be had. Raises Stopped."""
    asked = replace(brief, sum_up=account, resume_messages=())
    try:
        with journal.phase("summary") as note:
            report = agent.run(asked, _NoHands(), meter, _Quiet(journal))
            note.text = report.stop_detail
    except (AgentFailure, SandboxError):
        return ""
    if report.summary:
        journal.summed_up(report.summary)
    return report.summary


class _NoHands:
    """A session for who has nothing to run."""

    def run(self, command: str, deadline_seconds: float) -> CommandResult:
        raise SandboxError("nothing is run while unfinished work is summed up")

    def stop(self) -> None:
        """Nothing runs."""

    def close(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True, slots=True)
class _Quiet:
    """An observer that takes nothing down: a summary is no step."""

    journal: Journal

    def restated(self, restatement: Restatement) -> None:
        """Nothing is restated."""

    def stepped(self, step: int, record: Mapping[str, object]) -> None:
        """Nothing is a step."""

    def listen(self) -> tuple[str, ...]:
        """Hear nothing: what is said now is for the next attempt."""
        return ()

    def should_stop(self) -> bool:
        """Ask the journal."""
        return self.journal.should_stop()
