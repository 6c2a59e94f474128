"""What people do while the agent works, while tests run, and in the last moment before publishing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from domain.budget import ZERO
from domain.model import IssueRef, Outcome, Pull, PullProposal, Reason
from domain.states import State
from providers.local.forge import LocalForge
from tests.worker.town import FIX, SHOW, WRITE, Stage, Town, caps, plays

Act = Callable[[Town, IssueRef], object]


def take_label(town: Town, issue: IssueRef) -> None:
    town.world.unlabel(issue, town.maintainer, "docs")


def close(town: Town, issue: IssueRef) -> None:
    town.world.close_issue(issue, town.maintainer)


def cancel(town: Town, issue: IssueRef) -> None:
    town.world.comment(issue, town.maintainer, "/fixwright cancel")


def delete(town: Town, issue: IssueRef) -> None:
    town.world.delete_issue(issue, town.maintainer)


def lock(town: Town, issue: IssueRef) -> None:
    town.world.lock_issue(issue, town.maintainer)


@pytest.mark.long
@pytest.mark.parametrize("act", [take_label, close, cancel, delete])
def test_f122_work_that_is_no_longer_wanted_stops_in_the_middle_of_a_command(notes: Town, act: Act) -> None:
    issue = notes.issue("docs")

    def happens() -> None:
        act(notes, issue)
        notes.deliver()

    stage = Stage({"sleep 600": happens})
    loop = notes.loop(plays(WRITE, "sleep 600", "true never"), sandbox=stage, beat_seconds=0.01)

    loop.turn()

    assert notes.stands == (State.CANCELLED, Reason.WITHDRAWN)
    assert notes.outcomes == [Outcome.CANCELLED]
    assert "true never" not in stage.commands
    assert not notes.branches and not notes.world.pulls(notes.repository.id)
    assert notes.ledger.spent_on_task(notes.task.id) > ZERO
    assert not list((notes.root / "ground" / "work").iterdir())
    if act is not delete:
        assert "**Stopped, as asked.**" in notes.said(issue)[0].body


@pytest.mark.long
@pytest.mark.parametrize("act", [take_label, close, cancel])
def test_f122_a_word_in_the_last_moment_is_heard_before_anything_is_published(notes: Town, act: Act) -> None:
    """The delivery is there, and the supervisor's next beat would come too late."""
    issue = notes.issue("docs")

    def happens() -> None:
        act(notes, issue)
        notes.deliver()

    notes.loop(plays(WRITE, "true now"), sandbox=Stage({"true now": happens})).turn()

    assert notes.stands == (State.CANCELLED, Reason.WITHDRAWN)
    assert not notes.branches and not notes.world.pulls(notes.repository.id)


@pytest.mark.long
@pytest.mark.parametrize("act", [close, delete, lock])
def test_f122_the_issue_is_looked_at_again_before_publishing(notes: Town, act: Act) -> None:
    """No delivery of it has come: the forge is asked."""
    issue = notes.issue("docs")

    notes.loop(plays(WRITE, "true now"), sandbox=Stage({"true now": lambda: act(notes, issue)})).turn()

    assert notes.stands == (State.CANCELLED, Reason.WITHDRAWN)
    assert "Nothing was published" in notes.task.detail
    assert notes.outcomes == [Outcome.CANCELLED]
    assert not notes.branches and not notes.world.pulls(notes.repository.id)


@pytest.mark.long
def test_f122_a_cancel_during_the_push_opens_no_pull_request(notes: Town) -> None:
    issue = notes.issue("docs")

    loop = notes.loop(plays(WRITE))
    queue = loop.shop.queue

    class Late:
        """The queue; just after an intent was written, somebody cancels."""

        def __getattr__(self, name: str) -> object:
            return getattr(queue, name)

        def intend(self, *arguments: object, **named: object) -> object:
            written = queue.intend(*arguments, **named)  # type: ignore[arg-type]  # passed on
            cancel(notes, issue)
            notes.deliver()
            loop.shop.desk.clear()
            return written

    late = notes.loop(plays(WRITE), queue=Late())  # type: ignore[arg-type]  # a queue but for one method
    late.turn()

    assert notes.stands == (State.CANCELLED, Reason.WITHDRAWN)
    assert not notes.world.pulls(notes.repository.id)

    notes.world.unlabel(issue, notes.maintainer, "docs")
    notes.world.label(issue, notes.maintainer, "docs")
    notes.deliver()
    notes.loop(plays(WRITE)).turn()

    assert notes.stands == (State.IN_REVIEW, None)
    (pull,) = notes.world.pulls(notes.repository.id)
    assert list(notes.branches) == [pull.head_branch] == ["fixwright/issue-1"]


@pytest.mark.long
def test_d90_a_person_who_pushes_while_the_agent_works_is_not_overwritten(notes: Town) -> None:
    issue = notes.issue("docs")
    notes.loop(plays(WRITE, "true"), caps=caps(max_iterations=1)).turn()
    (branch,) = notes.branches
    notes.comment(issue, "/fixwright resume")

    def push() -> str:
        return notes.world.git.push(
            notes.repository.id, branch, {"by-hand.md": b"1\n"}, by=notes.maintainer, message="By hand"
        )

    more = "echo more >> README.md"
    notes.loop(plays("true push", more), sandbox=Stage({"true push": push})).turn()

    assert notes.stands == (State.BLOCKED, Reason.BRANCH_MOVED)
    assert notes.world.git.read_file(notes.repository.id, branch, "by-hand.md") == b"1\n"
    assert b"more" not in notes.world.git.read_file(notes.repository.id, branch, "README.md")
    assert not notes.world.pulls(notes.repository.id)
    assert "Somebody pushed to the branch" in notes.said(issue)[-1].body

    notes.comment(issue, "/fixwright resume")
    notes.loop(plays(more)).turn()

    assert notes.stands == (State.IN_REVIEW, None)
    files = notes.world.git.files(notes.repository.id, branch)
    assert "by-hand.md" in files and list(notes.branches) == [branch]


@pytest.mark.long
def test_d90_a_person_who_pushes_while_the_attempt_waits_for_a_restart_is_not_overwritten(
    notes: Town,
) -> None:
    issue = notes.issue("docs")
    notes.loop(plays(WRITE, "true"), caps=caps(max_iterations=1)).turn()
    (branch,) = notes.branches
    notes.comment(issue, "/fixwright resume")
    more = "echo more >> README.md"
    loop = notes.loop(plays(more, "true stop"), life="two")
    loop.shop.bench.sandbox.cues["true stop"] = loop.stop  # type: ignore[attr-defined]  # a Stage
    loop.turn()
    notes.world.git.push(notes.repository.id, branch, {"by-hand.md": b"1\n"}, by=notes.maintainer)

    notes.loop(plays(more, "true stop"), life="three").turn()

    assert notes.stands == (State.BLOCKED, Reason.BRANCH_MOVED)
    assert notes.world.git.read_file(notes.repository.id, branch, "by-hand.md") == b"1\n"


@pytest.mark.long
def test_a_merge_by_hand_while_the_agent_works_on(calc: Town) -> None:
    issue = calc.issue()
    calc.loop(plays(FIX, SHOW)).turn()
    (pull,) = calc.world.pulls(calc.repository.id)
    calc.comment(issue, "/fixwright retry\nMore, please.")

    def merge() -> None:
        calc.world.merge_pull(calc.repository.id, pull.number, calc.maintainer)
        calc.deliver()

    stage = Stage({"sleep 600": merge})
    calc.loop(plays("sleep 600", FIX), sandbox=stage, beat_seconds=0.01).turn()

    assert calc.stands == (State.DONE, None)
    assert len(calc.world.pulls(calc.repository.id)) == 1
    assert "**Merged.**" in calc.said(issue)[0].body


@pytest.mark.long
def test_a_draft_that_opens_while_the_work_is_cancelled_says_that_nobody_works_on_it(notes: Town) -> None:
    issue = notes.issue("docs")

    class CancelledMeanwhile:
        def __init__(self, forge: LocalForge) -> None:
            self.forge = forge

        def __getattr__(self, name: str) -> object:
            return getattr(self.forge, name)

        def ensure_pull(self, repository_id: str, proposal: PullProposal) -> Pull:
            opened = self.forge.ensure_pull(repository_id, proposal)
            notes.comment(issue, "/fixwright cancel")
            loop.shop.desk.clear()
            return opened

    forge = CancelledMeanwhile(LocalForge(notes.root / "forge"))
    loop = notes.loop(plays(WRITE), forge=forge)  # type: ignore[arg-type]
    loop.turn()

    assert notes.stands == (State.CANCELLED, Reason.WITHDRAWN)
    (pull,) = notes.world.pulls(notes.repository.id)
    said = notes.text(replace(issue, number=pull.number))
    assert "The work was stopped in the moment in which this draft was opened." in said
    assert "Ready" not in said and not loop.turn()
