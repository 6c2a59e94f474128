"""Watches over the continuous integration of published commits, and where they are kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from domain.model import Task


class CiEnd(StrEnum):
    """How the watch over a commit ended."""

    GREEN = "green"
    ABSENT = "absent"
    UNFINISHED = "unfinished"
    NOT_OURS = "not_ours"
    INFRASTRUCTURE = "infrastructure"
    NEEDS_A_PERSON = "needs_a_person"
    OURS = "ours"
    OVERTAKEN = "overtaken"


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """A published commit whose continuous integration is, or was, watched.

    `error` names what failed, `evidence` shows it: ends of logs, text from outside. `said` is what came of
    it, for people.
    """

    id: int
    task_id: int
    sha: str
    pull_number: int
    since: datetime
    reruns: int = 0
    end: CiEnd | None = None
    error: str = ""
    evidence: str = ""
    said: str = ""
    ended_at: datetime | None = None


class WatchLog(Protocol):
    """One watch per commit of a task. All may raise StoreUnavailable."""

    def begin(self, task: Task, sha: str, pull_number: int, since: datetime) -> Watch:
        """Watch a commit that was pushed at a time, or return the watch that there is."""

    def count_rerun(self, watch: Watch) -> Watch:
        """Write down, before it is asked for, that jobs of the commit are run again."""

    def end(self, watch: Watch, ending: CiEnd, *, said: str, error: str = "", evidence: str = "") -> Watch:
        """End a watch; one that has ended stays as it is."""

    def of_task(self, task_id: int) -> tuple[Watch, ...]:
        """Return a task's watches, oldest first."""
