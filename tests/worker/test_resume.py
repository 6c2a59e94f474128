"""Going on from a branch when the base, the branch or both have moved: what is kept, merged, asked."""

from __future__ import annotations

import pytest

from domain.model import IssueRef, Outcome, Reason
from domain.states import State
from harness.agent.scripted import ScriptedAgent
from tests.worker.conftest import BuildTown
from tests.worker.town import NOTES, WRITE, Stage, Town, caps, plays

MORE = "echo more > MORE.md"


def stopped_at_a_limit(town: Town) -> tuple[IssueRef, str]:
    """Leave unfinished work on a branch; return the issue and the branch."""
    issue = town.issue("docs")
    town.loop(plays(WRITE, "true"), caps=caps(max_iterations=1)).turn()
    assert town.stands == (State.BLOCKED, Reason.TASK_LIMIT)
    (branch,) = town.branches
    return issue, branch


def push(town: Town, branch: str, path: str, text: str) -> str:
    return town.world.git.push(town.repository.id, branch, {path: text.encode()}, by=town.maintainer)


def read(town: Town, branch: str, path: str) -> str:
    return town.world.git.read_file(town.repository.id, branch, path).decode()


def history(town: Town, branch: str) -> list[str]:
    return [commit.sha for commit in town.world.git.commits(town.repository.id, branch)]


@pytest.mark.long
def test_people_and_the_next_attempt_are_told_how_far_it_came(notes: Town) -> None:
    issue, branch = stopped_at_a_limit(notes)

    said = notes.said(issue)[-1].body
    assert f"`{branch}`" in said and "README.md (+1 -1)" in said and "Last actions" in said
    notes.comment(issue, "/fixwright resume")
    notes.loop(plays(MORE)).turn()
    told = notes.cast.briefs[0].hand_off
    assert "already contains that work. Files changed: README.md (+1 -1)" in told
    assert "Its last actions were:\n- printf '# Lamp" in told


SUMMING = {**NOTES, ".fixwright.yml": "resume:\n  summary_on_block: llm\n"}


@pytest.mark.long
def test_the_model_sums_up_where_the_repository_wants_it_within_the_same_caps(build: BuildTown) -> None:
    town = build(SUMMING)
    issue = town.issue("docs")
    agent = ScriptedAgent([WRITE, "true", "true"], None, summary="The rest is @mika's to do.")

    town.loop(agent, caps=caps(max_iterations=2)).turn()

    assert town.stands == (State.BLOCKED, Reason.TASK_LIMIT)
    assert town.ledger.calls_on_attempt(town.attempts[0].id) == 2
    said = town.said(issue)[-1].body
    assert "The rest is" in said and "@mika" not in said and "README.md (+1 -1)" in said
    town.comment(issue, "/fixwright resume")
    town.loop(plays(MORE)).turn()
    assert "nobody checked this):\nThe rest is @mika's to do." in town.cast.briefs[0].hand_off


@pytest.mark.long
def test_without_room_for_a_summary_the_mechanical_note_stands(build: BuildTown) -> None:
    town = build(SUMMING)
    issue = town.issue("docs")
    agent = ScriptedAgent([WRITE, "true"], None, summary="Never said.")

    town.loop(agent, caps=caps(max_iterations=1)).turn()

    assert town.stands == (State.BLOCKED, Reason.TASK_LIMIT)
    assert town.ledger.calls_on_attempt(town.attempts[0].id) == 1
    assert "README.md (+1 -1)" in town.said(issue)[-1].body and "Never said" not in town.text(issue)


def test_a_moved_base_is_merged_into_the_branch_and_the_whole_is_verified(notes: Town) -> None:
    issue, branch = stopped_at_a_limit(notes)
    before = notes.branches[branch]
    theirs = push(notes, branch, "by-hand.md", "1\n")
    upstream = push(notes, "main", "NEW.md", "upstream\n")
    notes.comment(issue, "/fixwright resume")

    notes.loop(plays(MORE)).turn()

    assert notes.stands == (State.IN_REVIEW, None)
    assert list(notes.branches) == [branch]
    assert {before, theirs, upstream} <= set(history(notes, branch))
    assert [read(notes, branch, path) for path in ("by-hand.md", "NEW.md", "MORE.md")] == [
        "1\n",
        "upstream\n",
        "more\n",
    ]
    assert "no tests yet" in read(notes, branch, "README.md")
    verdict = notes.queue.verdict(notes.attempts[1])
    assert verdict and verdict.base_sha == upstream
    assert notes.world.git.tree(notes.repository.id, branch) == verdict.tree


@pytest.mark.long
def test_our_own_work_that_conflicts_is_begun_anew_with_its_difference_at_hand(notes: Town) -> None:
    issue, branch = stopped_at_a_limit(notes)
    before = notes.branches[branch]
    push(notes, "main", "README.md", "# Lamp\n\nUpstream says so.\n")
    notes.comment(issue, "/fixwright resume")

    notes.loop(plays(MORE)).turn()

    assert notes.stands == (State.IN_REVIEW, None)
    assert list(notes.branches) == [branch] and before in history(notes, branch)
    assert read(notes, branch, "README.md") == "# Lamp\n\nUpstream says so.\n"
    told = notes.cast.briefs[0].hand_off
    assert "clean again" in told and "+It has no tests yet." in told
    assert "conflicts with my unfinished work" in notes.text(issue) and "`README.md`" in notes.text(issue)
    assert len(notes.world.pulls(notes.repository.id)) == 1


@pytest.mark.long
def test_people_s_work_that_conflicts_is_theirs_to_merge(notes: Town) -> None:
    issue, branch = stopped_at_a_limit(notes)
    theirs = push(notes, branch, "README.md", "# Lamp\n\nBy hand.\n")
    push(notes, "main", "README.md", "# Lamp\n\nUpstream says so.\n")
    notes.comment(issue, "/fixwright resume")

    notes.loop(plays(MORE)).turn()

    assert notes.stands == (State.BLOCKED, Reason.CONFLICT)
    assert notes.branches == {branch: theirs} and notes.cast.briefs == []
    assert "README.md" in notes.said(issue)[-1].body and branch in notes.said(issue)[-1].body
    assert not notes.world.pulls(notes.repository.id)


@pytest.mark.long
def test_a_branch_that_people_deleted_is_work_they_did_not_want(notes: Town) -> None:
    issue, branch = stopped_at_a_limit(notes)
    notes.world.git.delete_branch(notes.repository.id, branch, by=notes.maintainer)
    notes.comment(issue, "/fixwright resume")

    notes.loop(plays(MORE)).turn()

    assert notes.stands == (State.IN_REVIEW, None)
    assert list(notes.branches) == [branch]
    assert read(notes, branch, "README.md") == "# Lamp\n\nIt has no tests.\n"
    assert "clean again" in notes.cast.briefs[0].hand_off


@pytest.mark.long
def test_a_branch_that_people_wrote_anew_is_gone_on_from_as_it_is(notes: Town) -> None:
    issue, branch = stopped_at_a_limit(notes)
    before = notes.branches[branch]
    notes.world.git.delete_branch(notes.repository.id, branch, by=notes.maintainer)
    theirs = push(notes, branch, "README.md", "# Lamp\n\nRewritten.\n")
    notes.comment(issue, "/fixwright resume")

    notes.loop(plays(MORE)).turn()

    assert notes.stands == (State.IN_REVIEW, None)
    assert read(notes, branch, "README.md") == "# Lamp\n\nRewritten.\n"
    assert theirs in history(notes, branch) and before not in history(notes, branch)


@pytest.mark.long
def test_a_base_branch_that_was_renamed_is_followed(notes: Town) -> None:
    issue, branch = stopped_at_a_limit(notes)
    push(notes, "trunk", "NEW.md", "upstream\n")
    notes.world.set_default_branch(notes.repository.id, "trunk")
    notes.world.git.delete_branch(notes.repository.id, "main", by=notes.maintainer)
    notes.comment(issue, "/fixwright resume")

    notes.loop(plays(MORE)).turn()

    assert notes.stands == (State.IN_REVIEW, None)
    (pull,) = notes.world.pulls(notes.repository.id)
    assert (pull.base_branch, pull.head_branch) == ("trunk", branch)
    assert read(notes, branch, "NEW.md") == "upstream\n"


def interrupted_on_a_merge(town: Town) -> tuple[IssueRef, str]:
    """Stop an attempt that began with a merge of the base, after its first step."""
    issue, branch = stopped_at_a_limit(town)
    push(town, "main", "NEW.md", "upstream\n")
    town.comment(issue, "/fixwright resume")
    stage = Stage()
    loop = town.loop(plays(MORE, "true stop"), sandbox=stage)
    stage.cues["true stop"] = loop.stop
    loop.turn()
    assert town.stands == (State.QUEUED, None)
    return issue, branch


@pytest.mark.long
def test_an_attempt_that_goes_on_keeps_the_merge_it_began_with(notes: Town) -> None:
    _, branch = interrupted_on_a_merge(notes)
    began = notes.attempts[1].base_sha
    push(notes, "main", "LATER.md", "not ours to take now\n")

    notes.loop(plays(MORE, "true stop"), life="two").turn()

    assert notes.stands == (State.IN_REVIEW, None)
    assert notes.attempts[1].base_sha == began and began in history(notes, branch)
    assert read(notes, branch, "NEW.md") == "upstream\n" and read(notes, branch, "MORE.md") == "more\n"
    assert "LATER.md" not in notes.world.git.files(notes.repository.id, branch)


@pytest.mark.long
def test_who_pushes_meanwhile_to_a_branch_that_was_to_be_merged_is_not_overwritten(notes: Town) -> None:
    _, branch = interrupted_on_a_merge(notes)
    theirs = push(notes, branch, "by-hand.md", "1\n")

    notes.loop(plays(MORE, "true stop"), life="two").turn()

    assert notes.stands == (State.BLOCKED, Reason.BRANCH_MOVED)
    assert notes.branches == {branch: theirs}


@pytest.mark.long
def test_a_commit_that_people_took_back_meanwhile_does_not_return(notes: Town) -> None:
    """The head is the parent of where the attempt began: not a merge of ours, so no lease on it."""
    issue, branch = stopped_at_a_limit(notes)
    kept = notes.branches[branch]
    push(notes, branch, "by-hand.md", "1\n")
    notes.comment(issue, "/fixwright resume")
    stage = Stage()
    loop = notes.loop(plays(MORE, "true stop"), sandbox=stage)
    stage.cues["true stop"] = loop.stop
    loop.turn()
    repository = next((notes.root / "forge").rglob("*.git"))
    (repository / "refs" / "heads" / branch).write_text(kept + "\n")

    notes.loop(plays(MORE, "true stop"), life="two").turn()

    assert notes.stands == (State.BLOCKED, Reason.BRANCH_MOVED)
    assert notes.branches == {branch: kept}
    assert notes.outcomes[-1] is Outcome.DECLINED


@pytest.mark.long
def test_a_commit_that_changes_nothing_does_not_stand_in_the_way_for_ever(notes: Town) -> None:
    """Its tree is the one that was to be published, so that the old intent answers for the new commit."""
    issue, branch = stopped_at_a_limit(notes)
    notes.comment(issue, "/fixwright resume")

    def nudge() -> None:
        push(notes, branch, "x", "1\n")
        notes.world.git.push(notes.repository.id, branch, {"x": None}, by=notes.maintainer)

    notes.loop(plays(MORE, "true push"), sandbox=Stage({"true push": nudge})).turn()
    assert notes.stands == (State.BLOCKED, Reason.BRANCH_MOVED)
    notes.comment(issue, "/fixwright resume")

    notes.loop(plays(MORE)).turn()

    assert notes.stands == (State.IN_REVIEW, None)
    assert read(notes, branch, "MORE.md") == "more\n"


@pytest.mark.long
def test_a_second_merge_after_a_first(notes: Town) -> None:
    issue, branch = interrupted_on_a_merge(notes)
    notes.loop(plays(MORE, "true stop"), life="two").turn()
    push(notes, "main", "LATER.md", "now it is\n")
    notes.comment(issue, "/fixwright retry")

    notes.loop(plays("echo again > AGAIN.md"), life="three").turn()

    assert notes.stands == (State.IN_REVIEW, None)
    files = notes.world.git.files(notes.repository.id, branch)
    assert {"NEW.md", "LATER.md", "MORE.md", "AGAIN.md"} <= set(files)
    assert len(notes.world.pulls(notes.repository.id)) == 1
