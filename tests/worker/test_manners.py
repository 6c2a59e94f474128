"""Issues left to others, pull requests that wait for room, drafts let go of, and what became of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from domain.manners import PullPace
from domain.model import Actor, Pull, Reason
from domain.noted import ReviewGiven
from domain.ports.contracts import OutcomeKind
from domain.states import State
from providers.local.forge import LocalForge
from tests.worker.town import WRITE, Town, plays
from worker.expiry import DraftExpiry
from worker.loop import Loop


def turn(town: Town, pace: PullPace | None = None) -> Loop:
    loop = town.loop(plays(WRITE))
    if pace is not None:
        loop.shop = replace(loop.shop, pull_pace=pace)
    loop.turn()
    return loop


def test_an_issue_of_somebody_elses_is_left_alone_with_one_line(notes: Town) -> None:
    issue = notes.issue("docs")
    notes.world.assign(issue, notes.maintainer, notes.stranger)
    for _ in range(2):
        turn(notes)
        assert notes.stands == (State.CANCELLED, Reason.TAKEN)
        notes.world.unlabel(issue, notes.maintainer, "docs")
        notes.world.label(issue, notes.maintainer, "docs")
        notes.deliver()
    (status,) = notes.said(issue)
    assert "I leave this issue alone." in status.body and "assigned to `stranger`" in status.body
    assert not notes.cast.briefs


@pytest.mark.long
def test_a_maintainers_run_goes_ahead_all_the_same(notes: Town) -> None:
    issue = notes.issue("docs")
    notes.world.assign(issue, notes.maintainer, notes.stranger)
    turn(notes)
    notes.comment(issue, "/fixwright run")
    turn(notes)
    assert notes.stands == (State.IN_REVIEW, None)


@pytest.mark.long
def test_whoever_asks_may_have_it_assigned_to_themselves_or_us(notes: Town) -> None:
    issue = notes.issue("docs")
    notes.world.assign(issue, notes.maintainer, notes.maintainer)
    turn(notes)
    assert notes.stands == (State.IN_REVIEW, None)


def open_pull(town: Town, body: str) -> Pull:
    town.world.git.push(town.repository.id, "topic", {"x": b"y"}, by=town.maintainer)
    return town.world.open_pull(
        town.repository.id, town.maintainer, head="topic", base="main", title="Mine", body=body
    )


def test_an_issue_that_an_open_pull_request_closes_is_left_alone(notes: Town) -> None:
    issue = notes.issue("docs")
    pull = open_pull(notes, f"Fixes #{issue.number}")
    turn(notes)
    assert notes.stands == (State.CANCELLED, Reason.TAKEN)
    assert f"The open pull request #{pull.number} says that it closes it." in notes.text(issue).replace(
        "\u2060", ""
    )


@pytest.mark.long
def test_a_forge_that_lists_no_pull_requests_is_not_asked(notes: Town) -> None:
    class Terse(LocalForge):
        def open_pulls(self, repository_id: str) -> Iterator[Pull]:
            raise AssertionError("it says that it cannot")

    issue = notes.issue("docs")
    open_pull(notes, f"Fixes #{issue.number}")
    forge = Terse(notes.root / "forge")
    forge.capabilities = frozenset()
    notes.loop(plays(WRITE), forge=forge).turn()
    assert notes.stands == (State.IN_REVIEW, None)


@pytest.mark.long
def test_a_second_issue_with_the_same_text_is_left_alone(notes: Town) -> None:
    first = notes.issue("docs", title="Twice", body="The same.")
    second = notes.issue("docs", title="Twice", body="The same.")
    turn(notes)
    turn(notes)
    states = {task.issue: (task.state, task.reason) for task in notes.queue.tasks()}
    assert states == {first: (State.IN_REVIEW, None), second: (State.CANCELLED, Reason.TAKEN)}
    assert f"the very same text as #{first.number}" in notes.text(second).replace("\u2060", "")


@pytest.mark.long
def test_what_was_begun_goes_on_whoever_gets_the_issue_then(notes: Town) -> None:
    issue = notes.issue("docs")
    turn(notes)
    notes.world.assign(issue, notes.maintainer, notes.stranger)
    notes.comment(issue, "/fixwright retry")
    turn(notes)
    assert notes.task.reason is not Reason.TAKEN


# -- room --------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_repository_gets_no_more_open_drafts_than_it_may_have(notes: Town) -> None:
    first, second = (notes.issue("docs", title=title) for title in ("one", "two"))
    pace = PullPace(most_open=1)
    turn(notes, pace)
    turn(notes, pace)
    (pull,) = notes.world.pulls(notes.repository.id)
    waiting = notes.queue.task_of_issue(second)
    assert waiting is not None and waiting.state is State.QUEUED and waiting.not_before is not None
    assert "1 pull request of mine is open in this repository" in notes.text(second)
    assert waiting.attempts == 0 and not notes.queue.attempts(waiting.id)

    notes.world.close_pull(notes.repository.id, pull.number, notes.maintainer)
    notes.deliver()
    turn(notes, pace)
    assert len(notes.world.pulls(notes.repository.id)) == 2, "at once, where a delivery tells of it"
    assert notes.queue.task_of_issue(first) is not None


@pytest.mark.long
def test_a_repository_gets_no_more_new_drafts_in_an_hour_than_it_may(notes: Town) -> None:
    for title in ("one", "two"):
        notes.issue("docs", title=title)
    pace = PullPace(most_new_per_hour=1)
    for _ in range(3):
        turn(notes, pace)
    assert len(notes.world.pulls(notes.repository.id)) == 1
    notes.clock.forward(minutes=61)
    turn(notes, pace)
    assert len(notes.world.pulls(notes.repository.id)) == 2


@pytest.mark.long
def test_work_on_a_draft_that_is_up_needs_no_new_room(notes: Town) -> None:
    issue = notes.issue("docs")
    pace = PullPace(most_open=1, most_new_per_hour=1)
    turn(notes, pace)
    notes.comment(issue, "/fixwright retry")
    turn(notes, pace)
    assert len(notes.queue.attempts(notes.task.id)) == 2


# -- what became of drafts ---------------------------------------------------------------------------


def test_merges_and_closes_are_recorded_once(notes: Town) -> None:
    for title in ("one", "two"):
        notes.issue("docs", title=title)
        turn(notes)
    newer, older = notes.world.pulls(notes.repository.id)
    notes.world.close_pull(notes.repository.id, older.number, notes.stranger)
    notes.world.merge_pull(notes.repository.id, newer.number, notes.maintainer)
    notes.deliver()
    for hook in notes.world.deliveries():
        notes.world.redeliver(hook.guid)
    notes.deliver()
    told = [(each.pull_number, each.kind, each.by.login) for each in notes.contracts.outcomes()]
    assert told == [
        (older.number, OutcomeKind.CLOSED, "stranger"),
        (newer.number, OutcomeKind.MERGED, "mika"),
    ]


@pytest.mark.long
@pytest.mark.parametrize(
    ("state", "kinds"),
    [
        ("changes_requested", [OutcomeKind.CHANGES_ASKED]),
        ("approved", [OutcomeKind.APPROVED]),
        ("commented", []),
        ("dismissed", []),
    ],
)
def test_reviews_of_our_drafts_are_recorded_by_their_ids(
    notes: Town, state: str, kinds: list[OutcomeKind]
) -> None:
    notes.issue("docs")
    turn(notes)
    (pull,) = notes.world.pulls(notes.repository.id)
    review = ReviewGiven(
        forge="local",
        action="submitted",
        actor=Actor(id="9", login="ada"),
        repository_id=notes.repository.id,
        number=pull.number,
        review_id="77",
        state=state,
    )
    for key, event in (("a", review), ("b", review), ("c", replace(review, number=pull.number + 50))):
        notes.tell(event, key)
    assert [each.kind for each in notes.contracts.outcomes()] == kinds


def expiry(town: Town, loop: Loop, days: int) -> None:
    chore = DraftExpiry(
        queue=town.queue,
        contracts=town.contracts,
        forges=loop.shop.forges,
        clock=town.clock,
        patience=timedelta(days=days),
        tell=loop.shop.desk.has_moved,
    )
    for _ in chore.steps():
        pass
    loop.turn()


@pytest.mark.long
def test_a_draft_that_nobody_looks_at_is_let_go_of_once_and_stays_open(notes: Town) -> None:
    issue = notes.issue("docs")
    loop = turn(notes)
    notes.clock.forward(days=29)
    expiry(notes, loop, 30)
    assert notes.stands == (State.IN_REVIEW, None)
    notes.clock.forward(days=2)
    expiry(notes, loop, 0)
    assert notes.stands == (State.IN_REVIEW, None)
    expiry(notes, loop, 30)
    assert notes.stands == (State.CANCELLED, Reason.EXPIRED)
    (pull,) = notes.world.pulls(notes.repository.id)
    assert pull.is_open
    assert "Nobody has looked at the draft for a long time" in notes.text(issue)
    assert [each.kind for each in notes.contracts.outcomes()] == [OutcomeKind.EXPIRED]
    notes.world.merge_pull(notes.repository.id, pull.number, notes.maintainer)
    notes.deliver()
    loop.turn()
    assert notes.task.state is State.DONE


@pytest.mark.long
def test_a_draft_that_a_person_made_ready_is_not_ignored(notes: Town) -> None:
    notes.issue("docs")
    loop = turn(notes)
    (pull,) = notes.world.pulls(notes.repository.id)
    notes.world.mark_ready(notes.repository.id, pull.number, notes.maintainer)
    notes.clock.forward(days=99)
    expiry(notes, loop, 30)
    assert notes.stands == (State.IN_REVIEW, None)


@pytest.mark.long
def test_run_goes_on_with_a_draft_that_was_let_go_of(notes: Town) -> None:
    issue = notes.issue("docs")
    loop = turn(notes)
    notes.clock.forward(days=31)
    expiry(notes, loop, 30)
    notes.comment(issue, "/fixwright run")
    loop.shop.desk.clear()
    assert notes.task.state is State.QUEUED
    assert notes.world.git.branches(notes.repository.id).keys() >= {notes.task.wip_branch}
