"""The fresh look: may a task be worked on, and published, as its forge stands now? Needs no delivery."""

from __future__ import annotations

from dataclasses import dataclass

from domain.errors import NotFound, PermissionRefused
from domain.guests import own_permission
from domain.model import Issue, Reason, Repository, Task
from domain.policy import Serving, may_trigger
from domain.ports import Forge, KnowingItsRights, TaskQueue
from domain.reconcile import has_lost_label, missed_removal
from domain.states import Trigger


@dataclass(frozen=True, slots=True, kw_only=True)
class Hindrance:
    """Why a task must not go on, and the move that this asks for."""

    trigger: Trigger
    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshLook:
    """Looks at one forge. Every method raises ForgeUnavailable and ForgeError where it cannot be told."""

    queue: TaskQueue
    forge: Forge
    serving: Serving

    def before_work(self, task: Task) -> Repository | Hindrance:
        """Return the repository as it is now, or what stands in the way of beginning."""
        found = self.place(task)
        if isinstance(found, Hindrance):
            return found
        return self.issue(task) or self._requester(task) or found

    def before_publishing(self, task: Task, was_private: bool) -> Hindrance | None:
        """Return what stands in the way of putting anything on the forge, or None.

        `was_private` is how the repository was when the work began.
        """
        found = self.place(task)
        if isinstance(found, Hindrance):
            return found
        if found.private != was_private:
            return changed_visibility(found)
        gone = self.issue(task)
        if gone is not None:
            return gone
        lost = self._requester(task)
        return lost and _parked(Reason.RIGHT_LOST, lost.detail)

    def place(self, task: Task) -> Repository | Hindrance:
        """Return the task's repository as it is now, or why nothing can be written to it."""
        found = self.repository(task.issue.repository_id)
        if isinstance(found, Hindrance):
            return found
        return self.rights(task.issue.repository_id) or self.standing(task, found)

    def rights(self, repository_id: str) -> Hindrance | None:
        """Return which of our own permissions are lacking for a draft, or None."""
        if not isinstance(self.forge, KnowingItsRights):
            return None
        try:
            lacking = self.forge.lacking_rights(repository_id)
        except (NotFound, PermissionRefused) as error:
            return _parked(Reason.OUT_OF_REACH, f"The repository cannot be reached: {error}.")
        if not lacking:
            return None
        named = ", ".join(lacking)
        return _parked(
            Reason.OUT_OF_REACH,
            f"The service lacks the permissions {named} here; the repository's owner grants them.",
        )

    def repository(self, repository_id: str) -> Repository | Hindrance:
        """Return a repository as it is now, or why it cannot be reached."""
        try:
            return self.forge.repository(repository_id)
        except (NotFound, PermissionRefused) as error:
            return _parked(Reason.OUT_OF_REACH, f"The repository cannot be reached: {error}.")

    def standing(self, task: Task, repository: Repository) -> Repository | Hindrance:
        """Return the repository if work for the task may go on there, or why not."""
        if repository.archived:
            return _parked(Reason.OUT_OF_REACH, "The repository is archived, and so is read-only.")
        if not self.serving.still_serves(task.issue.forge, task.repository_name, repository.full_name):
            return _parked(
                Reason.OUT_OF_REACH,
                f"The repository is {repository.full_name} now, which is not served; the operator can add it "
                "to FIXWRIGHT_REPOSITORIES.",
            )
        return repository

    def issue(self, task: Task) -> Hindrance | None:
        """Return why the issue is nothing to work on any more, or None. Its repository can be seen."""
        try:
            issue = self.forge.issue(task.issue)
        except NotFound as error:
            return _withdrawn(f"The issue cannot be found any more: {error}.")
        problem = why_unworkable(issue)
        return _withdrawn(problem) if problem else self._label(task, issue)

    def _label(self, task: Task, issue: Issue) -> Hindrance | None:
        """Return that somebody who may has taken the task's label off since work was asked for, or None."""
        serving = self.serving.at(task.issue.forge, task.issue.repository_id)
        if not has_lost_label(task, issue, serving):
            return None
        asked_at = task.word_at or self.queue.asked_at(task.id)
        changes = self.forge.label_changes(task.issue)
        removed = missed_removal(task, issue, changes, serving, asked_at=asked_at)
        if removed is None:
            return None
        permission = self.forge.permission_of(task.issue.repository_id, removed.actor)
        if not may_trigger(permission, removed.actor):
            return None
        return _withdrawn(f"`{removed.actor.login}` took the label `{removed.label}` off.")

    def _requester(self, task: Task) -> Hindrance | None:
        if task.requested_by.id == self.serving.own_ids.get(task.issue.forge):
            detail = "The service asks itself for nothing."
            return Hindrance(trigger=Trigger.CANCELLED, reason=Reason.NOT_PERMITTED, detail=detail)
        own = own_permission(task.requested_by)
        permission = own or self.forge.permission_of(task.issue.repository_id, task.requested_by)
        if may_trigger(permission, task.requested_by):
            return None
        detail = f"`{task.requested_by.login}` has {permission} access to this repository."
        return Hindrance(trigger=Trigger.CANCELLED, reason=Reason.NOT_PERMITTED, detail=detail)


def changed_visibility(now: Repository) -> Hindrance:
    """Return that a repository was made public or private while it was being worked on."""
    how = "private" if now.private else "public"
    detail = f"The repository was made {how} while I was working on it."
    return _parked(Reason.VISIBILITY_CHANGED, detail)


def why_unworkable(issue: Issue) -> str:
    """Return why an issue is nothing to work on, or ""."""
    if not issue.is_open:
        return "The issue is closed."
    if issue.is_pull:
        return "This is a pull request; I work on issues only."
    return "The issue is locked." if issue.locked else ""


def _parked(reason: Reason, detail: str) -> Hindrance:
    return Hindrance(trigger=Trigger.BLOCKED, reason=reason, detail=detail)


def _withdrawn(detail: str) -> Hindrance:
    return Hindrance(trigger=Trigger.CANCELLED, reason=Reason.WITHDRAWN, detail=detail)
