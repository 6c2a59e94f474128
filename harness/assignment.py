"""Lets the agent work: localize, brief it, run it in the sandbox, and read how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from domain.claim import Claim, Restatement
from domain.errors import AgentFailure, GitError
from domain.model import Localization, Outcome, PastChange, Reason
from domain.ports import AgentReport, Brief, Meter
from harness.agent.starting_in import StartingIn
from harness.checkpoints import Checkpoints, Start, ref_of
from harness.ground import Ground
from harness.guidance import guidance
from harness.handoff import account_of, hand_off
from harness.inspection import Inspection
from harness.journal import Journal
from harness.order import Bench, Ended, Order, Progress
from harness.summary import summed_up
from harness.verify import Baseline

log = structlog.get_logger(__name__)

SLICE_TOKENS = 6000
"""Tokens of source that the localizer may put into the brief."""

_PLANLESS = "The model did not restate the issue in a form that can be used, so there is no plan to approve."


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """The agent's part of one attempt."""

    bench: Bench
    order: Order
    ground: Ground
    meter: Meter
    journal: Journal
    known: Progress

    def work(self, baseline: Baseline, inspection: Inspection) -> Claim:
        """Return the agent's report.

        Raises Ended where there is none, AgentFailure, Stopped, SandboxError.
        """
        self._ask_first(self.journal.past_restatement())
        brief = self._brief(baseline)
        if brief.plan_first and self.known.restatement is not None:
            raise _waiting()  # it was made before a crash
        try:
            with self.journal.phase("agent") as note:
                report = self._run(replace(brief, seconds_used=self.journal.clock_in()))
                note.text = "1 step" if report.steps == 1 else f"{report.steps} steps"
        except AgentFailure:
            inspection.keep_unfinished()
            raise
        self._ask_first(report.restatement)
        if brief.plan_first and report.stopped_by is None:
            raise self._planned(report.restatement)
        if report.claim is None:
            raise _stopped_early(report, self._account(brief, report, inspection.keep_unfinished()))
        self.journal.claimed(report.claim)
        return report.claim

    def _account(self, brief: Brief, report: AgentReport, note: str) -> str:
        """Return what is said of unfinished work: the mechanical note, or the model's own words before it."""
        will_go_on = report.stopped_by is not None and report.stopped_by.is_daily
        if not note or will_go_on or not self._wants_summary:
            return note
        account = account_of(brief.title, note, self.journal.past_steps())
        asked = replace(brief, seconds_used=self.journal.clock_in())
        words = summed_up(self.bench.agent, asked, account, meter=self.meter, journal=self.journal)
        return f"{words}\n\n{note}" if words else note

    def _planned(self, restatement: Restatement | None) -> Ended:
        """Return the end of an agent that only planned; its reading is on record, whenever it was made."""
        if restatement is None:
            return Ended(Outcome.DECLINED, Reason.ENVIRONMENT, _PLANLESS)
        if self.journal.past_restatement() is None:
            self.journal.restated(restatement)
        return _waiting()

    @property
    def _waits_with_plan(self) -> bool:
        """Tell whether the agent is only to plan. Work that was begun without a plan goes on."""
        wants = self.order.plan_first or self.ground.config.plans_first
        is_begun = any(record.get("kind") != "restatement" for record in self.journal.past_steps())
        return wants and not self.order.plan_approved and not is_begun

    @property
    def _wants_summary(self) -> bool:
        return self.ground.config.resume.summary_on_block == "llm"

    def _ask_first(self, restatement: Restatement | None) -> None:
        """End before any work where the issue can be read in several ways."""
        self.known.restatement = restatement or self.known.restatement
        if restatement is not None and restatement.is_ambiguous:
            detail = "The issue can be read in several ways."
            raise Ended(Outcome.DECLINED, Reason.NEEDS_INFORMATION, detail)

    def _brief(self, baseline: Baseline) -> Brief:
        task, order = self.order.task, self.order
        found = self._localize(baseline)
        steps, plans = self.journal.past_steps(), self._waits_with_plan
        minutes = self.ground.config.max_minutes
        continues = self.ground.start_tree != self.ground.base_tree
        return Brief(
            category=self.ground.category,
            issue_number=task.issue.number,
            title=task.title,
            body=task.body,
            repository=task.repository_name,
            test_command=baseline.plan.shown if baseline.plan else "",
            suspects="\n".join(
                f"{suspect.path}:{suspect.first_line} {suspect.symbol}".strip()
                for suspect in found.suspects[:10]
            ),
            slices=found.slices,
            hand_off=hand_off(
                order.past, continues=continues, changed=self.ground.touched, lost=self.ground.lost
            ),
            ci=order.ci,
            review=order.review,
            answers=order.answers,
            guidance=guidance(self.ground.mirror, self.ground.base_sha),
            most_seconds=None if minutes is None else minutes * 60.0,
            directory=self.ground.config.working_directory,
            instructions=(*self._of_its_kind(), *order.instructions),
            resume_messages=_messages(steps),
            skip_restatement=not plans and (bool(steps) or _is_read_enough(order)),
            plan_first=plans,
        )

    def _of_its_kind(self) -> tuple[str, ...]:
        """Return what the repository's own file says of work of this category."""
        config, task = self.ground.config, self.order.task
        rules = config.categories.get(config.category_of(task.label, task.category))
        return (rules.instructions,) if rules and rules.instructions else ()

    def _localize(self, baseline: Baseline) -> Localization:
        task = self.order.task
        with self.journal.phase("localize") as note:
            found = self.bench.localizer.localize(
                self.ground.workspace.tree,
                f"{task.title}\n\n{task.body}",
                baseline.failing_output,
                SLICE_TOKENS,
                self._past(),
            )
            note.text = ", ".join(suspect.path for suspect in found.suspects[:3])
        self.known.suspects = found.suspects
        return found

    def _past(self) -> tuple[PastChange, ...]:
        """Return the changes that led to the base; without them the localizer sees less, and works."""
        try:
            return self.ground.mirror.past_changes(self.ground.base_sha)
        except GitError:
            log.warning("the history cannot be read", base=self.ground.base_sha)
            return ()

    def _run(self, brief: Brief) -> AgentReport:
        ground, attempt = self.ground, self.order.attempt
        policy = self.bench.policy(ground.workspace, self.order.repository)
        opened = self.bench.sandbox.open(policy)
        placed = (
            StartingIn(opened, ground.config.working_directory) if ground.config.working_directory else opened
        )
        session = self.bench.agent_session(placed, ground.workspace)
        checkpoints = Checkpoints(
            journal=self.journal,
            mirror=ground.mirror,
            worktree=ground.workspace.tree,
            start=Start(ground.start.sha, ground.start_tree, attempt.started_at),
            ref=ref_of(attempt.id),
        )
        try:
            meter = self.meter.keeping_back(1) if self._wants_summary else self.meter
            return self.bench.agent.run(brief, session, meter, checkpoints)
        finally:
            session.close()


def _waiting() -> Ended:
    return Ended(Outcome.DECLINED, Reason.AWAITING_APPROVAL, "The plan waits for a maintainer's word.")


def _stopped_early(report: AgentReport, left: str) -> Ended:
    """Return the end of an agent that handed in nothing; `left` tells what it has come to."""
    if report.stopped_by is not None and report.stopped_by.is_daily:
        return Ended(Outcome.DAILY_LIMIT, None, report.stop_detail)
    detail = report.stop_detail or "The agent stopped."
    return Ended(Outcome.TASK_LIMIT, Reason.TASK_LIMIT, f"{detail}\n\n{left}" if left else detail)


def _messages(steps: Sequence[Mapping[str, object]]) -> tuple[dict[str, object], ...]:
    """Return the conversation that finished steps recorded, in order."""
    messages: list[dict[str, object]] = []
    for record in steps:
        new = record.get("messages")
        if isinstance(new, list):
            messages += [message for message in new if isinstance(message, dict)]
    return tuple(messages)


def _is_read_enough(order: Order) -> bool:
    """Tell whether the issue's reading stands: nothing was asked, or a maintainer has said to go on."""
    return order.attempt.number > 1 and (order.goes_ahead or not order.answers)
