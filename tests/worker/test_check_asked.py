"""Who presses "re-run" on our check asks for another attempt; whoever may not write asks for nothing."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from domain.model import Actor
from domain.noted import CheckAsked
from domain.states import State
from tests.worker.town import WRITE, Town, plays

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)


def rerun(town: Town, by: Actor, sha: str, *, button: str = "", repository_id: str = "") -> None:
    """Let GitHub tell that somebody wants our check on a commit again."""
    event = CheckAsked(
        forge="local",
        action="requested_action" if button else "rerequested",
        actor=by,
        repository_id=repository_id or town.repository.id,
        repository_name=town.repository.full_name,
        number=None,
        check_id="9",
        app_id="1",
        sha=sha,
        key=f"task-{town.task.id}",
        button=button,
    )
    town.tell(event, f"check-{sha[:5]}-{by.login}{button}{repository_id}")
    town.loop().shop.desk.clear()


@pytest.fixture
def up(notes: Town) -> Town:
    """A town whose draft is up."""
    notes.issue("docs")
    notes.loop(plays(WRITE)).turn()
    assert notes.task.state is State.IN_REVIEW
    return notes


@pytest.mark.long
def test_a_maintainer_who_runs_our_check_again_gets_another_attempt(up: Town) -> None:
    rerun(up, up.maintainer, up.task.wip_sha)
    assert up.decisions()[-1] == "resumed" and up.task.state is State.QUEUED


@pytest.mark.long
def test_all_others_get_none(up: Town) -> None:
    rerun(up, up.stranger, up.task.wip_sha)
    assert up.decisions()[-1] == "not permitted"
    heard = len(up.decisions())
    rerun(up, up.maintainer, "f" * 40)
    rerun(up, up.maintainer, up.task.wip_sha, repository_id="999")
    rerun(up, up.maintainer, up.task.wip_sha, button="fix")
    rerun(up, Actor(id="77", login="robot", is_bot=True), up.task.wip_sha)
    assert len(up.decisions()) == heard, "of no commit of ours, of another repository, a button, a machine"
    assert up.task.state is State.IN_REVIEW


@pytest.mark.long
def test_a_check_on_what_is_not_up_any_more_is_outdated(up: Town) -> None:
    old = up.task.wip_sha
    up.comment(up.task.issue, "/fixwright retry")
    up.loop(plays("printf '# Lamp\\n\\nNo tests here.\\n' > README.md")).turn()
    assert up.task.wip_sha != old
    rerun(up, up.maintainer, old)
    assert "outdated" in up.decisions()[-1] and up.task.state is State.IN_REVIEW
