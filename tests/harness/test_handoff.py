"""The hand-off tells the next attempt what was tried and what failed, from our own records."""

from __future__ import annotations

from domain.claim import Claim
from domain.model import Finding, Outcome, RunStatus, Severity, TestRun, Verdict
from harness.handoff import TAIL_LIMIT, PastAttempt, hand_off

FAILED_RUN = TestRun(
    name="fixed",
    command="python3 -m pytest -q",
    tree="a" * 40,
    status=RunStatus.FAILED,
    exit_code=1,
    seconds=1.0,
    failed_ids=frozenset({"t::x"}),
    tail="E   assert 1 == 2",
)


def verdict(**changes: object) -> Verdict:
    values: dict[str, object] = {
        "verified": False,
        "summary": "one test is broken",
        "base_sha": "b" * 40,
        "tree": "a" * 40,
        "runs": (FAILED_RUN,),
        "findings": (),
        "turned_green": (),
        "broken": ("t::x",),
        "isolation": "",
    }
    return Verdict(**{**values, **changes})  # type: ignore[arg-type]


def past(outcome: Outcome, **changes: object) -> PastAttempt:
    values: dict[str, object] = {
        "number": 1,
        "outcome": outcome,
        "claim": Claim(root_cause="r", changes="Rounded up.\nAlways."),
        "verdict": verdict(),
    }
    return PastAttempt(**{**values, **changes})  # type: ignore[arg-type]


def test_a_first_attempt_is_told_nothing() -> None:
    assert hand_off([], continues=False) == ""


def test_a_failed_verification_hands_on_the_command_and_its_output() -> None:
    text = hand_off([past(Outcome.UNVERIFIED)], continues=True, files=["a.py"])
    assert text.splitlines()[0] == "Attempt 1 ended unverified: Rounded up. Always."
    assert "already contains that work. Files changed: a.py" in text
    assert "python3 -m pytest -q" in text
    assert "assert 1 == 2" in text


def test_a_refused_attempt_hands_on_the_finding_and_a_clean_tree() -> None:
    finding = Finding(rule="RH001", path="t.py", line=3, what="skipped", why="", severity=Severity.CRITICAL)
    text = hand_off([past(Outcome.REFUSED, verdict=verdict(runs=(), findings=(finding,)))], continues=False)
    assert "The worktree is clean again" in text
    assert "- RH001 t.py:3: skipped" in text


def test_no_report_and_no_verdict() -> None:
    text = hand_off([past(Outcome.TASK_LIMIT, claim=None, verdict=None)], continues=True, files=["x.py"])
    assert "it handed in no report" in text


def test_output_is_bounded() -> None:
    long = TestRun(
        name="fixed",
        command="c",
        tree="",
        status=RunStatus.FAILED,
        exit_code=1,
        seconds=0,
        failed_ids=frozenset({"x"}),
        tail="y" * 100_000,
    )
    assert (
        len(hand_off([past(Outcome.UNVERIFIED, verdict=verdict(runs=(long,)))], continues=False))
        < TAIL_LIMIT + 500
    )
