"""Who is still served under another name, what is too old to begin anything, and what was overtaken."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from domain.events import Event, Verb
from domain.model import Reason
from domain.noted import InstallationChanged, IssueChanged, Noted, PullChanged, RepositoryChanged
from domain.policy import AGE_WINDOW, PARKED, Serving, admit, is_overtaken, trigger_of
from domain.ports import Admission
from domain.states import State, Trigger
from tests.domain.test_policy import (
    MAINTAINER,
    NOW,
    SERVING,
    a_task,
    closed,
    commanded,
    labelled,
    pull_closed,
    unlabelled,
)

LATE, EARLY = NOW - AGE_WINDOW - timedelta(seconds=1), NOW - AGE_WINDOW


@pytest.mark.parametrize(
    ("known_as", "name", "is_served"),
    [
        ("team/app", "team/app", True),
        ("team/app", "Team/App", True),
        ("team/app", "team/application", True),
        ("team/app", "stranger/app", False),
        ("team/app", "friends/app", True),
        ("team/gone", "team/gone", False),
        ("team/gone", "team/renamed", False),
        ("", "team/other", False),
        ("team/app", "", False),
        ("team/app", "teamwork/app", False),
    ],
)
def test_a_new_name_does_no_harm_and_a_new_owner_does(known_as: str, name: str, is_served: bool) -> None:
    serving = replace(SERVING, repositories=frozenset({"local:team/app", "local:friends/web"}))
    assert serving.still_serves("local", known_as, name) is is_served
    assert not serving.still_serves("github", known_as, name)
    assert not Serving(repositories=frozenset(), own_ids={}, labels={}).still_serves("local", known_as, name)


@pytest.mark.parametrize(
    ("event", "admission"),
    [
        (replace(labelled(), at=EARLY), Admission.QUEUED),
        (replace(labelled(), at=LATE), Admission.TOO_OLD),
        (replace(labelled(), at=NOW + timedelta(days=9)), Admission.QUEUED),
        (labelled(), Admission.QUEUED),
        (replace(labelled("other"), at=LATE), Admission.OTHER_LABEL),
        (replace(labelled(repository="team/x"), at=LATE), Admission.NOT_SERVED),
        (replace(commanded(Verb.RESUME), at=LATE), Admission.TOO_OLD),
        (replace(commanded(Verb.ALLOW), at=LATE), Admission.TOO_OLD),
        (replace(commanded(Verb.CANCEL), at=LATE), Admission.SIGNAL),
        (replace(commanded(Verb.BUDGET), at=LATE), Admission.SIGNAL),
        (replace(unlabelled(), at=LATE), Admission.SIGNAL),
        (replace(closed(), at=LATE), Admission.SIGNAL),
        (replace(pull_closed(merged=True), at=LATE), Admission.SIGNAL),
    ],
)
def test_f115_what_asks_for_work_and_is_old_begins_nothing_and_what_ends_it_is_heard(
    event: Event, admission: Admission
) -> None:
    assert admit(event, SERVING, NOW) is admission
    if admission is Admission.TOO_OLD:
        assert admit(event, SERVING) is not Admission.TOO_OLD, "a sweep has a reach of its own"


def noted(kind: type[Noted], action: str, **more: object) -> Noted:
    return kind(forge="local", action=action, actor=MAINTAINER, repository_id="7", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("event", "admission"),
    [
        (noted(RepositoryChanged, "archived"), Admission.ERRAND),
        (noted(InstallationChanged, "suspend", installation_id="1", account="team"), Admission.ERRAND),
        (noted(IssueChanged, "locked", number=5), Admission.SIGNAL),
        (noted(IssueChanged, "edited", number=5, body_changed=True), Admission.SIGNAL),
        (noted(IssueChanged, "edited", number=5, title_changed=True), Admission.SIGNAL),
        (noted(IssueChanged, "edited", number=5), Admission.NOTED),
        (noted(IssueChanged, "opened", number=5, labels=("bug",)), Admission.NOTED),
        (noted(IssueChanged, "reopened", number=5), Admission.NOTED),
        (noted(IssueChanged, "locked"), Admission.NOTED),
        (noted(PullChanged, "reopened", number=5), Admission.NOTED),
    ],
)
def test_what_is_noted_leads_to_something_only_where_something_acts_on_it(
    event: Noted, admission: Admission
) -> None:
    assert admit(event, SERVING, NOW) is admission


@pytest.mark.parametrize("state", sorted(State))
def test_a_locked_issue_ends_only_what_is_under_way(state: State) -> None:
    from domain.model import Permission

    trigger = trigger_of(noted(IssueChanged, "locked", number=5), a_task(state), Permission.NONE, SERVING)
    assert trigger is (Trigger.CANCELLED if state in {State.QUEUED, State.RUNNING} else None)


@pytest.mark.parametrize(
    ("event", "is_wish"),
    [
        (labelled(), True),
        (unlabelled(), True),
        (commanded(), True),
        (pull_closed(merged=False), True),
        (commanded(Verb.CANCEL), True),
        (commanded(Verb.BUDGET), False),
        (commanded(Verb.ALLOW), False),
        (pull_closed(merged=True), False),
        (closed(), False),
    ],
)
def test_a_wish_is_overtaken_by_a_newer_word_and_a_fact_never(event: Event, is_wish: bool) -> None:
    task = a_task(word_at=NOW)
    assert is_overtaken(replace(event, at=NOW - timedelta(seconds=1)), task) is is_wish  # type: ignore[type-var]
    assert not is_overtaken(replace(event, at=NOW), task)  # type: ignore[type-var]
    assert not is_overtaken(event, task), "nobody says when it was"
    assert not is_overtaken(replace(event, at=LATE), a_task())  # type: ignore[type-var]


def test_what_parks_work_is_never_a_judgement_of_it() -> None:
    assert not PARKED & {Reason.GUARD, Reason.ATTEMPTS_EXHAUSTED, Reason.WITHDRAWN, Reason.TASK_LIMIT}
