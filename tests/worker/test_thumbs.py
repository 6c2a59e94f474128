"""Approvals that nobody wrote: a thumb up on what waits."""

from __future__ import annotations

import pytest

from domain.errors import ForgeUnavailable
from domain.model import IssueRef, Outcome, Permission, Reason
from domain.states import State
from providers.local.forge import LocalForge
from tests.worker.conftest import BuildTown
from tests.worker.town import CLEAR, NOTES, WRITE, Town, plays
from worker.thumbs import ThumbDesk

WAITING = (State.BLOCKED, Reason.AWAITING_APPROVAL)
IN_REVIEW = (State.IN_REVIEW, None)


@pytest.fixture
def planned(build: BuildTown) -> Town:
    return build(NOTES | {".fixwright.yml": "approval: plan\n"})


@pytest.fixture
def gated(build: BuildTown) -> Town:
    return build(NOTES | {".fixwright.yml": "approval: publish\n"})


def waits(town: Town) -> IssueRef:
    """Return an issue that waits for a word."""
    issue = town.issue("docs")
    town.loop(plays(WRITE, said=CLEAR)).turn()
    assert town.stands == WAITING, town.text(issue)
    return issue


def shown(town: Town, issue: IssueRef) -> str:
    """Return the id of the newest comment that shows what waits."""
    return [c.id for c in town.said(issue) if "waiting for a maintainer's word" in c.body][-1]


def looker(town: Town, forge: object = None) -> ThumbDesk:
    forges = {"local": forge or LocalForge(town.root / "forge")}
    return ThumbDesk(
        queue=town.queue,
        forges=forges,  # type: ignore[arg-type]
        inbox=town.inbox,
        serving=town.serving,
        clock=town.clock,
    )


def look(town: Town, forge: object = None) -> None:
    list(looker(town, forge).steps())


def hear(town: Town) -> None:
    town.loop(plays(WRITE, said=CLEAR)).turn()


def test_a_thumb_on_the_plan_begins_the_work(planned: Town) -> None:
    issue = waits(planned)
    planned.world.react(shown(planned, issue), planned.maintainer, "+1")
    look(planned)
    look(planned)
    hear(planned)
    assert planned.stands == IN_REVIEW, planned.text(issue)
    assert "approved by `mika` with a thumb up" in planned.text(issue)
    assert len(planned.decisions()) == 1 and planned.decisions()[0].startswith("approve: plan-")
    (word,) = planned.queue.allowances(planned.task.id)
    assert word.by.id == planned.maintainer.id and planned.task.requested_by.id == planned.maintainer.id


@pytest.mark.long
def test_a_thumb_on_what_is_ready_publishes_exactly_it(gated: Town) -> None:
    issue = waits(gated)
    (ready,) = gated.queue.publications(gated.task.id)
    gated.world.react(shown(gated, issue), gated.maintainer, "+1")
    look(gated)
    hear(gated)
    assert gated.stands == IN_REVIEW, gated.text(issue)
    assert not gated.cast.briefs
    assert list(gated.branches.values()) == [ready.commit_sha]


@pytest.mark.parametrize("reaction", ["eyes", "-1", "heart", "rocket"])
def test_other_reactions_say_nothing(planned: Town, reaction: str) -> None:
    issue = waits(planned)
    planned.world.react(shown(planned, issue), planned.maintainer, reaction)
    look(planned)
    assert planned.all_signals() == [] and planned.stands == WAITING


@pytest.mark.parametrize("permission", [Permission.READ, Permission.TRIAGE, Permission.NONE])
def test_only_people_with_write_access_count(planned: Town, permission: Permission) -> None:
    issue = waits(planned)
    planned.world.grant(planned.repository.id, planned.stranger, permission)
    planned.world.react(shown(planned, issue), planned.stranger, "+1")
    planned.world.react(shown(planned, issue), planned.world.bot, "+1")
    look(planned)
    assert planned.all_signals() == [] and planned.stands == WAITING


@pytest.mark.long
def test_a_stranger_s_thumb_does_not_hide_a_maintainer_s(planned: Town) -> None:
    issue = waits(planned)
    planned.world.react(shown(planned, issue), planned.stranger, "+1")
    look(planned)
    planned.world.react(shown(planned, issue), planned.maintainer, "+1")
    look(planned)
    hear(planned)
    assert planned.stands == IN_REVIEW


def test_a_thumb_on_anything_else_approves_nothing(planned: Town) -> None:
    issue = waits(planned)
    theirs = planned.world.comment(issue, planned.stranger, "/fixwright approve\n" + "a" * 40)
    planned.deliver()
    for comment in planned.world.comments(issue):
        if comment.id != shown(planned, issue):
            planned.world.react(comment.id, planned.maintainer, "+1")
    planned.world.react(theirs.id, planned.maintainer, "+1")
    look(planned)
    hear(planned)
    assert planned.stands == WAITING


def test_a_stranger_s_copy_of_the_plan_is_not_ours(planned: Town) -> None:
    issue = waits(planned)
    (plan,) = [c.body for c in planned.said(issue) if "The plan, waiting" in c.body]
    copied = planned.world.comment(issue, planned.stranger, plan.replace("<!--", "<!-- copy"))
    planned.world.react(copied.id, planned.maintainer, "+1")
    look(planned)
    assert planned.all_signals() == [] and planned.stands == WAITING


@pytest.mark.long
def test_a_thumb_on_an_older_plan_does_not_approve_the_new_one(planned: Town) -> None:
    issue = waits(planned)
    old = shown(planned, issue)
    planned.comment(issue, "/fixwright plan")
    planned.loop(plays(WRITE, said=replace_reading())).turn()
    assert planned.stands == WAITING and planned.outcomes == [Outcome.INTERRUPTED, None]
    planned.world.react(old, planned.maintainer, "+1")
    look(planned)
    assert planned.all_signals()[1:] == []


@pytest.mark.long
def test_the_same_plan_shown_again_needs_a_thumb_of_its_own(planned: Town) -> None:
    issue = waits(planned)
    old = shown(planned, issue)
    planned.comment(issue, "/fixwright plan")
    planned.loop(plays(WRITE, said=CLEAR)).turn()
    assert planned.stands == WAITING and shown(planned, issue) != old
    planned.world.react(old, planned.maintainer, "+1")
    look(planned)
    assert planned.all_signals()[1:] == []
    planned.world.react(shown(planned, issue), planned.maintainer, "+1")
    look(planned)
    hear(planned)
    assert planned.stands == IN_REVIEW


def replace_reading() -> object:
    return CLEAR.model_copy(update={"expected": "11"})


def test_a_thumb_whose_owner_lost_the_right_before_it_was_heard_counts_not(planned: Town) -> None:
    issue = waits(planned)
    planned.world.react(shown(planned, issue), planned.maintainer, "+1")
    look(planned)
    planned.world.grant(planned.repository.id, planned.maintainer, Permission.READ)
    hear(planned)
    assert planned.stands == WAITING and planned.queue.allowances(planned.task.id) == ()


class AwayOnce:
    """The embedded forge, away at the first look at reactions."""

    def __init__(self, forge: LocalForge) -> None:
        self.forge, self.is_away = forge, True

    def __getattr__(self, name: str) -> object:
        return getattr(self.forge, name)

    def reactions(self, issue: IssueRef, comment_id: str) -> object:
        if self.is_away:
            self.is_away = False
            raise ForgeUnavailable("502")
        return self.forge.reactions(issue, comment_id)


def test_a_forge_that_is_away_is_asked_in_the_next_round(planned: Town) -> None:
    issue = waits(planned)
    planned.world.react(shown(planned, issue), planned.maintainer, "+1")
    desk = looker(planned, AwayOnce(LocalForge(planned.root / "forge")))
    list(desk.steps())
    assert planned.all_signals() == []
    list(desk.steps())
    assert len(planned.all_signals()) == 1


def test_a_forge_that_lists_no_reactions_is_not_asked_and_none_is_offered(planned: Town) -> None:
    class Plain:
        def __init__(self, forge: LocalForge) -> None:
            self.forge = forge
            self.capabilities = frozenset(
                each for each in forge.capabilities if "reactions" not in each.value
            )

        def __getattr__(self, name: str) -> object:
            assert name != "reactions"
            return getattr(self.forge, name)

    issue, plain = planned.issue("docs"), Plain(LocalForge(planned.root / "forge"))
    planned.loop(plays(WRITE, said=CLEAR), forge=plain).turn()  # type: ignore[arg-type]
    assert planned.stands == WAITING and "thumb" not in planned.text(issue)
    planned.world.react(shown(planned, issue), planned.maintainer, "+1")
    look(planned, plain)
    assert planned.all_signals() == []
