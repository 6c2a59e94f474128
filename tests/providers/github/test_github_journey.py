"""From a label to a draft on GitHub, through the worker, real HTTP and real git, and with trouble."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from app.demo.github.server import GithubServer
from app.demo.github.state import APP_ID, Fault, GithubState, app_key
from domain.model import Reason
from domain.states import State
from harness.git import GitRunner
from providers.github.calls import Patience
from providers.github.forge import GithubForge
from store.database import Database
from tests.providers.github.conftest import Naps
from tests.providers.github.contract import judge
from tests.worker.town import NOTES, WRITE, Stage, Town, plays
from worker.loop import Loop

PULLS = r".*/pulls"
SECONDARY = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes."}


class GithubTown:
    """A town whose forge is seen through GitHub's API, and whose git is behind its tokens."""

    def __init__(self, root: Path) -> None:
        template = root / "template.db"
        with Database(template) as database:
            database.migrate()
        self.town = Town(root, template, NOTES)
        self.state = GithubState(root / "forge")
        self.state.install("acme")
        self.server = GithubServer(self.state, judge)
        self.naps = Naps()
        self.forge = GithubForge(
            app_id=str(APP_ID),
            private_key=app_key(),
            api_url=self.server.url,
            served={"acme/lamp"},
            patience=Patience(sleep=self.naps.sleep, now=self.naps.now),
        )
        self.forge.on_secret(self.town.secrets.lend)
        self.minted: list[str] = []
        self.forge.on_secret(self.minted.append)

    def loop(self, sandbox: Stage | None = None) -> Loop:
        protocols = frozenset({"http"})
        runner = GitRunner(self.town.root / "git-home", redact=self.town.secrets, protocols=protocols)
        return self.town.loop(plays(WRITE), forge=self.forge, runner=runner, sandbox=sandbox)

    def close(self) -> None:
        self.town.close()
        self.server.close()
        assert not self.state.broken, self.state.broken[:5]


@pytest.fixture
def github(tmp_path: Path) -> Iterator[GithubTown]:
    town = GithubTown(tmp_path)
    yield town
    town.close()


@pytest.mark.long
def test_d85_a_label_becomes_a_draft_and_no_token_is_left_anywhere(github: GithubTown) -> None:
    issue = github.town.issue(label="docs")
    github.loop().turn()
    assert github.town.stands == (State.IN_REVIEW, None)
    (pull,) = github.state.local.pulls(github.town.repository.id)
    assert pull.is_draft and pull.author == github.forge.identity
    assert f"#{pull.number}" in github.town.text(issue)
    github.forge.close()
    assert github.minted and not _kept_anywhere(github)
    written = {
        (seen.method, seen.path.rpartition("/")[2]) for seen in github.state.seen if seen.method != "GET"
    }
    assert not {name for _, name in written} & {"merge", "reviews", "requested_reviewers", "merges"}


def _kept_anywhere(github: GithubTown) -> list[str]:
    """Return files of ours that hold a token."""
    tokens = [secret.encode() for secret in github.minted]
    ours = [path for path in github.town.root.rglob("*") if path.is_file() and "forge" not in path.parts]
    return [str(path) for path in ours if any(token in path.read_bytes() for token in tokens)]


@pytest.mark.long
def test_a_limit_in_the_middle_of_publishing_is_waited_out_and_leaves_one_draft(github: GithubTown) -> None:
    github.town.issue(label="docs")
    github.state.faults.append(Fault("POST", PULLS, status=403, body=SECONDARY))
    loop = github.loop()
    loop.turn()
    task = github.town.task
    assert task.state is State.QUEUED and task.not_before is not None
    assert task.not_before - github.town.clock.now() >= timedelta(seconds=60)
    github.town.clock.forward(seconds=120)
    github.naps.ahead += 120
    loop.turn()
    assert github.town.stands == (State.IN_REVIEW, None)
    assert len(github.state.local.pulls(github.town.repository.id)) == 1


@pytest.mark.long
def test_d88_a_token_that_dies_while_the_agent_works_is_renewed(github: GithubTown) -> None:
    github.town.issue(label="docs")
    stage = Stage(cues={"README.md": github.state.tokens.clear})
    github.naps.ahead += 1
    github.loop(stage).turn()
    assert github.town.stands == (State.IN_REVIEW, None)
    assert len(github.state.local.pulls(github.town.repository.id)) == 1


def test_f117_a_label_by_a_stranger_starts_nothing_and_says_once_what_to_do(github: GithubTown) -> None:
    town = github.town
    issue = town.world.open_issue(town.repository.id, town.stranger, title="Mine", labels=["docs"])
    town.deliver()
    loop = github.loop()
    loop.turn()
    town.deliver()
    loop.turn()
    assert town.stands == (State.CANCELLED, Reason.NOT_PERMITTED)
    said = [
        comment.body for comment in town.said(issue) if "a maintainer takes the label off" in comment.body
    ]
    assert len(said) == 1 and not town.attempts


@pytest.mark.long
def test_f120_a_suspended_installation_parks_the_task_with_the_reason(github: GithubTown) -> None:
    github.town.issue(label="docs")
    github.state.installations["acme"].suspended = True
    github.loop().turn()
    assert github.town.task.state in {State.BLOCKED, State.QUEUED}
    assert not github.town.attempts or github.town.attempts[0].ended_at
    assert "suspended" in github.town.task.detail
