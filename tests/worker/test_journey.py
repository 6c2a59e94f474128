"""One task from the label to where a person takes over, in one process, turn by turn."""

from __future__ import annotations

import pytest

from domain.budget import ZERO
from domain.model import Outcome, Reason
from domain.states import State
from tests.worker.conftest import BuildTown
from tests.worker.town import (
    CHEAT,
    CLEAR,
    FIX,
    PYTEST_CALC,
    PYTEST_SHOW,
    SHOW,
    UNCLEAR,
    WRONG_FIX,
    Town,
    caps,
    plays,
)


def test_a_verified_fix_becomes_one_draft_with_the_verified_tree(build: BuildTown) -> None:
    calc = build(PYTEST_CALC)
    issue = calc.issue()
    loop = calc.loop(plays(FIX, PYTEST_SHOW, said=CLEAR))

    assert loop.turn()

    assert calc.stands == (State.IN_REVIEW, None)
    (pull,) = calc.world.pulls(calc.repository.id)
    assert (pull.is_draft, pull.is_open, pull.base_branch) == (True, True, "main")
    verdict = calc.queue.verdict(calc.attempts[0])
    assert verdict is not None and verdict.verified
    assert calc.world.git.tree(calc.repository.id, pull.head_branch) == verdict.tree
    assert calc.outcomes == [Outcome.VERIFIED]
    assert calc.task.attempts == 1
    status, ready = calc.said(issue)
    assert f"#{pull.number}" in status.body and "**In review" in status.body
    assert "1 test red before and green after" in ready.body
    assert calc.ledger.spent_on_task(calc.task.id) > ZERO
    assert not list((calc.root / "ground" / "work").iterdir())
    assert not loop.turn()


def test_a_cheat_is_refused_and_said_so(calc: Town) -> None:
    issue = calc.issue()

    calc.loop(plays(CHEAT), caps=caps(max_attempts=1)).turn()

    assert calc.stands == (State.BLOCKED, Reason.GUARD)
    assert calc.outcomes == [Outcome.REFUSED]
    assert not calc.world.pulls(calc.repository.id) and not calc.branches
    assert "RH" in calc.text(issue) and "No pull request was opened" in calc.text(issue)


@pytest.mark.long
def test_a_cheat_that_is_tried_again_is_still_called_one(calc: Town) -> None:
    issue = calc.issue()
    loop = calc.loop(plays(CHEAT))

    loop.turn()
    assert calc.stands == (State.QUEUED, None)
    loop.turn()

    assert calc.stands == (State.BLOCKED, Reason.GUARD)
    assert calc.outcomes == [Outcome.REFUSED, Outcome.REPEATED]
    assert "worktree is clean again" in calc.cast.briefs[1].hand_off
    assert "RH" in calc.said(issue)[-1].body and not calc.branches


def test_an_unclear_issue_gets_a_question_and_no_work(calc: Town) -> None:
    issue = calc.issue()
    stage_loop = calc.loop(plays(FIX, said=UNCLEAR))

    stage_loop.turn()

    assert calc.stands == (State.BLOCKED, Reason.NEEDS_INFORMATION)
    assert "Which rounding is meant?" in calc.text(issue)
    assert calc.ledger.spent_on_task(calc.task.id) == ZERO
    assert not calc.branches


@pytest.mark.long
def test_a_finished_agent_that_changed_nothing(calc: Town) -> None:
    issue = calc.issue()

    calc.loop(plays("ls")).turn()

    assert calc.stands == (State.BLOCKED, Reason.NO_CHANGE)
    assert "nothing to change" in calc.text(issue)


@pytest.mark.long
def test_unfinished_work_waits_on_its_branch_and_is_continued_with_what_people_added(calc: Town) -> None:
    issue = calc.issue()
    calc.loop(plays(FIX, "ls", "ls"), caps=caps(max_iterations=2)).turn()

    assert calc.stands == (State.BLOCKED, Reason.TASK_LIMIT)
    (branch,) = calc.branches
    assert f"`{branch}`" in calc.said(issue)[-1].body
    assert not calc.world.pulls(calc.repository.id)

    theirs = calc.world.git.push(
        calc.repository.id, branch, {"NOTE": b"by hand\n"}, by=calc.maintainer, message="A note"
    )
    calc.comment(issue, "/fixwright resume\nPlease add a test, too.")
    loop = calc.loop(plays(SHOW))
    loop.turn()

    assert calc.stands == (State.IN_REVIEW, None)
    assert list(calc.branches) == [branch]
    commits = calc.world.git.commits(calc.repository.id, branch)
    assert theirs in [commit.sha for commit in commits]
    assert calc.world.git.read_file(calc.repository.id, branch, "NOTE") == b"by hand\n"
    assert b"x * 2" in calc.world.git.read_file(calc.repository.id, branch, "calc.py")
    (brief,) = calc.cast.briefs
    assert "Attempt 1 ended task_limit" in brief.hand_off and "Please add a test" in brief.instructions[-1]
    assert len(calc.world.pulls(calc.repository.id)) == 1


@pytest.mark.long
def test_work_that_cannot_be_verified_is_tried_once_more_with_the_failing_output(calc: Town) -> None:
    issue = calc.issue()
    loop = calc.loop(plays(WRONG_FIX, SHOW), plays("echo '# more' >> calc.py"))

    loop.turn()

    assert calc.stands == (State.QUEUED, None)
    assert "Attempt 1 was not accepted" in calc.text(issue)
    assert not calc.branches
    loop.turn()

    second = calc.cast.briefs[1].hand_off
    assert "Attempt 1 ended unverified" in second and "TestTwo" in second
    assert "already contains that work" in second and "calc.py" in second
    assert calc.stands == (State.BLOCKED, Reason.ATTEMPTS_EXHAUSTED)
    assert calc.outcomes == [Outcome.UNVERIFIED, Outcome.UNVERIFIED]
    (branch,) = calc.branches
    assert b"# more" in calc.world.git.read_file(calc.repository.id, branch, "calc.py")
    assert branch in calc.said(issue)[-1].body and "could be verified" in calc.said(issue)[-1].body


@pytest.mark.long
def test_the_same_change_again_is_not_paid_a_verification(calc: Town) -> None:
    issue = calc.issue()
    loop = calc.loop(plays(WRONG_FIX), plays("ls"))

    loop.turn()
    loop.turn()

    assert calc.stands == (State.BLOCKED, Reason.REPEATED_DIFF)
    assert calc.outcomes == [Outcome.UNVERIFIED, Outcome.REPEATED]
    phases = [(number, phase.name) for number, phase in calc.queue.phases(calc.task.id)]
    assert (1, "verify") in phases and (2, "verify") not in phases
    assert list(calc.branches) and "earlier attempt" in calc.said(issue)[-1].body


@pytest.mark.long
def test_earlier_work_is_carried_onto_what_others_merged_meanwhile(calc: Town) -> None:
    calc.issue()
    loop = calc.loop(plays(WRONG_FIX), plays(FIX, SHOW))
    loop.turn()
    calc.world.git.push(calc.repository.id, "main", {"NEW": b"upstream\n"}, by=calc.maintainer)

    loop.turn()

    assert calc.stands == (State.IN_REVIEW, None)
    (branch,) = calc.branches
    assert calc.world.git.read_file(calc.repository.id, branch, "NEW") == b"upstream\n"
    assert "already contains that work. Files changed: calc.py" in calc.cast.briefs[1].hand_off


@pytest.mark.long
def test_a_change_of_mind_in_review_goes_on_in_the_same_pull_request(calc: Town) -> None:
    issue = calc.issue()
    calc.loop(plays(FIX, SHOW)).turn()
    (pull,) = calc.world.pulls(calc.repository.id)

    calc.comment(issue, "/fixwright retry\nSay so in a comment.")
    calc.loop(plays("echo '# doubles' >> calc.py")).turn()

    assert calc.stands == (State.IN_REVIEW, None)
    (after,) = calc.world.pulls(calc.repository.id)
    assert after.number == pull.number and after.head_sha != pull.head_sha
    assert b"# doubles" in calc.world.git.read_file(calc.repository.id, pull.head_branch, "calc.py")


@pytest.mark.long
def test_rejected_work_is_not_built_upon(calc: Town) -> None:
    issue = calc.issue()
    calc.loop(plays(FIX, SHOW, "touch REJECTED.md")).turn()
    (pull,) = calc.world.pulls(calc.repository.id)
    calc.world.close_pull(calc.repository.id, pull.number, calc.maintainer)
    calc.deliver()
    loop = calc.loop(plays(SHOW, FIX))
    loop.turn()
    assert calc.stands == (State.CANCELLED, Reason.WITHDRAWN)

    calc.world.unlabel(issue, calc.maintainer, "bug")
    calc.world.label(issue, calc.maintainer, "bug")
    calc.deliver()
    loop.turn()

    assert calc.stands == (State.IN_REVIEW, None)
    assert sorted(calc.branches) == ["fixwright/issue-1", "fixwright/issue-1-2"]
    files = calc.world.git.files(calc.repository.id, "fixwright/issue-1-2")
    assert "test_five.py" in files and "REJECTED.md" not in files
    assert "clean again" in calc.cast.briefs[0].hand_off
    assert [found.is_open for found in calc.world.pulls(calc.repository.id)] == [True, False]


@pytest.mark.long
def test_a_merged_pull_request_ends_the_task(calc: Town) -> None:
    issue = calc.issue()
    loop = calc.loop(plays(FIX, SHOW))
    loop.turn()
    (pull,) = calc.world.pulls(calc.repository.id)

    calc.world.merge_pull(calc.repository.id, pull.number, calc.maintainer)
    calc.deliver()
    loop.turn()

    assert calc.stands == (State.DONE, None)
    assert "**Merged.**" in calc.said(issue)[0].body


@pytest.mark.long
def test_what_the_agent_may_not_touch_is_refused_before_any_test(calc: Town) -> None:
    issue = calc.issue()
    write = "mkdir -p .github/workflows && echo 'on: push' > .github/workflows/ci.yml"

    calc.loop(plays(write, FIX), caps=caps(max_attempts=1)).turn()

    assert calc.stands == (State.BLOCKED, Reason.PROTECTED_PATH)
    assert ".github/workflows/ci.yml" in calc.said(issue)[-1].body
    assert not calc.branches
