"""Answers to commands, and words about a repository's file, for the texts that are kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from domain.approving import ApproveRefusal, Gate, Waiting
from domain.budget import Spent, Standing
from domain.claim import Restatement
from domain.events import Given, Verb
from domain.model import Attempt, Outcome, Publication, PublicationKind, Reason, Suspect
from domain.repo_config import RepoConfig
from domain.states import State
from tests.harness.text_makers import NOW, TREE, a_claim, a_task, a_verdict
from tests.worker.town import caps
from worker import answers, approval_words
from worker.answers import Situation
from worker.approval_words import Proposal
from worker.contract_words import contract_words
from worker.plan_words import PlanCost, plan_words
from worker.turns import Turn
from worker.typical import typical_of

CAPS = caps()
SPENT = Spent(
    attempt=Decimal("0.01"),
    task=Decimal("0.0123"),
    day=Decimal("0.5"),
    service_day=Decimal("1.25"),
    on="2026-01-02",
)
STANDING = Standing(caps=CAPS, spent=SPENT)
ATTEMPT = Attempt(
    id=1, task_id=7, number=2, started_at=NOW, ended_at=NOW, outcome=Outcome.UNVERIFIED, steps=9
)
DRAFT = Publication(
    id=1,
    task_id=7,
    attempt_id=1,
    kind=PublicationKind.PULL,
    branch="fixwright/issue-12",
    commit_sha="c" * 40,
    tree=TREE,
    expected_sha="",
    title="",
    body="",
    done_at=NOW,
    pull_number=3,
    url="https://forge.example/3",
)


def situation(state: State, reason: Reason | None = None, **changes: object) -> Situation:
    task = replace(a_task(), state=state, reason=reason)
    return replace(Situation(task=task, attempts=(ATTEMPT,), standing=STANDING), **changes)  # type: ignore[arg-type]


def queued_late() -> Situation:
    task = replace(
        a_task(), state=State.QUEUED, not_before=NOW + timedelta(hours=1), detail="The day's budget."
    )
    return Situation(task=task, turn=Turn(place=4, of=9))


def explained() -> Situation:
    return situation(
        State.BLOCKED,
        Reason.ATTEMPTS_EXHAUSTED,
        verdict=a_verdict(verified=False, summary="1 test that passed before does not now."),
        claim=a_claim(),
        publication=replace(DRAFT, kind=PublicationKind.WIP, pull_number=None),
    )


MUCH = RepoConfig(
    max_iterations=900, max_cost_per_task_usd=99, base_branch="develop", working_directory="api"
)

TREE_WAITS = Waiting(gate=Gate.PUBLISH, name=TREE, attempt_id=1)
PLAN_WAITS = Waiting(gate=Gate.PLAN, name="d" * 40, attempt_id=1)
PLACE = Suspect(path="price.py", symbol="total", score=1, first_line=3, last_line=9, why="")
READING = Restatement(
    expected="The total of @everyone's basket.",
    actual="0\n\n### All green",
    reproduction="Add two items.",
    suspected_area="price.total",
    confidence=0.8,
)
PATCH = "--- a/price.py\n+++ b/price.py\n@@ -1 +1 @@\n-total = 0\n+total = 1  # \u202e```\n"
READY = Proposal(
    publication=replace(
        DRAFT,
        done_at=None,
        title="Totals are wrong (#12)",
        body="Fixes #12\n\n**1 test** red before\u2060, green after.\n\n```\nrun\n```",
    ),
    base="main",
    patch=PATCH,
    kept_as="attempt-7.diff",
)

ANSWERS: dict[str, Callable[[], str]] = {
    "answer-status-queued": lambda: answers.status_words(queued_late()),
    "answer-status-running": lambda: answers.status_words(situation(State.RUNNING)),
    "answer-status-in-review": lambda: answers.status_words(situation(State.IN_REVIEW, publication=DRAFT)),
    "answer-status-blocked": lambda: answers.status_words(situation(State.BLOCKED, Reason.NO_CHANGE)),
    "answer-explain": lambda: answers.explain_words(explained()),
    "answer-explain-nothing": lambda: answers.explain_words(
        Situation(task=replace(a_task(), state=State.QUEUED))
    ),
    "answer-help": lambda: answers.help_words(situation(State.RUNNING), CAPS),
    "answer-unknown": lambda: answers.unknown_words(situation(State.RUNNING), CAPS, "/fixwright go `x` @all"),
    "answer-nothing-to-do": lambda: answers.nothing_to_do(Verb.RESUME, situation(State.RUNNING)),
    "answer-nothing-to-approve": lambda: answers.NOTHING_TO_APPROVE,
    "gate-ready": lambda: approval_words.proposal_words(READY, thumbs=True),
    "gate-ready-anew": lambda: approval_words.proposal_words(READY, anew=True),
    "gate-plan": lambda: plan_words(
        PLAN_WAITS, READING, (PLACE,), a_task(), PlanCost(standing=STANDING), thumbs=True
    ),
    "gate-plan-with-typical-cost": lambda: plan_words(
        PLAN_WAITS,
        READING,
        (PLACE,),
        a_task(),
        PlanCost(standing=STANDING, typical=typical_of([Decimal("0.1"), Decimal("0.42"), Decimal("1.2")])),
    ),
    "gate-plan-approved-by-thumb": lambda: approval_words.approved("mika", PLAN_WAITS, Given.REACTION),
    "gate-plan-approved": lambda: approval_words.approved("mika", PLAN_WAITS),
    "gate-approved": lambda: approval_words.approved("mika", TREE_WAITS),
    "gate-not-what-waits": lambda: approval_words.not_approved(ApproveRefusal.ANOTHER, TREE_WAITS),
    "gate-not-seen": lambda: approval_words.not_approved(ApproveRefusal.UNSEEN, TREE_WAITS),
    "gate-verified-again": lambda: approval_words.verified_again("b" * 40),
    "answer-no-plan-waits": lambda: answers.NO_PLAN_WAITS,
    "answer-not-permitted": lambda: answers.NOT_PERMITTED,
    "contract-absent": lambda: contract_words(RepoConfig(), CAPS, elsewhere=""),
    "contract-misnamed": lambda: contract_words(RepoConfig(), CAPS, elsewhere=".fixwright.yaml"),
    "contract-too-much": lambda: contract_words(MUCH, CAPS, elsewhere=None),
}
