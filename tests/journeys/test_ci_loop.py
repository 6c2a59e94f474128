"""The loop of continuous integration, from end to end: what is said of a pushed commit, and what follows."""

from __future__ import annotations

from app.demo.scripted_model import Script, bash
from domain.model import Reason
from domain.states import State
from tests.journeys.cast import reporting, writing
from tests.journeys.marks import WHOLE_RUNS
from tests.journeys.square import Square, Talk

pytestmark = WHOLE_RUNS

CONFIG = "ci_monitor:\n  enabled: true\n"
LINE = "The first in the list pay the odd cents."
ERROR = "tests/test_docs.py:3: AssertionError: the word 'odd' is not in the glossary\n"


def watched(square: Square) -> Talk:
    """An issue whose draft is up, and its commit watched."""
    talk = square.talk(square.quiet_house(config=CONFIG), writing(square.case, LINE))
    talk.label("docs")
    talk.rests(State.WATCHING)
    return talk


def report(square: Square, talk: Talk, conclusion: str, log: str = "", sha: str = "") -> None:
    where = sha or talk.pull.head_sha
    square.world.report_ci(talk.repository.id, where, "docs", conclusion, log=log)


def test_green_red_before_and_none_at_all_are_each_said_in_a_line(square: Square) -> None:
    none, green, red = watched(square), watched(square), watched(square)
    report(square, green, "")
    base = square.world.git.branches(red.repository.id)["main"]
    report(square, red, "failure", ERROR, sha=base)
    report(square, red, "failure", ERROR)
    report(square, green, "success")

    said = red.says("Continuous integration is red on", on=red.pull.number)
    assert "with no error to be read that is not there without this change, too: `docs`." in said
    red.rests(State.IN_REVIEW, attempts=1)
    said = green.says("Continuous integration is green on", on=green.pull.number)
    assert f"`{green.pull.head_sha[:10]}`: 1 job." in said
    green.rests(State.IN_REVIEW, attempts=1)
    green.shows("Continuous integration is green on")
    none.says("verified by the harness only.", on=none.pull.number)
    none.rests(State.IN_REVIEW, attempts=1)
    none.shows("No continuous integration ran on")


def test_what_a_machine_broke_is_run_again_twice_and_no_more(square: Square) -> None:
    talk = watched(square)
    sha = talk.pull.head_sha
    for _ in range(2):
        report(square, talk, "cancelled")
        square.wait(
            lambda: square.world.reruns(talk.repository.id, sha) == {"docs": 1}, lambda: "it is run again"
        )
    report(square, talk, "cancelled")
    said = talk.says("Continuous integration could not judge", on=talk.pull.number)
    assert "was broken by its machine or cancelled, and was run again twice." in said
    talk.rests(State.IN_REVIEW, attempts=1)
    assert square.world.reruns(talk.repository.id, sha) == {"docs": 0}


def test_what_the_change_broke_is_mended_with_the_log_and_never_twice_for_the_same_error(
    square: Square,
) -> None:
    talk = watched(square)
    first = talk.pull
    more = bash("printf 'odd: not even\\n' > GLOSSARY.md")
    talk.plays(Script(turns=(more, reporting(square.case))))
    report(square, talk, "failure", f"2026-01-01T00:00:00Z {ERROR}")
    talk.says("I am trying again on this branch.", on=first.number)
    talk.rests(State.WATCHING, attempts=2)
    now = talk.pull
    assert now.number == first.number and now.head_branch == first.head_branch
    assert now.head_sha != first.head_sha
    assert "is not in the glossary" in talk.heard[-1] and "continuous integration" in talk.heard[-1]
    assert talk.count("is not in the glossary", on=first.number) == 0, "logs are not shown on the forge"

    report(square, talk, "failure", f"2026-02-02T11:11:11Z {ERROR.replace(':3:', ':5:')}")
    said = talk.says("I am not trying again", on=first.number)
    assert f"`{now.head_sha[:10]}`" in said
    talk.rests(State.BLOCKED, Reason.CI_RED)
    assert talk.attempts == 2
