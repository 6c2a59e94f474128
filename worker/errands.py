"""Errands: what deliveries that concern no single task ask of the worker, each with a recorded decision."""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from domain.errors import ForgeError, ForgeUnavailable
from domain.events import CommandGiven, IssueLabelled
from domain.noted import InstallationChanged, RepositoryChanged
from domain.policy import Serving, may_trigger
from domain.ports import Admission, Errand, Forge, TaskQueue
from domain.text import clip
from worker import announce
from worker.places import PlaceDesk

log = structlog.get_logger(__name__)

MOST_AT_ONCE = 100
"""Errands looked at in one round. Forges bound how much may be written: one comment of these a round."""

_MOST_DECISION = 500


class ErrandDesk:
    """Does errands one by one, in the order in which they came. Not for several threads at once."""

    def __init__(
        self, queue: TaskQueue, forges: Mapping[str, Forge], serving: Serving, *, is_swept: bool = True
    ) -> None:
        """`is_swept` says whether sweeps take up later what has no room now."""
        self._queue = queue
        self._forges = forges
        self._serving = serving
        self._is_swept = is_swept
        self.places = PlaceDesk(queue, forges, serving)

    def clear(self) -> None:
        """Do what is to be done; what a forge keeps us from waits for the next time.

        Raises StoreUnavailable.
        """
        has_spoken = False
        for errand in self._queue.errands(MOST_AT_ONCE):
            is_speech = errand.admission is not Admission.ERRAND
            if is_speech and has_spoken:
                continue
            has_spoken |= is_speech
            try:
                decision = self._do(errand)
            except ForgeUnavailable as error:
                log.warning("errand waits for the forge", errand=errand.id, error=str(error))
                continue
            except ForgeError as error:
                decision = f"refused: {error}"
            self._queue.end_errand(errand, clip(decision, _MOST_DECISION))
            log.info("errand done", errand=errand.id, kind=type(errand.event).__name__, decision=decision)

    def _do(self, errand: Errand) -> str:
        event = errand.event
        if isinstance(event, RepositoryChanged):
            self._warn_of_name(event)
            return self.places.settle(event.forge, event.repository_id, event.action).decision
        if isinstance(event, InstallationChanged):
            return self._installation(event)
        if isinstance(event, IssueLabelled | CommandGiven):
            return self._say_why_not(event, errand.admission)
        return "nothing to do"

    def _installation(self, event: InstallationChanged) -> str:
        """Look at the places that it may be about; which of them it is about, the forge knows."""
        done = [
            f"{name}: {self.places.settle(event.forge, repository_id).decision}"
            for repository_id, name in self._queue.places(event.forge)
            if _concerns(event, name)
        ]
        return "; ".join(done) or "no task there"

    def _warn_of_name(self, event: RepositoryChanged) -> None:
        """Tell the operator of a served repository whose new name is on no list: new labels go unheard."""
        forge, now, before = event.forge, event.repository_name, event.former_name
        if before and self._serving.serves(forge, before) and not self._serving.serves(forge, now):
            log.error(
                "a served repository has another name now; labels there are not heard until it is in "
                "FIXWRIGHT_REPOSITORIES",
                was=f"{forge}:{before}",
                now=f"{forge}:{now}",
            )

    def _say_why_not(self, event: IssueLabelled | CommandGiven, admission: Admission) -> str:
        """Say once on the issue why nothing begins, to somebody who may ask, while the request stands."""
        forge = self._forges.get(event.issue.forge)
        if forge is None:
            return "the forge is not configured any more"
        issue = forge.issue(event.issue)
        is_on = not isinstance(event, IssueLabelled) or event.label.strip().lower() in {
            label.strip().lower() for label in issue.labels
        }
        if not issue.is_open or issue.locked or not is_on:
            return "not said: the request does not stand any more"
        permission = forge.permission_of(event.issue.repository_id, event.actor)
        if not may_trigger(permission, event.actor):
            return "not said: not permitted"
        if admission is Admission.QUEUE_FULL:
            forge.add_comment(event.issue, "queue-full", announce.queue_full(self._is_swept))
        else:
            forge.add_comment(event.issue, f"too-old-{_key(event)}", announce.TOO_OLD)
        return "said"


def _concerns(event: InstallationChanged, name: str) -> bool:
    """Tell whether an installation's news may be about a repository of this name."""
    named = {each.lower() for each in (*event.added, *event.removed)}
    owner = name.partition("/")[0].lower()
    return not event.account or owner == event.account.lower() or name.lower() in named


def _key(event: IssueLabelled | CommandGiven) -> str:
    if isinstance(event, CommandGiven):
        return event.comment_id
    return f"{event.at:%Y%m%d%H%M%S}" if event.at else "label"
