"""How work ends, from end to end: what was tried, why it stopped, what a person can do."""

from __future__ import annotations

from app.demo.scripted_model import Script, bash, submit
from domain.model import Reason
from domain.states import State
from tests.journeys.cast import reading, reporting
from tests.journeys.marks import WHOLE_RUNS
from tests.journeys.square import Square

pytestmark = WHOLE_RUNS

SHOW = "python3 -c 'from fairshare import split_evenly; print(split_evenly(10000, 4))'"


def test_nothing_to_change_is_an_answer_with_what_was_run(square: Square) -> None:
    claim = {
        "root_cause": "The shares of four people add up.",
        "changes": "Nothing had to be changed.",
        "test_commands": [SHOW],
    }
    script = Script(restatement=(reading(square.case),), turns=(bash(SHOW), submit(**claim)))
    talk = square.talk(square.quiet_house(), script)
    talk.label()
    said = talk.says("[2500, 2500, 2500, 2500]")
    assert "The shares of four people add up." in said and "exit" in said
    assert "/fixwright resume" in said
    task = talk.rests(State.BLOCKED)
    assert task.reason in {Reason.NO_CHANGE, Reason.NOT_REPRODUCIBLE}
    assert talk.branches() == ["main"] and talk.pulls() == []


def test_work_that_reaches_a_limit_is_kept_on_its_branch_and_goes_on(square: Square) -> None:
    case = square.case
    repository = square.quiet_house(config="max_iterations: 2\n")
    write = bash("printf '\\nThe first pay the odd cents.\\n' >> README.md")
    talk = square.talk(repository, Script(restatement=(reading(case),), turns=(write,)))
    talk.label("docs")
    said = talk.says("Unfinished work is on the branch `fixwright/issue-1`.")
    assert "max_iterations" in said and "/fixwright resume" in said
    talk.rests(State.BLOCKED, Reason.TASK_LIMIT)
    assert talk.branches() == ["fixwright/issue-1", "main"] and talk.pulls() == []
    talk.plays(Script(turns=(reporting(case),)))
    talk.say("/fixwright resume\nHand it in.")
    talk.rests(State.IN_REVIEW, attempts=2)
    assert "+The first pay the odd cents." in square.world.pull_diff(repository.id, talk.pull.number)
    assert "A maintainer wrote: Hand it in." in talk.heard[-1]


def test_the_issue_says_that_a_merge_ended_it(square: Square) -> None:
    talk = square.talk(
        square.quiet_house(),
        Script(
            restatement=(reading(square.case),),
            turns=(bash("printf '\\nWhole cents.\\n' >> README.md"), reporting(square.case)),
        ),
    )
    talk.label("docs")
    talk.rests(State.IN_REVIEW)
    talk.shows(f"#{talk.pull.number}")
    square.world.merge_pull(talk.repository.id, talk.pull.number, square.maintainer)
    talk.rests(State.DONE)
    talk.shows("**Merged.**")
