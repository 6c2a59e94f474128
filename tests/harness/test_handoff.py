"""The hand-off tells the next attempt what was tried and what failed, from our own records."""

from __future__ import annotations

from domain.claim import Claim
from domain.model import Finding, Outcome, RunStatus, Severity, TestRun, Verdict
from harness.change import FileChange
from harness.handoff import (
    FILES_SHOWN,
    LAST_ACTIONS,
    LOST_LIMIT,
    TAIL_LIMIT,
    PastAttempt,
    actions_in,
    diffstat,
    hand_off,
    progress_note,
)

CHANGED = FileChange(
    path="a.py",
    status="M",
    old_mode="100644",
    new_mode="100644",
    old_sha="a" * 40,
    new_sha="b" * 40,
    lines_added=3,
    lines_removed=1,
)

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
    text = hand_off([past(Outcome.UNVERIFIED)], continues=True, changed=[CHANGED])
    assert text.splitlines()[0] == "Attempt 1 ended unverified: Rounded up. Always."
    assert "already contains that work. Files changed: a.py (+3 -1)" in text
    assert "python3 -m pytest -q" in text
    assert "assert 1 == 2" in text


def test_a_refused_attempt_hands_on_the_finding_and_a_clean_tree() -> None:
    finding = Finding(rule="RH001", path="t.py", line=3, what="skipped", why="", severity=Severity.CRITICAL)
    text = hand_off([past(Outcome.REFUSED, verdict=verdict(runs=(), findings=(finding,)))], continues=False)
    assert "The worktree is clean again" in text
    assert "- RH001 t.py:3: skipped" in text


def test_no_report_and_no_verdict() -> None:
    text = hand_off([past(Outcome.TASK_LIMIT, claim=None, verdict=None)], continues=True, changed=[CHANGED])
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


def test_what_could_not_be_carried_on_is_shown_within_bounds() -> None:
    text = hand_off(
        [past(Outcome.TASK_LIMIT, verdict=None)], continues=False, lost="in: `a.py`.\n" + "+\n" * 9999
    )
    assert "clean again" in text and "in: `a.py`" in text
    assert len(text) < LOST_LIMIT + 500


def test_the_last_actions_of_an_attempt_without_a_verdict_are_told() -> None:
    tried = past(Outcome.TASK_LIMIT, claim=None, verdict=None, actions=("pytest -q", "edit a.py"))
    assert "Its last actions were:\n- pytest -q\n- edit a.py" in hand_off([tried], continues=False)
    assert "last actions" not in hand_off([past(Outcome.UNVERIFIED, actions=("x",))], continues=False)


def test_actions_are_read_from_either_kind_of_record_and_kept_to_a_line() -> None:
    scripted = {"messages": [{"role": "tool", "extra": {"command": "cat >a <<'END'\n\x1b[31mred\nEND"}}]}
    real = {
        "messages": [{"role": "assistant", "extra": {"actions": [{"command": "ls"}, {"command": " "}, 7]}}]
    }
    odd = [{"messages": "none"}, {"messages": [{"extra": None}, 3]}, {}]
    assert actions_in([scripted, real, *odd]) == ("cat >a <<'END' …", "ls")
    both = {"messages": [*real["messages"], {"role": "tool", "extra": {"command": "ls"}}]}
    assert actions_in([both]) == ("ls",)
    assert actions_in([real] * 20) == ("ls",) * LAST_ACTIONS


def test_a_note_of_progress_counts_lines_and_files() -> None:
    binary = FileChange(**{**_fields(CHANGED), "path": "b.png", "binary": True})
    assert diffstat([CHANGED, binary]) == "a.py (+3 -1), b.png (binary)"
    assert diffstat([CHANGED] * (FILES_SHOWN + 2)).endswith("and 2 more")
    assert progress_note([], []) == "No file was changed."
    assert progress_note([CHANGED], ["ls"]) == "Files changed: a.py (+3 -1).\nLast actions:\n- ls"


def _fields(change: FileChange) -> dict[str, object]:
    return {name: getattr(change, name) for name in FileChange.__slots__}
