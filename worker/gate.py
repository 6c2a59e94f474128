"""The gate before anything is pushed: which change a maintainer has approved, and what is shown of one."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import structlog

from domain.approving import REJECTED, Gate, Waiting
from domain.errors import GitError
from domain.file_modes import read_only_mode
from domain.model import Publication, Task
from domain.ports import TaskQueue
from domain.text import Redactor
from harness.git import Mirror
from worker.approval_words import Proposal

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishGate:
    """Tells what may be published of one task, by the words that are written down."""

    queue: TaskQueue
    mirror: Mirror

    def is_open(self, task: Task, tree: str) -> bool:
        """Tell whether a verified tree was approved: itself, or the very same change on another base."""
        trees = self.approved(task)
        return tree in trees or any(self._is_same_change(task, tree, other) for other in trees)

    def approved(self, task: Task) -> tuple[str, ...]:
        """Return the trees that maintainers have approved, and not rejected since."""
        words = {word.change for word in self.queue.allowances(task.id)}
        return tuple(
            verdict.tree
            for attempt in self.queue.attempts(task.id)
            if attempt.outcome not in REJECTED
            and (verdict := self.queue.verdict(attempt)) is not None
            and Waiting(gate=Gate.PUBLISH, name=verdict.tree, attempt_id=attempt.id).word in words
        )

    def _is_same_change(self, task: Task, one: str, other: str) -> bool:
        bases = {
            verdict.tree: verdict.base_sha
            for attempt in self.queue.attempts(task.id)
            if (verdict := self.queue.verdict(attempt)) is not None
        }
        if one not in bases or other not in bases:
            return False
        try:
            return self._fingerprint(bases[one], one) == self._fingerprint(bases[other], other)
        except GitError as error:
            log.warning("changes cannot be compared", task=task.id, why=str(error))
            return False

    def _fingerprint(self, base_sha: str, tree: str) -> str:
        return self.mirror.fingerprint(self.mirror.tree_of(base_sha), tree)

    def proposal(
        self, publication: Publication, *, base_sha: str, base: str, redact: Redactor, keep: Path
    ) -> Proposal:
        """Return what is shown of a change; a difference too long for a comment is kept whole as a file.

        Raises GitError, OSError.
        """
        patch = redact(self.mirror.patch(self.mirror.tree_of(base_sha), publication.tree))
        proposal = Proposal(publication=publication, base=base, patch=patch, kept_as=keep.name)
        if proposal.is_long:
            write_for_owner(keep, patch)
        return proposal


def is_moved_on(mirror: Mirror, publication: Publication, bases: Iterable[str]) -> bool:
    """Tell whether the base has moved on since a change was made; one that was pushed stays as it is.

    `bases` are the base branch's names, the first of which that exists counts.
    """
    if mirror.default_head(publication.branch) == publication.commit_sha:
        return False
    head = next(filter(None, map(mirror.default_head, filter(None, bases))), "")
    return bool(head) and not mirror.is_ancestor(head, publication.commit_sha)


def write_for_owner(path: Path, text: str) -> None:
    """Write a file for the service's own user, and the group of a shared directory. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    os.fchmod(descriptor, read_only_mode(path.parent.stat().st_mode))
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
