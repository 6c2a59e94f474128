"""What a new draft gets besides its text: labels, and a review asked of who wanted it. Never in the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import structlog

from domain.errors import ForgeError
from domain.model import Pull, Task
from domain.ports import Capability, Forge, Labelling, RequestingReviews

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manners:
    """How work is presented: labels on drafts, a review asked of who wanted it, who signs commits off.

    `sign_off` is Name <mail>, "" for nobody.
    """

    labels: tuple[str, ...] = ()
    asks_for_review: bool = False
    sign_off: str = ""

    def present(self, forge: Forge, task: Task, pull: Pull) -> None:
        """Do what the forge can. What it refuses costs a warning: the draft is what counts."""
        for what, act in self._acts(forge, task, pull):
            try:
                act()
            except ForgeError as error:
                log.warning("draft could not be presented", task=task.id, what=what, error=str(error))

    def _acts(self, forge: Forge, task: Task, pull: Pull) -> Iterator[tuple[str, Callable[[], None]]]:
        where = replace(task.issue, number=pull.number)
        can = forge.capabilities
        if self.labels and Capability.LABELS in can and isinstance(forge, Labelling):
            yield "labels", lambda: forge.add_labels(where, self.labels)
        if not self.asks_for_review or task.requested_by.is_bot:
            return
        if Capability.REVIEW_REQUESTS in can and isinstance(forge, RequestingReviews):
            yield (
                "review request",
                lambda: forge.request_review(where.repository_id, pull.number, task.requested_by),
            )
