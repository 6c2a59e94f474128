"""Keeps the agent's work safe after each step: transcript first, then the worktree in the mirror."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from domain.claim import Restatement
from domain.errors import GitError, PolicyRefusal
from harness.git import Mirror
from harness.journal import Journal

CHECKPOINT = "checkpoint"
"""Key of a step's record: the commit that holds the worktree after it, "" while nothing was changed."""

_REFS = "attempts"


def last_checkpoint(steps: Sequence[Mapping[str, object]]) -> str:
    """Return the newest checkpoint among the records of finished steps, or ""."""
    return next((str(record[CHECKPOINT]) for record in reversed(steps) if record.get(CHECKPOINT)), "")


def ref_of(attempt_id: int) -> str:
    """Return the name of the ref of ours that keeps an attempt's work."""
    return f"{_REFS}/{attempt_id}"


@dataclass(frozen=True, slots=True)
class Start:
    """Where the attempt began: its commit, the tree in the worktree then, and when."""

    sha: str
    tree: str
    at: datetime


@dataclass(slots=True, kw_only=True)
class Checkpoints:
    """An Observer for the agent that also stores the worktree under a ref of ours when it changed."""

    journal: Journal
    mirror: Mirror
    worktree: Path
    start: Start
    ref: str
    last_tree: str = ""
    last_commit: str = ""

    def restated(self, restatement: Restatement) -> None:
        """Pass the restatement on."""
        self.journal.restated(restatement)

    def stepped(self, step: int, record: Mapping[str, object]) -> None:
        """Store the work, then take the step down together with where the work is: both or neither count."""
        self.journal.stepped(step, {**record, CHECKPOINT: self._store()})

    def listen(self) -> tuple[str, ...]:
        """Ask the journal."""
        return self.journal.listen()

    def should_stop(self) -> bool:
        """Ask the journal."""
        return self.journal.should_stop()

    def _store(self) -> str:
        try:
            tree = self.mirror.snapshot(self.worktree, self.start.tree).tree
        except (PolicyRefusal, GitError):
            # What cannot be stored now is judged, and named, when the agent has ended.
            return self.last_commit
        if tree != (self.last_tree or self.start.tree):
            self.last_commit = self.mirror.commit(tree, [self.start.sha], "checkpoint", when=self.start.at)
            self.mirror.set_ref(self.ref, self.last_commit)
            self.last_tree = tree
        return self.last_commit
