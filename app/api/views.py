"""Runs as the API shows them, read from the ports."""

from __future__ import annotations

from dataclasses import dataclass

from app.api.models import PullLink, Run, RunAttempt, RunDetail, RunPage, Verdict, Waiting
from app.console_view import web_link
from app.console_words import next_step
from domain.approving import Gate, waiting_at
from domain.approving import Waiting as DomainWaiting
from domain.budget import QUANTUM
from domain.model import Attempt, Money, Task
from domain.ports import Ledger, TaskQueue
from domain.states import State
from domain.text import Redactor
from store.task_pages import TaskPages, Wanted


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReader:
    """Reads runs. `public_url` is the console's address, "" where none is set. Raises StoreUnavailable."""

    queue: TaskQueue
    ledger: Ledger
    pages: TaskPages
    redact: Redactor
    public_url: str = ""

    def page(self, wanted: Wanted, limit: int) -> RunPage:
        """Return some runs, and where the next ones begin."""
        tasks = self.pages.page(wanted, limit + 1)
        runs = tuple(Run(**self._fields(task)) for task in tasks[:limit])
        return RunPage(runs=runs, next_before=runs[-1].id if len(tasks) > limit else None)

    def run(self, task_id: int) -> RunDetail:
        """Return one run with its attempts. Raises KeyError."""
        task = self.queue.task(task_id)
        attempts = tuple(self._attempt(each) for each in self.queue.attempts(task_id))
        return RunDetail(**self._fields(task), attempt_list=attempts)

    def waiting(self, task: Task) -> DomainWaiting | None:
        """Return what a task waits with for an approval."""
        if task.state is not State.BLOCKED:
            return None
        attempts = self.queue.attempts(task.id)
        if not attempts:
            return None
        last = attempts[-1]
        return waiting_at(task, last, self.queue.verdict(last), self.queue.report(last)[0])

    def _fields(self, task: Task) -> dict[str, object]:
        waiting = self.waiting(task)
        return {
            "id": task.id,
            "state": task.state,
            "reason": task.reason,
            "detail": self.redact(task.detail),
            "next_step": next_step(task),
            "forge": task.issue.forge,
            "repository": task.repository_name,
            "issue": task.issue.number,
            "title": self.redact(task.title),
            "category": task.category,
            "requested_by": task.requested_by.login,
            "created_at": task.created_at,
            "updated_at": task.updated_at,
            "attempts": task.attempts,
            "spent_usd": dollars_text(self.ledger.spent_on_task(task.id)),
            "waiting": Waiting(gate=Gate(waiting.gate), name=waiting.name) if waiting else None,
            "pulls": self._pulls(task),
            "page": f"{self.public_url}/console/tasks/{task.id}" if self.public_url else "",
        }

    def _pulls(self, task: Task) -> tuple[PullLink, ...]:
        found = {
            each.pull_number: PullLink(number=each.pull_number, url=web_link(each.url))
            for each in self.queue.publications(task.id)
            if each.pull_number is not None
        }
        return tuple(found.values())

    def _attempt(self, attempt: Attempt) -> RunAttempt:
        verdict = self.queue.verdict(attempt)
        return RunAttempt(
            number=attempt.number,
            started_at=attempt.started_at,
            ended_at=attempt.ended_at,
            outcome=attempt.outcome,
            steps=attempt.steps,
            spent_usd=dollars_text(self.ledger.spent_on_attempt(attempt.id)),
            verdict=verdict
            and Verdict(verified=verdict.verified, summary=self.redact(verdict.summary), tree=verdict.tree),
        )


def dollars_text(amount: Money) -> str:
    """Write an amount for programs: all nine decimals."""
    return f"{amount.quantize(QUANTUM):f}"
