"""What a draft gets besides its text: labels, a review asked of who wanted it, a check. Never in the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import structlog

from domain.errors import ForgeError
from domain.fitting import fitted
from domain.guests import is_account
from domain.model import Actor, Publication, Pull, Task
from domain.ports import (
    Capability,
    Checking,
    CheckReport,
    Conclusion,
    Forge,
    Labelling,
    RequestingReviews,
)

log = structlog.get_logger(__name__)

CHECK_NAME = "Fixwright"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """How work is presented: labels on drafts, a review asked of who wanted it, who signs commits off.

    `sign_off` is Name <mail>, "" for nobody.
    """

    labels: tuple[str, ...] = ()
    asks_for_review: bool = False
    sign_off: str = ""

    def present(self, forge: Forge, task: Task, pull: Pull, reviewers: Sequence[str] = ()) -> None:
        """Do what the forge can; `reviewers` are logins that the repository's own file names.

        What it refuses costs a warning: the draft is what counts.
        """
        for what, act in self._acts(forge, task, pull, reviewers):
            try:
                act()
            except ForgeError as error:
                log.warning("draft could not be presented", task=task.id, what=what, error=str(error))

    def _acts(
        self, forge: Forge, task: Task, pull: Pull, reviewers: Sequence[str]
    ) -> Iterator[tuple[str, Callable[[], None]]]:
        where = replace(task.issue, number=pull.number)
        can = forge.capabilities
        if self.labels and Capability.LABELS in can and isinstance(forge, Labelling):
            yield "labels", lambda: forge.add_labels(where, self.labels)
        if Capability.REVIEW_REQUESTS in can and isinstance(forge, RequestingReviews):
            for person in self._people_to_ask(task, reviewers):
                ask = partial(forge.request_review, where.repository_id, pull.number, person)
                yield f"review request to {person.login}", ask

    def _people_to_ask(self, task: Task, reviewers: Sequence[str]) -> Iterator[Actor]:
        """Yield who asked for the work, where the operator wants that, and whom the repository names."""
        asker = task.requested_by
        asks_them = self.asks_for_review and not asker.is_bot and is_account(asker)
        if asks_them:
            yield asker
        for login in dict.fromkeys(name.lower() for name in reviewers):
            if not asks_them or login != asker.login.lower():
                yield Actor(id="", login=login)


def vouch(forge: Forge, task: Task, published: Publication, *, status: str = "") -> None:
    """Put a check on a pushed commit that says what the harness saw of it, where the forge has checks.

    `status` is what the issue's status comment says, above it. A second time, the same check is rewritten.
    """
    if Capability.CHECKS not in forge.capabilities or not isinstance(forge, Checking):
        return
    report = CheckReport(
        name=CHECK_NAME,
        sha=published.commit_sha,
        key=f"task-{task.id}",
        title=f"The harness verified tree {published.tree[:12]}",
        summary=fitted(f"{status}\n\n---\n\n{published.body}" if status else published.body),
        conclusion=Conclusion.SUCCESS,
    )
    try:
        forge.ensure_check(task.issue.repository_id, report)
    except ForgeError as error:
        log.warning("no check on the commit", task=task.id, error=str(error))
