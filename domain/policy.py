"""Every decision as a pure function: who is served, who may trigger, what an outcome leads to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from domain.budget import next_utc_day
from domain.events import (
    CommandGiven,
    Event,
    IssueClosed,
    IssueLabelled,
    IssueUnlabelled,
    PullClosed,
    Uninteresting,
    Verb,
)
from domain.model import Actor, Category, Outcome, Permission, Reason, Task
from domain.noted import (
    CheckAsked,
    InstallationChanged,
    IssueChanged,
    IssueCommented,
    Noted,
    RepositoryChanged,
)
from domain.ports import Admission
from domain.repo_sections import DEFAULT_BRANCH_PREFIX
from domain.reviewing import ReviewEvent, may_ask
from domain.states import State, Trigger, is_legal

MAX_RECOVERIES = 5
"""How often a task is taken up again after crashes and outages before a person has to look; a default."""

AGE_WINDOW = timedelta(hours=24)
"""A wish that is older when it reaches us begins nothing by itself: who wished may have thought again."""

PARKED = frozenset({Reason.OUT_OF_REACH, Reason.RIGHT_LOST, Reason.VISIBILITY_CHANGED})
"""Reasons that say nothing against the work: it goes on from its last step when they are over."""

_WRITERS = frozenset({Permission.WRITE, Permission.MAINTAIN, Permission.ADMIN})

_UNDER_WAY = frozenset({State.QUEUED, State.RUNNING})

_MOVING_NOTHING = frozenset(Verb) - {Verb.RUN, Verb.RESUME, Verb.RETRY, Verb.CANCEL}
"""Commands that move no task by themselves: their own desks answer them."""


def _none(_forge: str, _repository_id: str) -> Mapping[str, Category]:
    """Know no labels of any repository's own."""
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """Whom the service works for. An empty set of repositories means nobody.

    `repositories` holds "forge:owner/name" in lower case; `own_ids` maps a forge to our own user id there;
    `labels` maps trigger labels, in whatever case, to categories; `own_labels` tells those that the
    file of a repository names, by forge and repository id.
    """

    repositories: frozenset[str]
    own_ids: Mapping[str, str]
    labels: Mapping[str, Category]
    own_labels: Callable[[str, str], Mapping[str, Category]] = _none

    def at(self, forge: str, repository_id: str) -> Serving:
        """Return the same for one repository: its own labels go before ours of the same name."""
        own = self.own_labels(forge, repository_id)
        if not own:
            return self
        folded = {label.strip().lower() for label in own}
        ours = {each: kind for each, kind in self.labels.items() if each.strip().lower() not in folded}
        return replace(self, labels={**ours, **own})

    def serves(self, forge: str, repository_name: str) -> bool:
        """Tell whether a repository is on the allowlist."""
        return f"{forge}:{repository_name}".lower() in self.repositories

    def still_serves(self, forge: str, known_as: str, name: str) -> bool:
        """Tell whether a repository that was served as `known_as` and is called `name` now still is.

        Another name does no harm (work is known by the repository's id); another owner does, unless the
        operator serves repositories of that owner, too.
        """
        if self.serves(forge, name):
            return True
        prefix = f"{forge}:{name.partition('/')[0]}/".lower()
        is_owner_known = any(served.startswith(prefix) for served in self.repositories)
        return self.serves(forge, known_as) and is_owner_known


def admit(event: Event, serving: Serving, now: datetime | None = None) -> Admission:
    """Decide at the door what a well-signed event may lead to, from the event and the settings alone.

    Whether its sender may ask for anything is decided later, by the worker, with a fresh look at the forge.
    A closed issue and a closed or merged pull request are facts, not wishes: they are heard from bots (merge
    queues, stale bots) and from our own account (a maintainer's, where the service uses a personal token).
    With `now`, what asks for work and is older than the age window is too old.
    """
    if isinstance(event, Uninteresting):
        return Admission.UNINTERESTING
    if isinstance(event, IssueCommented) or (isinstance(event, ReviewEvent) and may_ask(event)):
        is_ours = event.actor.is_bot or event.actor.id == serving.own_ids.get(event.forge)
        return Admission.OWN_EVENT if is_ours else Admission.SIGNAL
    if isinstance(event, Noted):
        return _admit_noted(event)
    if isinstance(event, IssueClosed | PullClosed):
        return Admission.SIGNAL
    if event.actor.is_bot or event.actor.id == serving.own_ids.get(event.issue.forge):
        return Admission.OWN_EVENT
    if isinstance(event, IssueLabelled):
        if not serving.serves(event.issue.forge, event.repository_name):
            return Admission.NOT_SERVED
        if not category_of(event.label, serving):
            return Admission.OTHER_LABEL
        return Admission.TOO_OLD if is_too_old(event, now) else Admission.QUEUED
    if isinstance(event, CommandGiven) and is_too_old(event, now) and _lets_work_begin(event, serving):
        return Admission.TOO_OLD
    if isinstance(event, IssueUnlabelled) and not category_of(event.label, serving):
        return Admission.OTHER_LABEL
    if isinstance(event, CommandGiven) and serving.serves(event.issue.forge, event.repository_name):
        return Admission.ERRAND
    return Admission.SIGNAL


def _admit_noted(event: Noted) -> Admission:
    if isinstance(event, CheckAsked):
        is_again = not event.button and not event.actor.is_bot
        return Admission.SIGNAL if is_again else Admission.NOTED
    if isinstance(event, RepositoryChanged | InstallationChanged):
        return Admission.ERRAND
    if isinstance(event, IssueChanged) and event.number is not None:
        is_text = event.action == "edited" and (event.title_changed or event.body_changed)
        return Admission.SIGNAL if is_text or event.action == "locked" else Admission.NOTED
    return Admission.NOTED


def _lets_work_begin(command: CommandGiven, serving: Serving) -> bool:
    return command.verb is Verb.ALLOW or asks_for_work(command, serving)


def is_too_old(event: IssueLabelled | CommandGiven, now: datetime | None) -> bool:
    """Tell whether a wish reaches us later than the age window allows; without `now` it never does."""
    return now is not None and event.at is not None and now - event.at > AGE_WINDOW


def word_of(event: Event) -> datetime | None:
    """Return when a person's word was said, by the forge's clock; None for what is no word, or not told."""
    return None if isinstance(event, IssueClosed | Noted | Uninteresting) else event.at


def is_overtaken(event: Event, task: Task) -> bool:
    """Tell whether a wish came late: a newer word has moved the task since. Facts are never overtaken.

    Both times are the forge's own. A pull request that was merged stays so; one that was closed may have been
    answered by a person since. A word about money or about a change holds, whatever was said after it.
    """
    said_at = word_of(event)
    if isinstance(event, CommandGiven) and event.verb in _MOVING_NOTHING:
        return False
    if isinstance(event, PullClosed) and event.merged:
        return False
    return said_at is not None and task.word_at is not None and said_at < task.word_at


def category_of(label: str, serving: Serving) -> Category | None:
    """Return the category that a label stands for, or None for other people's labels."""
    wanted = label.strip().lower()
    return next((found for name, found in serving.labels.items() if name.strip().lower() == wanted), None)


def may_trigger(permission: Permission, actor: Actor) -> bool:
    """Tell whether somebody may spend the repository's budget."""
    return permission in _WRITERS and not actor.is_bot


def asks_for_work(event: IssueLabelled | CommandGiven, serving: Serving) -> bool:
    """Tell whether a label or a command asks that an issue be worked on, whoever it is from."""
    if isinstance(event, IssueLabelled):
        return category_of(event.label, serving) is not None
    return event.verb not in {Verb.CANCEL, *_MOVING_NOTHING}


def trigger_of(signal: Event, task: Task, permission: Permission, serving: Serving) -> Trigger | None:
    """Return the move that a signal asks of a task, or None where it may not or need not move it.

    A closed issue and a merged pull request are facts whoever caused them; all else needs a maintainer.
    The move is always one that the table has: events come late, twice and in any order.
    """
    trigger = _asked_for(signal, task, permission, serving)
    return trigger if trigger is not None and is_legal(task.state, trigger) else None


def _asked_for(signal: Event, task: Task, permission: Permission, serving: Serving) -> Trigger | None:
    if isinstance(signal, IssueClosed):
        return Trigger.CANCELLED
    if isinstance(signal, PullClosed):
        return _closed_pull(signal, task)
    if isinstance(signal, IssueChanged) and signal.action == "locked":
        return Trigger.CANCELLED if task.state in _UNDER_WAY else None
    if isinstance(signal, Noted | Uninteresting) or not may_trigger(permission, signal.actor):
        return None
    if isinstance(signal, IssueUnlabelled):
        is_ours = category_of(signal.label, serving) is task.category
        return Trigger.CANCELLED if is_ours and task.state is not State.IN_REVIEW else None
    if isinstance(signal, IssueLabelled):
        return _labelled(category_of(signal.label, serving), task)
    return _commanded(signal, task)


def _labelled(category: Category | None, task: Task) -> Trigger | None:
    """A label of ours on a cancelled task starts anew; its own label on again goes on where a person decides.

    Taking the label off and putting it on again is a wish for another go; its two events come in any order.
    """
    if task.state is State.BLOCKED:
        return Trigger.RESUMED if category is task.category else None
    return Trigger.RELABELLED if category else None


def _closed_pull(signal: PullClosed, task: Task) -> Trigger | None:
    if not signal.head_branch or signal.head_branch != task.wip_branch:
        return None
    return Trigger.MERGED if signal.merged else Trigger.CANCELLED


def _commanded(signal: CommandGiven, task: Task) -> Trigger | None:
    if signal.verb is Verb.CANCEL:
        return Trigger.CANCELLED
    if signal.verb in _MOVING_NOTHING:
        return None
    return Trigger.RELABELLED if task.state is State.CANCELLED else Trigger.RESUMED


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """Where a finished attempt sends its task."""

    trigger: Trigger
    reason: Reason | None = None
    not_before: datetime | None = None
    recoveries: int | None = None


_BLOCKING = {
    Outcome.NO_CHANGE: Reason.NO_CHANGE,
    Outcome.DECLINED: Reason.NEEDS_INFORMATION,
    Outcome.UNJUDGED: Reason.ENVIRONMENT,
    Outcome.REPEATED: Reason.REPEATED_DIFF,
    Outcome.TASK_LIMIT: Reason.TASK_LIMIT,
}


LONGEST_RETRY_AFTER = timedelta(hours=24)
"""However long a provider asks to be left alone, a day later it is asked again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """How often a task goes on by itself: after attempts that were not accepted, and after crashes."""

    attempts: int
    recoveries: int = MAX_RECOVERIES


def settle(
    outcome: Outcome,
    task: Task,
    *,
    reason: Reason | None,
    retries: Retries,
    now: datetime,
    retry_after: float | None = None,
) -> Settlement:
    """Turn an attempt's outcome into the task's next move. `task.attempts` counts this attempt already.

    `retry_after` are the seconds that a model's provider asked for when it was TRANSIENT.
    """
    if outcome is Outcome.VERIFIED:
        return Settlement(trigger=Trigger.PUBLISHED)
    if outcome in _BLOCKING:
        return Settlement(trigger=Trigger.BLOCKED, reason=reason or _BLOCKING[outcome])
    if outcome is Outcome.DAILY_LIMIT:
        return Settlement(trigger=Trigger.RELEASED, not_before=next_utc_day(now))
    if outcome is Outcome.INTERRUPTED:
        return Settlement(trigger=Trigger.RELEASED)
    if outcome in {Outcome.TRANSIENT, Outcome.ORPHANED}:
        return _recover(outcome, task, reason, now, retry_after or 0.0, retries.recoveries)
    if outcome is Outcome.CANCELLED:
        return Settlement(trigger=Trigger.CANCELLED, reason=reason or Reason.WITHDRAWN)
    if task.attempts < retries.attempts:
        return Settlement(trigger=Trigger.RETRIED)
    exhausted = Reason.GUARD if outcome is Outcome.REFUSED else Reason.ATTEMPTS_EXHAUSTED
    return Settlement(trigger=Trigger.BLOCKED, reason=reason or exhausted)


def _recover(
    outcome: Outcome, task: Task, reason: Reason | None, now: datetime, asked_for: float, most: int
) -> Settlement:
    """Take a task up again after a crash (at once, then later and later) or an outage (later and later)."""
    if task.recoveries >= most:
        reason = Reason.CRASH_LOOP if outcome is Outcome.ORPHANED else reason or Reason.ENVIRONMENT
        return Settlement(trigger=Trigger.BLOCKED, reason=reason)
    free_tries = 2 if outcome is Outcome.ORPHANED else 0
    patience = max(0, task.recoveries + 1 - free_tries)
    wait = timedelta(seconds=15 * 2**patience) if patience else timedelta(0)
    wait = max(wait, timedelta(seconds=min(asked_for, LONGEST_RETRY_AFTER.total_seconds())))
    return Settlement(
        trigger=Trigger.RELEASED,
        not_before=now + wait if wait else None,
        recoveries=task.recoveries + 1,
    )


def branch_name(task_number: int, round_: int = 1, prefix: str = DEFAULT_BRANCH_PREFIX) -> str:
    """Return the deterministic branch of an issue: ASCII, bounded, never made from its title.

    `round_` counts the times that the issue was taken up anew after its pull request was closed; `prefix` is
    the repository's own, if it has one.
    """
    suffix = "" if round_ == 1 else f"-{round_}"
    return f"{prefix}issue-{task_number}{suffix}"
