"""Errands: what deliveries that concern no single task ask of the worker, each with a recorded decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

import structlog

from domain.errors import ForgeError, ForgeUnavailable
from domain.events import CommandGiven, IssueLabelled
from domain.model import Issue
from domain.noted import InstallationChanged, RepositoryChanged
from domain.policy import AGE_WINDOW, Serving, admit, may_trigger
from domain.ports import Admission, Clock, Errand, Forge, Inbox, TaskQueue
from domain.text import clip
from worker import announce, synthetic
from worker.command_desk import is_for_us
from worker.new_commands import NewCommandDesk
from worker.places import PlaceDesk

log = structlog.get_logger(__name__)

PLACES_AT_ONCE = 5
"""Repositories of one installation looked at in one round: a lease must not run out meanwhile."""

BACK_WITHIN = timedelta(seconds=90)
"""How long a place is looked for of which it is said that it is back: the news may be ahead of the forge."""

COMING_BACK = frozenset(
    {"created", "added", "unsuspend", "new_permissions_accepted", "unarchived", "transferred"}
)

MOST_AT_ONCE = 100
"""Errands looked at in one round. Forges bound how much may be written: one comment of these a round."""

_MOST_DECISION = 500


class ErrandDesk:
    """Does errands one by one, in the order in which they came. Not for several threads at once."""

    def __init__(
        self,
        queue: TaskQueue,
        forges: Mapping[str, Forge],
        serving: Serving,
        *,
        is_swept: bool = True,
        clock: Clock | None = None,
        commands: NewCommandDesk | None = None,
    ) -> None:
        """`is_swept` says whether sweeps take up later what has no room now.

        Without a clock and an inbox, what the door took for too old stays so. Without `commands`, those on
        issues that have no task are recorded and nothing else.
        """
        self._commands = commands
        self._clock = clock
        self._queue = queue
        self._forges = forges
        self._serving = serving
        self._is_swept = is_swept
        self.places = PlaceDesk(queue, forges, serving)
        self.inbox: Inbox | None = None
        """Where a label goes that was put on just now, though its delivery says otherwise."""
        self._half_done: dict[int, dict[str, str]] = {}
        self._looking_since: dict[int, datetime] = {}

    def clear(self) -> None:
        """Do what is to be done; what a forge keeps us from waits for the next time.

        Raises StoreUnavailable.
        """
        has_spoken = False
        for errand in self._queue.errands(MOST_AT_ONCE):
            is_speech = errand.admission is not Admission.ERRAND or isinstance(errand.event, CommandGiven)
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
            if decision is None:
                continue
            self._half_done.pop(errand.id, None)
            self._looking_since.pop(errand.id, None)
            self._queue.end_errand(errand, clip(decision, _MOST_DECISION))
            log.info("errand done", errand=errand.id, kind=type(errand.event).__name__, decision=decision)

    def _do(self, errand: Errand) -> str | None:
        """Return what came of it, or None where there is more to do next time."""
        event = errand.event
        if isinstance(event, RepositoryChanged):
            self._warn_of_name(event)
            return self._settled(errand.id, event, event.repository_id)
        if isinstance(event, InstallationChanged):
            return self._installation(errand.id, event)
        if isinstance(event, CommandGiven) and errand.admission is Admission.ERRAND:
            return self._commands.answer(event) if self._commands else "nothing to do here"
        if isinstance(event, IssueLabelled | CommandGiven):
            return self._say_why_not(event, errand.admission)
        return "nothing to do"

    def _installation(self, errand_id: int, event: InstallationChanged) -> str | None:
        """Look at the places that it may be about; which of them it is about, the forge knows."""
        done = self._half_done.setdefault(errand_id, {})
        places = {place: name for place, name in self._queue.places(event.forge) if _concerns(event, name)}
        left = [place for place in places if place not in done]
        for place in left[:PLACES_AT_ONCE]:
            decision = self._settled(errand_id, event, place)
            if decision is not None:
                done[place] = f"{places[place]}: {decision}"
        if any(place not in done for place in places):
            return None
        return "; ".join(done.values()) or "no task there"

    def _settled(
        self, errand_id: int, event: InstallationChanged | RepositoryChanged, place: str
    ) -> str | None:
        """Return what was done at a place, or None where it is said to be back and is not to be seen yet."""
        told = event.action if isinstance(event, RepositoryChanged) else ""  # "deleted" may be the App
        try:
            settled = self.places.settle(event.forge, place, told)
        except ForgeUnavailable:
            raise
        except ForgeError as error:
            return f"refused: {error}"
        is_awaited = event.action in COMING_BACK and not settled.can_be_read
        if is_awaited and self._clock is not None:
            now = self._clock.now()
            if now - self._looking_since.setdefault(errand_id, now) < BACK_WITHIN:
                return None
        return settled.decision

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
        if isinstance(event, CommandGiven) and not is_for_us(forge, event):
            return "nothing to do: it calls somebody else"
        issue = forge.issue(event.issue)
        is_on = not isinstance(event, IssueLabelled) or event.label.strip().lower() in {
            label.strip().lower() for label in issue.labels
        }
        if not issue.is_open or issue.locked or not is_on:
            return "not said: the request does not stand any more"
        permission = forge.permission_of(event.issue.repository_id, event.actor)
        if not may_trigger(permission, event.actor):
            return "not said: not permitted"
        if isinstance(event, IssueLabelled) and admission is Admission.TOO_OLD:
            late = self._brought_in(forge, event, issue)
            if late:
                return late
        if admission is Admission.QUEUE_FULL:
            forge.add_comment(
                event.issue,
                "queue-full",
                announce.queue_full(self._is_swept and isinstance(event, IssueLabelled)),
            )
        else:
            forge.add_comment(event.issue, f"too-old-{_key(event)}", announce.TOO_OLD)
        return "said"

    def _brought_in(self, forge: Forge, event: IssueLabelled, issue: Issue) -> str:
        """Queue an issue whose label was put on just now; "" where it was not.

        A delivery brings the time of the issue's last change for that of the label, which some forges do not
        count as a change. The forge's own history of labels knows better.
        """
        name, now = event.label.strip().lower(), self._clock.now() if self._clock else None
        put_on = [
            change
            for change in forge.label_changes(event.issue)
            if change.added and change.label.strip().lower() == name and change.actor.id == event.actor.id
        ]
        if self.inbox is None or now is None or not put_on or now - put_on[-1].at > AGE_WINDOW:
            return ""
        repository = forge.repository(event.issue.repository_id)
        as_labelled = replace(issue, title=event.title, body=event.body)
        delivery = synthetic.labelled(repository, as_labelled, put_on[-1], now)
        (answer,) = self.inbox.accept([delivery], partial(admit, serving=self._serving))
        return f"put on just now, as the forge's history has it: {answer.admission}"


def _concerns(event: InstallationChanged, name: str) -> bool:
    """Tell whether an installation's news may be about a repository of this name."""
    named = {each.lower() for each in (*event.added, *event.removed)}
    owner = name.partition("/")[0].lower()
    return not event.account or owner == event.account.lower() or name.lower() in named


def _key(event: IssueLabelled | CommandGiven) -> str:
    if isinstance(event, CommandGiven):
        return event.comment_id
    return f"{event.at:%Y%m%d%H%M%S}" if event.at else "label"
