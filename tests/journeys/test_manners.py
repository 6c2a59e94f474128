"""Good manners, from end to end: issues left to others, room among the pull requests, who speaks."""

from __future__ import annotations

from domain.model import Reason
from domain.states import State
from tests.journeys.cast import writing
from tests.journeys.marks import WHOLE_RUNS
from tests.journeys.square import Square

pytestmark = WHOLE_RUNS

LINE = "The first in the list pay the odd cents."


def test_issues_of_somebody_elses_are_left_alone_with_a_line(square: Square) -> None:
    repository, world = square.quiet_house(), square.world
    assigned, locked, linked, twin, first = [square.talk(repository) for _ in range(5)]
    first.plays(writing(square.case, LINE))
    world.assign(assigned.issue, square.maintainer, square.reviewer)
    world.lock_issue(locked.issue, square.maintainer)
    world.git.push(repository.id, "topic", {"x": b"y"}, by=square.reviewer)
    fixes = f"Fixes #{linked.issue.number}"
    world.open_pull(repository.id, square.reviewer, head="topic", base="main", title="Mine", body=fixes)
    world.edit_issue(twin.issue, square.reporter, body=world.issues(repository.id)[4].body)
    working = square.cast.hold(first.build, 0)
    for talk in (first, assigned, locked, linked, twin):
        talk.label("docs")
    square.wait(working.asked.is_set, lambda: "the model's first turn")
    working.go.set()
    first.rests(State.IN_REVIEW)
    for talk, words in (
        (assigned, "It is assigned to `noor`."),
        (linked, "says that it closes it."),
        (twin, f"It has the very same text as #{first.issue.number}, which I work on already."),
    ):
        talk.rests(State.CANCELLED, Reason.TAKEN)
        assert words in talk.shows("I leave this issue alone.").replace("\u2060", "")
        assert len(talk.ours()) == 1
    locked.rests(State.CANCELLED)
    assert all(talk.heard == [] for talk in (assigned, locked, linked)), "no model is asked"

    assigned.plays(writing(square.case, "Nobody loses a cent."))
    assigned.say("/fixwright run")
    assigned.rests(State.IN_REVIEW)


def test_a_third_draft_waits_until_there_is_room_and_every_draft_says_what_wrote_it(square: Square) -> None:
    repository = square.quiet_house()
    talks = [
        square.talk(repository, writing(square.case, f"{LINE} {number}"), body=f"Say who pays. {number}")
        for number in range(3)
    ]
    for talk in talks:
        talk.label("docs")
    for talk in talks[:2]:
        talk.rests(State.IN_REVIEW)
    talks[2].shows("2 pull requests of mine are open in this repository")
    assert talks[2].task.state is State.QUEUED and talks[2].heard == []
    drafts = talks[0].pulls()
    assert len(drafts) == 2 and all("a machine" in pull.body or "model" in pull.body for pull in drafts)
    assert "a machine, works and writes here" in talks[0].status()
    (first,) = [pull for pull in drafts if f"#{talks[0].issue.number})" in pull.title]
    square.world.merge_pull(repository.id, first.number, square.maintainer)
    talks[0].rests(State.DONE)
    talks[2].rests(State.IN_REVIEW)
