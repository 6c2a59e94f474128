"""What the worker says of continuous integration: one line each, as pure text."""

from __future__ import annotations

from collections.abc import Sequence

from domain.ports import CiEnd, CiJob
from domain.text import one_line
from harness.markdown import code

MOST_NAMES = 5


def watching(sha: str) -> str:
    """Say that a commit is watched."""
    return f"I am watching continuous integration on {code(sha[:10])}."


def line(end: CiEnd, sha: str, jobs: Sequence[CiJob], *, reruns: int = 0, minutes: float = 0) -> str:
    """Say how the watch over a commit ended, after so many minutes. `jobs` are those that it is about."""
    where, names = code(sha[:10]), named(jobs)
    again = f", and was run again {_times(reruns)}" if reruns else ""
    return {
        CiEnd.GREEN: f"Continuous integration is green on {where}: {_counted(jobs)}.",
        CiEnd.ABSENT: f"No continuous integration ran on {where}; verified by the harness only.",
        CiEnd.UNFINISHED: f"Continuous integration has not ended on {where} after {minutes:.0f} minutes "
        f"({names}), and I have stopped watching.",
        CiEnd.NOT_OURS: f"Continuous integration is red on {where}, with no error to be read that is not "
        f"there without this change, too: {names}.",
        CiEnd.INFRASTRUCTURE: f"Continuous integration could not judge {where}: {names} was broken by its "
        f"machine or cancelled{again}. A person may run it again.",
        CiEnd.NEEDS_A_PERSON: f"Continuous integration waits on {where} for somebody's approval: {names}.",
        CiEnd.OURS: f"Continuous integration is red on {where}: {names}.",
        CiEnd.OVERTAKEN: f"Somebody pushed to the branch after {where}, so I have stopped watching it.",
    }[end]


def tries_again(said: str) -> str:
    """Say that another attempt begins because of a red commit."""
    return f"{said} I am trying again on this branch."


def stops(said: str, why: str) -> str:
    """Say that no other attempt begins because of a red commit."""
    return f"{said} I am not trying again: {why}."


def named(jobs: Sequence[CiJob]) -> str:
    """Return the first jobs' names, inert, and how many more there are."""
    names = [code(one_line(job.name, 80)) for job in jobs[:MOST_NAMES]]
    more = len(jobs) - MOST_NAMES
    return ", ".join(names) + (f" and {more} more" if more > 0 else "")


def _counted(jobs: Sequence[CiJob]) -> str:
    return "1 job" if len(jobs) == 1 else f"{len(jobs)} jobs"


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
