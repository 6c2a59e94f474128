"""What continuous integration says of a commit is waited for, told apart, and mended once per error."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from domain.model import Reason
from domain.ports import CiEnd, CiJob, CiState, CiStatus, Watch
from domain.states import Trigger
from domain.watching import (
    WAIT,
    CiReading,
    CiSettlement,
    FailedJob,
    Patience,
    of_red,
    settle_watch,
    without_red,
)

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
PATIENCE = Patience(appear=timedelta(minutes=10), finish=timedelta(minutes=60))
FAILURE = "FAILED tests/test_calc.py::test_five - assert 7 == 10\n"
LOST = "The hosted runner lost communication with the server.\n"


def watch(minutes: float = 0, reruns: int = 0) -> Watch:
    since = NOW - timedelta(minutes=minutes)
    return Watch(id=1, task_id=1, sha="a" * 40, pull_number=2, since=since, reruns=reruns)


def job(name: str = "tests", conclusion: str = "failure", job_id: str = "7") -> CiJob:
    return CiJob(name=name, state=CiState.RED, url="", job_id=job_id, conclusion=conclusion)


def failed(log: str = FAILURE, base_log: str | None = None, **about: str) -> FailedJob:
    return FailedJob(job=job(**about), log=log, base_log=base_log)


@pytest.mark.parametrize(
    ("state", "minutes", "end"),
    [
        (CiState.NONE, 9, None),
        (CiState.NONE, 10, CiEnd.ABSENT),
        (CiState.PENDING, 59, None),
        (CiState.PENDING, 60, CiEnd.UNFINISHED),
        (CiState.GREEN, 0, CiEnd.GREEN),
        (CiState.GREEN, 500, CiEnd.GREEN),
    ],
)
def test_what_is_not_red_is_waited_for_within_bounds(
    state: CiState, minutes: float, end: CiEnd | None
) -> None:
    status = CiStatus(state=state, jobs=())
    assert without_red(status, watch(minutes), PATIENCE, NOW) == (CiReading(end=end) if end else WAIT)


def test_red_jobs_have_to_be_looked_into() -> None:
    assert without_red(CiStatus(state=CiState.RED, jobs=(job(),)), watch(), PATIENCE, NOW) is None


@pytest.mark.parametrize(
    ("jobs", "end"),
    [
        ([failed()], CiEnd.OURS),
        ([failed(base_log=FAILURE.replace("7 ==", "8 =="))], CiEnd.NOT_OURS),
        ([failed(base_log="FAILED tests/test_other.py::test_x - boom")], CiEnd.OURS),
        ([failed(base_log="")], CiEnd.NOT_OURS),
        ([failed(log="", base_log=FAILURE)], CiEnd.NOT_OURS),
        ([failed(log=LOST)], CiEnd.INFRASTRUCTURE),
        ([failed(log=LOST + FAILURE)], CiEnd.OURS),
        ([failed(log="", conclusion="cancelled")], CiEnd.INFRASTRUCTURE),
        ([failed(log=FAILURE, conclusion="timed_out")], CiEnd.OURS),
        ([failed(log="", conclusion="action_required")], CiEnd.NEEDS_A_PERSON),
        ([failed(log=LOST), failed(name="lint")], CiEnd.OURS),
        ([failed(base_log=FAILURE), failed(name="lint")], CiEnd.OURS),
        ([failed(base_log=FAILURE), failed(name="lint", log=LOST)], CiEnd.INFRASTRUCTURE),
        ([failed(log="", job_id="")], CiEnd.OURS),
    ],
)
def test_red_jobs_are_told_apart(jobs: list[FailedJob], end: CiEnd) -> None:
    assert of_red(jobs, watch(reruns=2), can_rerun=True).end is end


def test_what_a_machine_broke_is_run_again_twice_and_no_more() -> None:
    broken = [failed(log=LOST), failed(name="site", log="", conclusion="cancelled", job_id="")]
    for reruns in (0, 1):
        reading = of_red(broken, watch(reruns=reruns), can_rerun=True)
        assert reading.end is None and [each.name for each in reading.rerun] == ["tests"]
    assert of_red(broken, watch(reruns=2), can_rerun=True).end is CiEnd.INFRASTRUCTURE
    assert of_red(broken, watch(), can_rerun=False).end is CiEnd.INFRASTRUCTURE


@pytest.mark.parametrize("end", [end for end in CiEnd if end is not CiEnd.OURS])
def test_whatever_is_not_ours_leaves_the_draft_to_its_reviewers(end: CiEnd) -> None:
    settled = settle_watch(replace(watch(), end=end), earlier={}, attempts=9, max_attempts=2)
    assert settled == CiSettlement(trigger=Trigger.CI_SETTLED)


@pytest.mark.parametrize(
    ("error", "attempts", "trigger", "why"),
    [
        ("new", 1, Trigger.RETRIED, ""),
        ("seen", 1, Trigger.BLOCKED, "the same way on `abcdef0123`"),
        ("new", 2, Trigger.BLOCKED, "all 2 attempts"),
        ("", 1, Trigger.BLOCKED, "nothing could be read"),
    ],
)
def test_an_error_of_ours_is_mended_once_within_the_caps(
    error: str, attempts: int, trigger: Trigger, why: str
) -> None:
    ended = replace(watch(), end=CiEnd.OURS, error=error)
    settled = settle_watch(ended, earlier={"seen": "abcdef0123456789"}, attempts=attempts, max_attempts=2)
    assert settled.trigger is trigger and why in settled.why
    assert settled.reason is (Reason.CI_RED if trigger is Trigger.BLOCKED else None)


def test_a_watch_that_goes_on_is_not_settled() -> None:
    with pytest.raises(ValueError, match="goes on"):
        settle_watch(watch(), earlier={}, attempts=0, max_attempts=1)
