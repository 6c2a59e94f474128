"""One run in the child: restate, work, report."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from typing import cast

from domain.claim import Claim, Restatement
from domain.errors import CapReached
from domain.model import Limit
from domain.ports import AgentReport, Brief
from harness.agent.briefing import restate_text, system_text, work_text
from harness.agent.calls import ContextOverflow, PaidCaller
from harness.agent.context import Context
from harness.agent.counting import TokenCounter
from harness.agent.environment import RemoteEnvironment
from harness.agent.link import Link
from harness.agent.loop import WorkLoop
from harness.agent.model import PaidModel
from harness.agent.one_shot import one_shot
from harness.agent.protocol import Message
from harness.agent.provider import Provider
from harness.agent.restating import ask_for_restatement
from harness.agent.settings import AgentSettings, ModelSettings
from harness.agent.summing_up import sum_up
from harness.agent.transcript import last_step, restatement_in, working_conversation

PLANNED = "the plan waits for an approval"


class Conversation:
    """Wires the child's parts together and runs them once."""

    def __init__(self, link: Link, model: ModelSettings, settings: AgentSettings) -> None:
        self._link = link
        self._model = model
        self._settings = settings
        self._counter = TokenCounter()
        self._counter.tokens({"role": "system", "content": "loads the tokenizer while there is time"})
        self._caller = PaidCaller(link, Provider(model), self._counter, model)
        self._delimiter = secrets.token_hex(8)

    def run(self, brief: Brief) -> AgentReport:
        """Return the report of the run. Raises ProviderUnavailable, AgentFailure."""
        if brief.sum_up:
            return self._sum_up(brief)
        self._caller.deadline = time.monotonic() + self._settings.wall_seconds
        if brief.one_shot:
            return self._one_shot(brief)
        restatement, steps = restatement_in(brief.resume_messages), last_step(brief.resume_messages)
        resumed = working_conversation(brief.resume_messages)
        if resumed and not brief.plan_first:
            return self._work(resumed, restatement, steps, recorded=len(resumed))
        if restatement is None and not brief.skip_restatement:
            try:
                restatement, steps = self._restate(brief, steps)
            except (CapReached, ContextOverflow) as error:
                limit = error.limit if isinstance(error, CapReached) else None
                return AgentReport(restatement=None, claim=None, stopped_by=limit, stop_detail=str(error))
            if restatement is not None:
                self._link.ask("restated", restatement=restatement.model_dump())
                if restatement.is_ambiguous:
                    detail = "the issue is not clear enough to work on"
                    return AgentReport(restatement=restatement, claim=None, stop_detail=detail, steps=steps)
        if brief.plan_first:
            return AgentReport(restatement=restatement, claim=None, stop_detail=PLANNED, steps=steps)
        return self._work(self._opening(brief, restatement), restatement, steps, recorded=0)

    def _sum_up(self, brief: Brief) -> AgentReport:
        try:
            summary = sum_up(self._caller, brief, self._delimiter)
        except (CapReached, ContextOverflow) as error:
            limit = error.limit if isinstance(error, CapReached) else None
            return AgentReport(restatement=None, claim=None, stopped_by=limit, stop_detail=str(error))
        return AgentReport(restatement=None, claim=None, summary=summary)

    def _one_shot(self, brief: Brief) -> AgentReport:
        try:
            answer = one_shot(self._caller, self._link, brief, self._delimiter)
        except (CapReached, ContextOverflow) as error:
            limit = error.limit if isinstance(error, CapReached) else None
            return AgentReport(restatement=None, claim=None, stopped_by=limit, stop_detail=str(error))
        return AgentReport(restatement=None, claim=None, summary=answer, steps=1)

    def _restate(self, brief: Brief, steps: int) -> tuple[Restatement | None, int]:
        opening: list[Message] = [
            {"role": "system", "content": system_text(secrets.token_hex(8), self._settings.programs)},
            {"role": "user", "content": restate_text(brief, self._delimiter)},
        ]
        return ask_for_restatement(
            self._caller, self._link, opening, first_step=steps + 1, most_steps=self._settings.max_steps
        )

    def _opening(self, brief: Brief, restatement: Restatement | None) -> list[Message]:
        """Return the pinned messages; what a resumed run needs to know of them is noted beside the text."""
        nonce = secrets.token_hex(8)
        notes = {"nonce": nonce, "restatement": restatement.model_dump() if restatement else None}
        return [
            {"role": "system", "content": system_text(nonce, self._settings.programs), "extra": notes},
            {"role": "user", "content": work_text(brief, restatement, self._delimiter)},
        ]

    def _work(
        self, opening: Sequence[Message], restatement: Restatement | None, steps: int, *, recorded: int
    ) -> AgentReport:
        nonce = str(cast("Message", opening[0].get("extra") or {}).get("nonce") or secrets.token_hex(8))
        model = PaidModel(
            self._model.name,
            self._caller,
            Context(budget=self._settings.context_tokens, count=self._counter.tokens),
            nonce=nonce,
            observation_characters=self._settings.observation_characters,
        )
        loop = WorkLoop(
            model, RemoteEnvironment(self._link), link=self._link, settings=self._settings, first_step=steps
        )
        ending = loop.work(opening, recorded=recorded)
        return _report(ending, loop, restatement)


def _report(ending: Message, loop: WorkLoop, restatement: Restatement | None) -> AgentReport:
    status = str(ending.get("exit_status"))
    claim = Claim.model_validate(ending["claim"]) if status == "submitted" else None
    detail = "" if claim else str(ending.get("detail") or "")
    if status == "RepeatedFormatError":
        faults = [cast("Message", m.get("extra") or {}).get("fault") for m in loop.messages]
        last = next(fault for fault in reversed(faults) if fault)
        what = "output limit: answers were" if last == "cut off" else "no usable answer: answers were"
        detail = f"{what} {last} several times in a row"
    return AgentReport(
        restatement=restatement,
        claim=claim,
        stopped_by=Limit(str(ending["limit"])) if status == "limit" else None,
        stop_detail=detail,
        steps=loop.step_number,
    )
