"""A forge that fails on purpose: before it acts, or after it acted and before it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import TypeVar

from domain.errors import ForgeError, ForgeUnavailable
from domain.model import (
    Actor,
    CloneAccess,
    Comment,
    Issue,
    IssueRef,
    Permission,
    Pull,
    PullProposal,
    Repository,
)
from domain.ports import Capability, Forge, LabelChange, Purpose

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What goes wrong with the next `times` calls of a method.

    With `acted` the forge does the work first and then fails to say so: an ambiguous write.
    """

    method: str
    times: int = 1
    acted: bool = False
    error: ForgeError = field(default_factory=lambda: ForgeUnavailable("the forge did not answer"))


class FaultyForge:
    """Any forge, with faults put in front of it. Without faults it is the forge itself.

    It has the methods of the port and no others, so it does not claim what needs another.
    """

    def __init__(self, forge: Forge, faults: Sequence[Fault] = ()) -> None:
        self.name = forge.name
        self.capabilities = forge.capabilities & {Capability.DRAFT_PULLS}
        self.identity = forge.identity
        self.calls: list[str] = []
        self._forge = forge
        self._pending = [fault for fault in faults for _ in range(fault.times)]
        self._lock = Lock()

    def inject(self, fault: Fault) -> None:
        """Add a fault to those that are still to come."""
        with self._lock:
            self._pending += [fault] * fault.times

    def repository(self, repository_id: str) -> Repository:
        """See `domain.ports.Forge`."""
        return self._call("repository", lambda: self._forge.repository(repository_id))

    def repository_named(self, full_name: str) -> Repository:
        """See `domain.ports.Forge`."""
        return self._call("repository_named", lambda: self._forge.repository_named(full_name))

    def labelled_issues(
        self, repository_id: str, labels: Sequence[str], *, changed_since: datetime
    ) -> Iterator[Issue]:
        """See `domain.ports.Forge`. A fault comes before the first issue."""
        yield from self._call(
            "labelled_issues",
            lambda: self._forge.labelled_issues(repository_id, labels, changed_since=changed_since),
        )

    def label_changes(self, issue: IssueRef) -> tuple[LabelChange, ...]:
        """See `domain.ports.Forge`."""
        return self._call("label_changes", lambda: self._forge.label_changes(issue))

    def issue(self, issue: IssueRef) -> Issue:
        """See `domain.ports.Forge`."""
        return self._call("issue", lambda: self._forge.issue(issue))

    def comments(self, issue: IssueRef) -> tuple[Comment, ...]:
        """See `domain.ports.Forge`."""
        return self._call("comments", lambda: self._forge.comments(issue))

    def permission_of(self, repository_id: str, actor: Actor) -> Permission:
        """See `domain.ports.Forge`."""
        return self._call("permission_of", lambda: self._forge.permission_of(repository_id, actor))

    def noreply_address(self, actor: Actor) -> str:
        """Pass on; nothing is asked of anybody."""
        return self._forge.noreply_address(actor)

    def clone_access(self, repository_id: str, purpose: Purpose = Purpose.FETCH) -> CloneAccess:
        """See `domain.ports.Forge`."""
        return self._call("clone_access", lambda: self._forge.clone_access(repository_id, purpose))

    def revoke_access(self, access: CloneAccess) -> None:
        """Pass on, if nothing goes wrong."""
        self._call("revoke_access", lambda: self._forge.revoke_access(access))

    def find_pull(self, repository_id: str, head_branch: str) -> Pull | None:
        """See `domain.ports.Forge`."""
        return self._call("find_pull", lambda: self._forge.find_pull(repository_id, head_branch))

    def ensure_pull(self, repository_id: str, proposal: PullProposal) -> Pull:
        """See `domain.ports.Forge`."""
        return self._call("ensure_pull", lambda: self._forge.ensure_pull(repository_id, proposal))

    def ensure_comment(self, issue: IssueRef, topic: str, body: str) -> Comment:
        """See `domain.ports.Forge`."""
        return self._call("ensure_comment", lambda: self._forge.ensure_comment(issue, topic, body))

    def add_comment(self, issue: IssueRef, key: str, body: str) -> Comment:
        """See `domain.ports.Forge`."""
        return self._call("add_comment", lambda: self._forge.add_comment(issue, key, body))

    def _call(self, method: str, act: Callable[[], Answer]) -> Answer:
        fault = self._next(method)
        if fault is None:
            return act()
        if fault.acted:
            act()
        raise fault.error

    def _next(self, method: str) -> Fault | None:
        with self._lock:
            self.calls.append(method)
            for position, fault in enumerate(self._pending):
                if fault.method == method:
                    return self._pending.pop(position)
        return None
