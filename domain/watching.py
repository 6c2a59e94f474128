"""What continuous integration's word about a pushed commit means for its task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from domain.ci_errors import error_lines, is_machines_fault, signature
from domain.model import Reason
from domain.ports import CiEnd, CiJob, CiState, CiStatus, Watch
from domain.states import Trigger

MOST_RERUNS = 2
"""How often a job that its machine broke is run again, per commit."""

_MACHINES = frozenset({"cancelled", "canceled", "timed_out", "startup_failure", "stale", "infrastructure"})
"""Conclusions that speak of the machine or of a person's click, not of the code."""

_PEOPLES = frozenset({"action_required"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a first report, and the end of all of them, are waited for.

    `calm` is how long green has to stay as it is: a job may begin only when another has ended.
    """

    appear: timedelta
    finish: timedelta
    calm: timedelta = timedelta(seconds=30)

    @classmethod
    def of_minutes(cls, appear: float, finish: float) -> Patience:
        """Return it from minutes."""
        return cls(appear=timedelta(minutes=appear), finish=timedelta(minutes=finish))


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedJob:
    """A red job with the end of its log ("" where there is none to be had), and what the base says of it.

    `base_log` is None where the same job is not red on the base, "" where it is and its log cannot be had.
    """

    job: CiJob
    log: str = ""
    base_log: str | None = None

    @property
    def is_not_ours(self) -> bool:
        """Tell whether nothing failed here that does not fail on the base as well, as far as can be read."""
        if self.base_log is None:
            return False
        here, there = error_lines(self.log), error_lines(self.base_log)
        return not here or not there or here <= there

    @property
    def is_machines_fault(self) -> bool:
        """Tell whether the machine broke the job, or somebody cancelled it."""
        if self.job.conclusion in _MACHINES:
            return not error_lines(self.log) or is_machines_fault(self.log)
        return bool(self.log) and is_machines_fault(self.log)

    @property
    def needs_a_person(self) -> bool:
        """Tell whether the job waits for somebody's approval."""
        return self.job.conclusion in _PEOPLES


@dataclass(frozen=True, slots=True, kw_only=True)
class CiReading:
    """What is to be done about a commit, and the jobs that say so. `end` None: wait; `rerun` is asked for."""

    end: CiEnd | None = None
    jobs: tuple[FailedJob, ...] = ()
    rerun: tuple[CiJob, ...] = ()
    error: str = ""


WAIT = CiReading()


def without_red(status: CiStatus, watch: Watch, patience: Patience, now: datetime) -> CiReading | None:
    """Read a status in which nothing is red; None where all jobs have ended, and red ones tell more."""
    waited = now - watch.since
    if status.state is CiState.NONE:
        return WAIT if waited < patience.appear else CiReading(end=CiEnd.ABSENT)
    if status.state is CiState.PENDING:
        return WAIT if waited < patience.finish else CiReading(end=CiEnd.UNFINISHED)
    if status.state is CiState.GREEN:
        return CiReading(end=CiEnd.GREEN)
    return None


def of_red(failed: Sequence[FailedJob], watch: Watch, *, can_rerun: bool) -> CiReading:
    """Read the red jobs of a commit whose jobs have all ended.

    Ours come first: one such job is enough. Jobs that a machine broke are run again, at most twice a commit.
    """
    left = [each for each in failed if not each.is_not_ours]
    if not left:
        return CiReading(end=CiEnd.NOT_OURS, jobs=tuple(failed))
    ours = [each for each in left if not each.is_machines_fault and not each.needs_a_person]
    if ours:
        found = frozenset[str]().union(*(error_lines(each.log) for each in ours))
        return CiReading(end=CiEnd.OURS, jobs=tuple(ours), error=signature(found))
    broken = [each for each in left if each.is_machines_fault]
    again = tuple(each.job for each in broken if each.job.job_id)
    if again and can_rerun and watch.reruns < MOST_RERUNS:
        return CiReading(rerun=again, jobs=tuple(broken))
    end = CiEnd.INFRASTRUCTURE if broken else CiEnd.NEEDS_A_PERSON
    return CiReading(end=end, jobs=tuple(left))


@dataclass(frozen=True, slots=True, kw_only=True)
class CiSettlement:
    """The move that follows, and why it is a person's turn where it is."""

    trigger: Trigger
    reason: Reason | None = None
    why: str = ""


def settle_watch(
    watch: Watch, *, earlier: Mapping[str, str], attempts: int, max_attempts: int
) -> CiSettlement:
    """Decide what an ended watch does to its task.

    `earlier` are errors that were mended before on this task, by name, with the commits that showed them. A
    red commit of ours starts another attempt under the same caps; never for the same error twice, and never
    where nothing can be read of what failed.
    """
    if watch.end is None:
        raise ValueError("the watch goes on")
    if watch.end is not CiEnd.OURS:
        return CiSettlement(trigger=Trigger.CI_SETTLED)
    if not watch.error:
        why = "nothing could be read of what failed there, so that another attempt would be a guess"
    elif watch.error in earlier:
        why = f"it failed in the same way on `{earlier[watch.error][:10]}` already"
    elif attempts >= max_attempts:
        why = f"all {max_attempts} attempts are used up"
    else:
        return CiSettlement(trigger=Trigger.RETRIED)
    return CiSettlement(trigger=Trigger.BLOCKED, reason=Reason.CI_RED, why=why)
