"""Reviews and gates together: what a reviewer asks waits for its gate, and a gate never swallows a review."""

from __future__ import annotations

import pytest

from domain.model import Outcome, Permission, Reason
from domain.states import State
from tests.worker.conftest import BuildTown
from tests.worker.test_review_loop import AGAIN, ELSEWHERE, Reviewed
from tests.worker.test_thumbs import look
from tests.worker.town import CLEAR, NOTES, WRITE, Stage, Town, plays

WAITING = (State.BLOCKED, Reason.AWAITING_APPROVAL)
IN_REVIEW = (State.IN_REVIEW, None)


class Gated(Reviewed):
    """A town that asks before anything is published, after its first draft was approved."""

    def __post_init__(self) -> None:
        self.issue = self.town.issue("docs")
        self.turn(plays(WRITE))
        assert self.town.stands == WAITING
        self.ada = self.town.world.create_user("ada")
        self.town.world.grant(self.town.repository.id, self.ada, Permission.WRITE)
        self.approve()
        assert self.town.stands == IN_REVIEW, self.town.text(self.issue)

    def approve(self) -> None:
        self.town.comment(self.issue, "/fixwright approve")
        self.turn(plays("exit 9", claim=None))

    def shown(self) -> list[str]:
        """Return the ids of the comments that show a finished change, oldest first."""
        said = self.town.said(self.issue)
        return [each.id for each in said if "Ready, and waiting for a maintainer's word" in each.body]


@pytest.fixture
def gated(build: BuildTown) -> Gated:
    return Gated(build(NOTES | {".fixwright.yml": "approval: publish\n"}))


@pytest.mark.long
def test_what_a_review_asked_for_waits_for_a_word_of_its_own(gated: Gated) -> None:
    first = gated.pull.head_sha
    gated.review("changes_requested", "Say more.")
    gated.round(plays(AGAIN))
    assert gated.town.stands == WAITING and gated.pull.head_sha == first
    assert gated.on_pull == [], "nothing is answered before it is pushed"
    assert len(gated.shown()) == 2
    gated.approve()
    assert gated.town.stands == IN_REVIEW and gated.pull.head_sha != first
    (said,) = gated.on_pull
    assert said.startswith(f"`{gated.pull.head_sha[:10]}` was made with the review at hand.")


@pytest.mark.long
def test_a_thumb_on_the_first_change_does_not_publish_the_second(gated: Gated) -> None:
    first = gated.pull.head_sha
    gated.review("changes_requested", "Say more.")
    gated.round(plays(AGAIN))
    old, new = gated.shown()
    gated.town.world.react(old, gated.town.maintainer, "+1")
    look(gated.town)
    assert not gated.turn(plays("exit 9", claim=None))
    assert gated.town.stands == WAITING and gated.pull.head_sha == first
    gated.town.world.react(new, gated.town.maintainer, "+1")
    look(gated.town)
    gated.turn(plays("exit 9", claim=None))
    assert gated.town.stands == IN_REVIEW and gated.pull.head_sha != first


@pytest.mark.long
def test_a_review_that_comes_while_a_change_waits_is_kept_and_followed_after_it(gated: Gated) -> None:
    gated.review("changes_requested", "Say more.")
    gated.round(plays(AGAIN))
    gated.review("changes_requested", "And one more file.")
    gated.town.deliver()
    assert not gated.turn(plays("exit 9", claim=None))
    assert gated.town.stands == WAITING
    gated.approve()
    second = gated.pull.head_sha
    assert gated.turn(plays(ELSEWHERE))
    assert gated.town.stands == WAITING and "And one more file." in gated.brief
    gated.approve()
    assert gated.town.stands == IN_REVIEW and gated.pull.head_sha != second
    assert len(gated.on_pull) == 2


@pytest.mark.long
def test_an_approval_while_a_review_is_worked_on_approves_nothing_that_comes_later(gated: Gated) -> None:
    first, stage = gated.pull.head_sha, Stage()
    gated.review("changes_requested", "Say more.")
    gated.town.deliver()
    assert not gated.turn(plays(AGAIN))
    gated.town.clock.forward(seconds=21)
    loop = gated.town.loop(plays("echo now", AGAIN), sandbox=stage)

    def approve() -> None:
        gated.town.comment(gated.issue, "/fixwright approve")
        loop.shop.desk.clear()

    stage.cues["echo now"] = approve
    loop.turn()
    assert gated.town.stands == WAITING and gated.pull.head_sha == first
    assert "Nothing waits for an approval here now" in gated.town.text(gated.issue)


@pytest.mark.long
def test_a_review_while_a_plan_waits_is_told_to_the_attempt_that_follows(build: BuildTown) -> None:
    reviewed = Reviewed(build(NOTES))
    town: Town = reviewed.town
    town.world.label(reviewed.issue, town.maintainer, "plan-first")
    town.comment(reviewed.issue, "/fixwright retry")
    reviewed.turn(plays(AGAIN, said=CLEAR))
    assert town.stands == WAITING, town.text(reviewed.issue)
    reviewed.review("changes_requested", "Mind the style.")
    town.deliver()
    assert not reviewed.turn(plays("exit 9", claim=None))
    assert town.stands == WAITING
    town.comment(reviewed.issue, "/fixwright approve")
    reviewed.turn(plays(AGAIN, said=CLEAR))
    assert town.stands == IN_REVIEW, town.text(reviewed.issue)
    assert "Mind the style." in reviewed.brief
    assert town.outcomes[-1] is Outcome.VERIFIED
    assert any("was made with the review at hand" in said for said in reviewed.on_pull)
