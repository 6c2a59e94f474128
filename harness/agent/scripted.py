"""An agent without a model: it runs a list of commands and hands in a report."""

from __future__ import annotations

from collections.abc import Sequence

from domain.claim import Claim, Restatement
from domain.errors import CapReached, Stopped
from domain.model import Usage
from domain.ports import AgentReport, Brief, Meter, Observer, SandboxSession


class ScriptedAgent:
    """Implements `domain.ports.Agent`. Each command costs one call of `usage`, like a model's."""

    def __init__(
        self,
        commands: Sequence[str],
        claim: Claim | None,
        *,
        restatement: Restatement | None = None,
        usage: Usage | None = None,
        command_seconds: float = 120.0,
        summary: str = "",
    ) -> None:
        self._commands = tuple(commands)
        self._claim = claim
        self._restatement = restatement
        self._usage = usage or Usage(input_tokens=1000, output_tokens=100)
        self._command_seconds = command_seconds
        self._summary = summary

    def prestart(self) -> None:
        """There is nothing to get ready."""

    def close(self) -> None:
        """There is nothing to let go of."""

    def run(self, brief: Brief, session: SandboxSession, meter: Meter, observer: Observer) -> AgentReport:
        """Run the commands one by one, then hand in the claim. Raises Stopped, SandboxError."""
        if brief.sum_up:
            return self._summed_up(meter)
        restatement = None if brief.skip_restatement else self._restatement
        if restatement is not None:
            observer.restated(restatement)
            if restatement.is_ambiguous:
                return AgentReport(restatement=restatement, claim=None)
        if brief.plan_first:
            return AgentReport(restatement=restatement, claim=None)
        done = sum(message.get("role") == "tool" for message in brief.resume_messages)
        for step, command in enumerate(self._commands[done:], done + 1):
            if observer.should_stop():
                raise Stopped("the attempt was asked to stop")
            heard = [{"role": "user", "content": said} for said in observer.listen()]
            try:
                self._pay(meter)
            except CapReached as refusal:
                return AgentReport(
                    restatement=restatement,
                    claim=None,
                    stopped_by=refusal.limit,
                    stop_detail=str(refusal),
                    steps=step - 1,
                )
            result = session.run(command, self._command_seconds)
            message = {"role": "tool", "content": result.output, "extra": {"command": command}}
            observer.stepped(step, {"kind": "step", "step": step, "messages": [*heard, message]})
        return AgentReport(restatement=restatement, claim=self._claim, steps=len(self._commands))

    def _summed_up(self, meter: Meter) -> AgentReport:
        try:
            self._pay(meter)
        except CapReached as refusal:
            return AgentReport(
                restatement=None, claim=None, stopped_by=refusal.limit, stop_detail=str(refusal)
            )
        return AgentReport(restatement=None, claim=None, summary=self._summary)

    def _pay(self, meter: Meter) -> None:
        reservation = meter.reserve(self._usage.input_tokens, self._usage.output_tokens)
        meter.settle(reservation, self._usage, None)
