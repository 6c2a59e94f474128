"""The gates, from end to end: a plan before any work, and a finished change before anything is pushed."""

from __future__ import annotations

from app.demo.scripted_model import Script
from domain.model import Reason
from domain.states import State
from tests.journeys.cast import reading, writing
from tests.journeys.marks import WHOLE_RUNS
from tests.journeys.square import Square

pytestmark = WHOLE_RUNS

WHO_PAYS = "The first in the list pay the odd cents."
WAITS = Reason.AWAITING_APPROVAL


def test_a_plan_with_a_maintainers_thumb_up_becomes_a_draft(square: Square) -> None:
    talk = square.talk(square.quiet_house(config="approval: plan\n"), writing(square.case, WHO_PAYS))
    talk.label("docs")
    plan = talk.says("**The plan, waiting for a maintainer's word.**")
    assert "fairshare/split.py, split_evenly" in plan and "95%" in plan and "at most $" in plan
    talk.rests(State.BLOCKED, WAITS)
    assert talk.branches() == ["main"] and len(talk.heard) == 1, "read once, and nothing else done"

    talk.say("/fixwright approve", by=square.stranger)
    talk.says("Commands are for people with write access")
    assert talk.task.state is State.BLOCKED

    square.world.react(talk.comment_with("**The plan, waiting").id, square.stranger, "+1")
    square.world.react(talk.comment_with("**The plan, waiting").id, square.maintainer, "+1")
    talk.says("** I begin to work by it.")
    talk.rests(State.IN_REVIEW)
    assert talk.pull.is_draft and talk.attempts == 1


def test_the_label_asks_for_a_plan_and_a_reply_changes_it(square: Square) -> None:
    talk = square.talk(square.quiet_house())
    talk.label("plan-first")
    assert not talk.exists, "it asks for no work"
    talk.label("docs")
    first = talk.says("**The plan, waiting for a maintainer's word.**")
    talk.rests(State.BLOCKED, WAITS)
    other = reading(square.case, suspected_area="fairshare/money.py, parse_cents")
    talk.plays(Script(restatement=(other,)))
    talk.say("I would look into the reading of amounts instead.")
    talk.say("/fixwright plan")
    second = talk.says("Hypothesis, where the fault is: fairshare/money.py, parse_cents")
    assert "split.py, split_evenly" in first and first != second
    assert "I would look into the reading of amounts" in talk.heard[-1], "the reply is read"
    talk.rests(State.BLOCKED, WAITS)
    talk.say("/fixwright cancel")
    talk.rests(State.CANCELLED)
    assert talk.branches() == ["main"] and talk.pulls() == []


def test_what_would_be_pushed_is_shown_whole_and_then_pushed_as_it_is(square: Square) -> None:
    talk = square.talk(square.repository(config="approval: publish\n"))
    talk.label()
    shown = talk.says("**Ready, and waiting for a maintainer's word.**")
    task = talk.rests(State.BLOCKED, WAITS)
    assert talk.branches() == ["main"] and talk.pulls() == [], "nothing is pushed before"
    for part in (
        "- Branch: `fixwright/issue-1`, for `main`",
        "- Title: ",
        "+    share, odd_cents = divmod(total_cents, people)",
        "+def test_the_shares_add_up_to_the_bill(people):",
        "The text of the pull request",
    ):
        assert part in shown
    tree = shown.partition("- Tree: `")[2].partition("`")[0]
    asked = len(talk.heard)
    talk.say("/fixwright approve")
    talk.rests(State.IN_REVIEW)
    pull = talk.pull
    assert pull.is_draft and f"`{pull.title}`" in shown.replace("\u2060", "")
    assert square.world.git.tree(talk.repository.id, "fixwright/issue-1") == tree
    assert pull.head_sha in shown, "the very commit that was shown"
    assert len(talk.heard) == asked and talk.attempts == 1, "nothing is made anew"
    assert talk.task.generation == task.generation + 1


def test_a_rejected_change_is_never_pushed(square: Square) -> None:
    repository = square.quiet_house(config="approval: both\n")
    talk = square.talk(repository, writing(square.case, WHO_PAYS))
    talk.label("docs")
    talk.says("**The plan, waiting for a maintainer's word.**")
    talk.say("/fixwright approve")
    talk.says("**Ready, and waiting for a maintainer's word.**")
    talk.rests(State.BLOCKED, WAITS)
    talk.say("/fixwright cancel")
    talk.rests(State.CANCELLED)
    talk.say("/fixwright approve")
    talk.says("**Nothing waits for an approval here now.**")
    assert talk.branches() == ["main"] and talk.pulls() == []


def test_another_go_after_a_word_is_shown_again_and_needs_its_own(square: Square) -> None:
    repository = square.quiet_house(config="approval: publish\n")
    talk = square.talk(repository, writing(square.case, WHO_PAYS))
    talk.label("docs")
    talk.says(f"+{WHO_PAYS}")
    talk.plays(writing(square.case, "Nobody loses a cent."))
    talk.say("/fixwright retry\nSay rather that nobody loses.")
    talk.says("+Nobody loses a cent.")
    assert "Say rather that nobody loses." in talk.heard[-1]
    talk.rests(State.BLOCKED, WAITS, attempts=2)
    assert talk.branches() == ["main"]
    talk.say("/fixwright approve")
    talk.rests(State.IN_REVIEW)
    assert "+Nobody loses a cent." in square.world.pull_diff(repository.id, talk.pull.number)
