"""Every decision over every input: who is served, who may ask, what an outcome leads to."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from domain.model import Actor, Category, IssueRef, Outcome, Permission, Reason, Task
from domain.policy import (
    MAX_RECOVERIES,
    Retries,
    Serving,
    Settlement,
    admit,
    branch_name,
    category_of,
    may_trigger,
    settle,
    trigger_of,
)
from domain.ports import Admission
from domain.states import State, Trigger, after, is_legal

NOW = datetime(2026, 5, 17, 23, 59, 50, tzinfo=UTC)
ISSUE = IssueRef(forge="local", repository_id="7", number=5)
MAINTAINER = Actor(id="1", login="ada")
BOT = Actor(id="2", login="stale[bot]", is_bot=True)
OURSELVES = Actor(id="99", login="fixwright")
BRANCH = "fixwright/issue-5"

SERVING = Serving(
    repositories=frozenset({"local:team/app"}),
    own_ids={"local": "99", "github": "1"},
    labels={"bug": Category.BUG, "docs": Category.DOCS, "Good First Chore": Category.CHORE},
)


def labelled(label: str = "bug", actor: Actor = MAINTAINER, repository: str = "team/app") -> IssueLabelled:
    return IssueLabelled(
        issue=ISSUE, repository_name=repository, actor=actor, label=label, title="It breaks", body=""
    )


def unlabelled(label: str = "bug", actor: Actor = MAINTAINER) -> IssueUnlabelled:
    return IssueUnlabelled(issue=ISSUE, actor=actor, label=label)


def closed(actor: Actor = MAINTAINER) -> IssueClosed:
    return IssueClosed(issue=ISSUE, actor=actor)


def commanded(verb: Verb = Verb.RESUME, actor: Actor = MAINTAINER) -> CommandGiven:
    return CommandGiven(issue=ISSUE, actor=actor, verb=verb, comment_id="c1", text=f"/fixwright {verb}")


def pull_closed(*, merged: bool, branch: str = BRANCH, actor: Actor = MAINTAINER) -> PullClosed:
    return PullClosed(issue=replace(ISSUE, number=57), actor=actor, head_branch=branch, merged=merged)


def a_task(state: State = State.QUEUED, **changes: object) -> Task:
    task = Task(
        id=1,
        issue=ISSUE,
        repository_name="team/app",
        category=Category.BUG,
        title="It breaks",
        body="",
        requested_by=MAINTAINER,
        state=state,
        created_at=NOW,
        updated_at=NOW,
        wip_branch=BRANCH,
    )
    return replace(task, **changes)


EVERY_SIGNAL: list[Event] = [
    labelled("bug"),
    labelled("docs"),
    labelled("other"),
    unlabelled("bug"),
    unlabelled("docs"),
    unlabelled("other"),
    closed(),
    *(commanded(verb) for verb in Verb),
    *(
        pull_closed(merged=merged, branch=branch)
        for merged in (True, False)
        for branch in (BRANCH, "other", "")
    ),
    Uninteresting(why="ping"),
]


# -- at the door ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "admission"),
    [
        (labelled("bug"), Admission.QUEUED),
        (labelled("docs"), Admission.QUEUED),
        (labelled("BUG"), Admission.QUEUED),
        (labelled(" Bug "), Admission.QUEUED),
        (labelled("good first chore"), Admission.QUEUED),
        (labelled("bug", repository="Team/App"), Admission.QUEUED),
        (labelled("bugs"), Admission.OTHER_LABEL),
        (labelled("not a bug"), Admission.OTHER_LABEL),
        (labelled(""), Admission.OTHER_LABEL),
        (labelled("bug", repository="team/other"), Admission.NOT_SERVED),
        (labelled("bug", repository="team/app2"), Admission.NOT_SERVED),
        (labelled("bug", repository=""), Admission.NOT_SERVED),
        (labelled("other", repository="team/other"), Admission.NOT_SERVED),
        (labelled("bug", actor=BOT), Admission.OWN_EVENT),
        (labelled("bug", actor=OURSELVES), Admission.OWN_EVENT),
        (unlabelled("bug"), Admission.SIGNAL),
        (unlabelled("Docs"), Admission.SIGNAL),
        (unlabelled("other"), Admission.OTHER_LABEL),
        (unlabelled("bug", actor=OURSELVES), Admission.OWN_EVENT),
        (commanded(), Admission.SIGNAL),
        (commanded(actor=BOT), Admission.OWN_EVENT),
        (commanded(actor=OURSELVES), Admission.OWN_EVENT),
        (closed(), Admission.SIGNAL),
        (pull_closed(merged=True), Admission.SIGNAL),
        (Uninteresting(why="ping"), Admission.UNINTERESTING),
    ],
)
def test_what_an_event_may_lead_to(event: Event, admission: Admission) -> None:
    assert admit(event, SERVING) is admission


@pytest.mark.parametrize("actor", [BOT, OURSELVES])
@pytest.mark.parametrize("merged", [True, False])
def test_facts_are_heard_whoever_caused_them(actor: Actor, merged: bool) -> None:
    """A merge queue merges and a stale bot closes: deaf to them, a task would stay in review for ever."""
    assert admit(closed(actor), SERVING) is Admission.SIGNAL
    assert admit(pull_closed(merged=merged, actor=actor), SERVING) is Admission.SIGNAL


def test_we_are_known_by_id_not_by_name() -> None:
    assert admit(labelled(actor=Actor(id="99", login="renamed")), SERVING) is Admission.OWN_EVENT
    assert admit(labelled(actor=Actor(id="3", login="fixwright")), SERVING) is Admission.QUEUED


def test_our_id_on_another_forge_is_somebody_else() -> None:
    assert admit(labelled(actor=Actor(id="1", login="ada")), SERVING) is Admission.QUEUED


def test_nobody_is_served_by_default() -> None:
    nobody = replace(SERVING, repositories=frozenset())
    assert admit(labelled(), nobody) is Admission.NOT_SERVED
    assert not nobody.serves("", "")


def test_the_same_name_on_another_forge_is_not_served() -> None:
    assert SERVING.serves("local", "team/app")
    assert not SERVING.serves("github", "team/app")


def test_labels_in_the_settings_may_have_capitals() -> None:
    assert category_of("GOOD FIRST CHORE", SERVING) is Category.CHORE
    assert category_of("chore", SERVING) is None


@given(st.sampled_from(EVERY_SIGNAL))
def test_every_event_gets_one_of_the_doors_own_answers(event: Event) -> None:
    assert admit(event, SERVING) in {
        Admission.QUEUED,
        Admission.SIGNAL,
        Admission.NOT_SERVED,
        Admission.OTHER_LABEL,
        Admission.UNINTERESTING,
    }


# -- who may ask ------------------------------------------------------------------------------------


@pytest.mark.parametrize("permission", sorted(Permission))
def test_only_writers_may_spend_the_budget(permission: Permission) -> None:
    allowed = permission in {Permission.WRITE, Permission.MAINTAIN, Permission.ADMIN}
    assert may_trigger(permission, MAINTAINER) is allowed
    assert not may_trigger(permission, BOT)


# -- what a signal asks of a task -------------------------------------------------------------------


@pytest.mark.parametrize("state", sorted(State))
@pytest.mark.parametrize("permission", sorted(Permission))
def test_a_signal_never_asks_for_a_move_that_the_table_lacks(state: State, permission: Permission) -> None:
    for signal, category in product(EVERY_SIGNAL, Category):
        trigger = trigger_of(signal, a_task(state, category=category), permission, SERVING)
        assert trigger is None or is_legal(state, trigger), (signal, trigger)


@pytest.mark.parametrize("state", sorted(State))
def test_without_write_permission_only_facts_move_a_task(state: State) -> None:
    for signal in EVERY_SIGNAL:
        trigger = trigger_of(signal, a_task(state), Permission.TRIAGE, SERVING)
        assert trigger is None or isinstance(signal, IssueClosed | PullClosed)


@pytest.mark.parametrize(
    ("signal", "moves"),
    [
        (closed(), dict.fromkeys(set(State) - {State.CANCELLED, State.DONE}, Trigger.CANCELLED)),
        (pull_closed(merged=True), dict.fromkeys(set(State) - {State.DONE}, Trigger.MERGED)),
        (
            pull_closed(merged=False),
            dict.fromkeys(set(State) - {State.CANCELLED, State.DONE}, Trigger.CANCELLED),
        ),
        (pull_closed(merged=True, branch="other"), {}),
        (labelled("bug"), {State.CANCELLED: Trigger.RELABELLED, State.BLOCKED: Trigger.RESUMED}),
        (labelled("docs"), {State.CANCELLED: Trigger.RELABELLED}),
        (labelled("other"), {}),
        (
            unlabelled("bug"),
            dict.fromkeys({State.QUEUED, State.RUNNING, State.WATCHING, State.BLOCKED}, Trigger.CANCELLED),
        ),
        (unlabelled("docs"), {}),
        (
            commanded(Verb.CANCEL),
            dict.fromkeys(set(State) - {State.CANCELLED, State.DONE}, Trigger.CANCELLED),
        ),
        *(
            (
                commanded(verb),
                {State.CANCELLED: Trigger.RELABELLED}
                | dict.fromkeys({State.BLOCKED, State.IN_REVIEW, State.WATCHING}, Trigger.RESUMED),
            )
            for verb in (Verb.RUN, Verb.RESUME, Verb.RETRY)
        ),
        (Uninteresting(why="ping"), {}),
    ],
)
def test_what_a_maintainers_signal_does_in_each_state(signal: Event, moves: dict[State, Trigger]) -> None:
    asked = {state: trigger_of(signal, a_task(state), Permission.WRITE, SERVING) for state in State}
    assert {state: trigger for state, trigger in asked.items() if trigger} == moves


@pytest.mark.parametrize("state", sorted(State))
def test_a_pull_request_of_somebody_else_moves_nothing(state: State) -> None:
    task = a_task(state, wip_branch="")
    for merged, branch in product((True, False), ("", BRANCH)):
        assert trigger_of(pull_closed(merged=merged, branch=branch), task, Permission.ADMIN, SERVING) is None


@given(st.lists(st.tuples(st.sampled_from(EVERY_SIGNAL), st.sampled_from(Permission)), max_size=30))
def test_signals_in_any_order_never_break_a_task(signals: list[tuple[Event, Permission]]) -> None:
    task = a_task()
    for signal, permission in signals:
        trigger = trigger_of(signal, task, permission, SERVING)
        if trigger:
            task = replace(task, state=after(task.state, trigger))
    merge = trigger_of(pull_closed(merged=True), task, Permission.NONE, SERVING)
    assert task.state is State.DONE or merge is Trigger.MERGED


# -- what an outcome leads to -----------------------------------------------------------------------


def settled(
    outcome: Outcome,
    *,
    attempts: int = 1,
    recoveries: int = 0,
    reason: Reason | None = None,
    limit: int = 3,
    retry_after: float | None = None,
) -> Settlement:
    task = a_task(State.RUNNING, attempts=attempts, recoveries=recoveries)
    return settle(
        outcome, task, reason=reason, retries=Retries(attempts=limit), now=NOW, retry_after=retry_after
    )


@given(
    outcome=st.sampled_from(Outcome),
    attempts=st.integers(0, 12),
    recoveries=st.integers(0, 12),
    limit=st.integers(0, 10),
    reason=st.none() | st.sampled_from(Reason),
)
def test_every_settlement_is_a_legal_move_with_its_reason(
    outcome: Outcome, attempts: int, recoveries: int, limit: int, reason: Reason | None
) -> None:
    result = settled(outcome, attempts=attempts, recoveries=recoveries, reason=reason, limit=limit)
    assert is_legal(State.RUNNING, result.trigger)
    assert (result.reason is not None) == (result.trigger in {Trigger.BLOCKED, Trigger.CANCELLED})
    assert result.not_before is None or result.not_before > NOW
    assert result.trigger is not Trigger.PUBLISHED or outcome is Outcome.VERIFIED


def test_only_a_verified_change_is_published() -> None:
    assert [outcome for outcome in Outcome if settled(outcome).trigger is Trigger.PUBLISHED] == [
        Outcome.VERIFIED
    ]


@pytest.mark.parametrize("outcome", [Outcome.UNVERIFIED, Outcome.REFUSED])
def test_failed_attempts_are_repeated_up_to_the_cap(outcome: Outcome) -> None:
    triggers = [settled(outcome, attempts=n, limit=3).trigger for n in (1, 2, 3, 4)]
    assert triggers == [Trigger.RETRIED, Trigger.RETRIED, Trigger.BLOCKED, Trigger.BLOCKED]
    assert settled(outcome, attempts=1, limit=0).trigger is Trigger.BLOCKED


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (Outcome.UNVERIFIED, Reason.ATTEMPTS_EXHAUSTED),
        (Outcome.REFUSED, Reason.GUARD),
        (Outcome.NO_CHANGE, Reason.NO_CHANGE),
        (Outcome.DECLINED, Reason.NEEDS_INFORMATION),
        (Outcome.UNJUDGED, Reason.ENVIRONMENT),
        (Outcome.REPEATED, Reason.REPEATED_DIFF),
        (Outcome.TASK_LIMIT, Reason.TASK_LIMIT),
    ],
)
def test_a_block_names_its_reason_and_a_better_known_one_wins(outcome: Outcome, reason: Reason) -> None:
    assert settled(outcome, attempts=9) == Settlement(trigger=Trigger.BLOCKED, reason=reason)
    assert settled(outcome, attempts=9, reason=Reason.CONFIG).reason is Reason.CONFIG


def test_a_daily_limit_waits_for_the_next_utc_day() -> None:
    assert settled(Outcome.DAILY_LIMIT) == Settlement(
        trigger=Trigger.RELEASED, not_before=datetime(2026, 5, 18, tzinfo=UTC)
    )


def test_a_shutdown_costs_nothing() -> None:
    assert settled(Outcome.INTERRUPTED, attempts=99, recoveries=99) == Settlement(trigger=Trigger.RELEASED)


def test_a_cancelled_attempt_cancels() -> None:
    assert settled(Outcome.CANCELLED) == Settlement(trigger=Trigger.CANCELLED, reason=Reason.WITHDRAWN)


@pytest.mark.parametrize(
    ("outcome", "waits", "reason"),
    [
        (Outcome.ORPHANED, [0, 0, 30, 60, 120], Reason.CRASH_LOOP),
        (Outcome.TRANSIENT, [30, 60, 120, 240, 480], Reason.ENVIRONMENT),
    ],
)
def test_recoveries_come_later_and_later_and_end(outcome: Outcome, waits: list[int], reason: Reason) -> None:
    seen = []
    recoveries = 0
    while (result := settled(outcome, recoveries=recoveries)).trigger is Trigger.RELEASED:
        seen.append(int((result.not_before - NOW).total_seconds()) if result.not_before else 0)
        assert result.recoveries == recoveries + 1
        recoveries = result.recoveries
    assert seen == waits
    assert recoveries == MAX_RECOVERIES
    assert result == Settlement(trigger=Trigger.BLOCKED, reason=reason)


@pytest.mark.parametrize(
    ("asked", "waits"), [(None, 30), (0, 30), (5, 30), (3600, 3600), (10**12, 24 * 3600), (1e300, 24 * 3600)]
)
def test_a_provider_is_left_alone_as_long_as_it_asks_but_a_day_at_most(
    asked: float | None, waits: int
) -> None:
    result = settled(Outcome.TRANSIENT, retry_after=asked)
    assert result.trigger is Trigger.RELEASED
    assert result.not_before == NOW + timedelta(seconds=waits)


def test_an_outage_that_has_a_name_keeps_it() -> None:
    worn_out = settled(Outcome.TRANSIENT, recoveries=MAX_RECOVERIES, reason=Reason.SANDBOX)
    assert worn_out.reason is Reason.SANDBOX
    assert (
        settled(Outcome.ORPHANED, recoveries=MAX_RECOVERIES, reason=Reason.SANDBOX).reason
        is Reason.CRASH_LOOP
    )


def test_no_wait_is_longer_than_a_quarter_of_an_hour() -> None:
    longest = max(
        (result.not_before - NOW)
        for outcome in (Outcome.ORPHANED, Outcome.TRANSIENT)
        for recoveries in range(MAX_RECOVERIES)
        if (result := settled(outcome, recoveries=recoveries)).not_before
    )
    assert longest <= timedelta(minutes=15)


# -- branches ---------------------------------------------------------------------------------------


@given(number=st.integers(1, 10**12), round_=st.integers(1, 1000))
def test_branches_are_valid_refs_and_one_to_one(number: int, round_: int) -> None:
    name = branch_name(number, round_)
    assert re.fullmatch(r"fixwright/issue-[0-9]+(-[0-9]+)?", name)
    assert len(name) < 60
    assert name == branch_name(number, round_)
    assert branch_name(number, round_ + 1) != name
    assert branch_name(number + 1, round_) != name


def test_branches_as_people_see_them() -> None:
    assert branch_name(42) == "fixwright/issue-42"
    assert branch_name(42, 2) == "fixwright/issue-42-2"
