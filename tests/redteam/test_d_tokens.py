"""D: what a token could leak through, what a forge may do to a push, and what is never asked of a forge."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from domain.errors import ForgeError
from domain.model import CloneAccess, Reason
from domain.ports import AgentReport, Brief, Forge, Meter, Observer, SandboxSession
from domain.states import State
from harness.agent.scripted import ScriptedAgent
from harness.git import GitRunner
from providers.local.faulty import Fault, FaultyForge
from providers.local.forge import LocalForge
from tests.redteam.canaries import CANARIES, Hunt
from tests.redteam.secrets_hunt import ProcessWatch
from tests.redteam.siege import FIXED, IN_REVIEW, Siege
from tests.redteam.token_forge import PROTOCOL, TokenForge, token_forge
from tests.worker.town import CLAIM, plays

NEVER_ASKED = ("merge", "approve", "label", "close", "delete", "protect", "secret", "hook", "invite", "admin")


@pytest.fixture
def tokens(siege: Siege) -> Iterator[TokenForge]:
    with token_forge(siege.root / "forge") as forge:
        yield forge


def over_http(siege: Siege, **more: object) -> dict[str, object]:
    """Return what lets a siege's worker reach its forge over smart HTTP on loopback."""
    runner = GitRunner(siege.root / "git-home", redact=siege.secrets, protocols=frozenset({PROTOCOL}))
    return {"runner": runner, **more}


def assert_no_token_anywhere(siege: Siege, forge: TokenForge) -> None:
    secrets = {f"token {number}": token.secret for number, token in enumerate(forge.tokens, 1)}
    hunt = Hunt(secrets)
    assert list(hunt.found_below(siege.root)) == []
    assert not hunt.found_in(siege.text(siege.reference) + siege.transcript() + siege.task.detail)


@pytest.mark.long
def test_d85_no_process_and_no_file_shows_a_token_while_git_works(siege: Siege, tokens: TokenForge) -> None:
    with ProcessWatch({"any token": "tokenOfOneOperation" * 3, **CANARIES}) as watch:
        stand = siege.attack(*FIXED, forge=tokens, **over_http(siege))
    assert stand == IN_REVIEW, siege.text(siege.reference)
    assert tokens.pushes > 0
    assert watch.looks > 10 and "git" in watch.programs
    assert watch.seen == set()
    assert_no_token_anywhere(siege, tokens)
    siege.assert_contained()


@pytest.mark.parametrize("loud", ["GIT_TRACE", "GIT_TRACE_CURL", "GIT_CURL_VERBOSE", "GIT_TRACE2_EVENT"])
@pytest.mark.long
def test_d89_a_git_that_is_told_to_talk_keeps_silent(
    siege: Siege,
    tokens: TokenForge,
    loud: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(loud, str(siege.root / "trace") if loud == "GIT_TRACE2_EVENT" else "1")
    assert siege.attack(*FIXED, forge=tokens, **over_http(siege)) == IN_REVIEW
    said = "".join(capfd.readouterr())
    assert "tokenOfOneOperation" not in said and not (siege.root / "trace").exists()
    assert_no_token_anywhere(siege, tokens)


class LateAgent(ScriptedAgent):
    """Remembers when it ended, and can do something at that moment."""

    def __init__(self, at_the_end: object = None) -> None:
        super().__init__(FIXED, CLAIM)
        self.ended = 0.0
        self._at_the_end = at_the_end

    def run(self, brief: Brief, session: SandboxSession, meter: Meter, observer: Observer) -> AgentReport:
        report = super().run(brief, session, meter, observer)
        if callable(self._at_the_end):
            self._at_the_end()
        self.ended = time.monotonic()
        return report


def test_d87_the_token_of_a_push_is_minted_after_the_agent_has_ended(
    siege: Siege, tokens: TokenForge
) -> None:
    agent = LateAgent()
    assert siege.attack(agent=agent, forge=tokens, **over_http(siege)) == IN_REVIEW
    assert {token.repository_id for token in tokens.tokens} == {siege.repository.id}
    assert tokens.tokens[-1].minted_at > agent.ended


def test_d88_a_token_that_has_expired_before_the_push_loops_nowhere_and_shows_nowhere(
    siege: Siege, tokens: TokenForge
) -> None:
    def expire() -> None:
        for token in tokens.tokens:
            token.live = False

    stand = siege.attack(agent=LateAgent(expire), forge=tokens, **over_http(siege))
    assert stand in (IN_REVIEW, (State.BLOCKED, Reason.ENVIRONMENT))
    assert tokens.refused <= 4 and len(tokens.tokens) <= 4
    assert_no_token_anywhere(siege, tokens)
    if stand != IN_REVIEW:
        siege.comment(siege.reference, "/fixwright resume")
        siege.loop(plays(*FIXED), forge=tokens, **over_http(siege)).turn()
        assert siege.stands == IN_REVIEW, siege.text(siege.reference)
    siege.assert_contained()


@pytest.mark.parametrize("method", ["ensure_pull", "ensure_comment", "repository", "clone_access"])
def test_d89_a_forge_that_echoes_every_secret(siege: Siege, method: str) -> None:
    said = " ".join(CANARIES.values()) + os.linesep + repr(dict(CANARIES))
    fault = Fault(method=method, error=ForgeError(f"403: {said}"))
    siege.attack(*FIXED, forge=FaultyForge(LocalForge(siege.root / "forge"), [fault]))
    assert list(siege.leaks()) == []


def test_d89_a_credential_shows_in_no_representation() -> None:
    access = CloneAccess(
        url="https://forge.invalid/a/b.git", protocol="https", username="u", secret="s3cret-s3cret"
    )
    try:
        raise ForgeError("broken")
    except ForgeError as error:
        assert "s3cret" not in repr(access) + str(access) + repr(error) + repr([access])


def test_d92_a_forge_is_asked_for_drafts_and_words_and_nothing_else(siege: Siege) -> None:
    forge = FaultyForge(LocalForge(siege.root / "forge"))
    assert siege.attack(*FIXED, forge=forge) == IN_REVIEW
    methods = {name for name in vars(Forge) if not name.startswith("_")}
    assert set(forge.calls) <= methods
    acts = {name for name in methods if name.startswith(("ensure", "add", "create", "set", "put", "post"))}
    assert acts == {"ensure_pull", "ensure_comment", "add_comment"}, "a new act: is it one that we may do?"
    assert not [name for name in acts for word in NEVER_ASKED if word in name]
    (pull,) = siege.pulls
    assert pull.is_draft and pull.base_branch == "main" and pull.author.id == siege.world.bot.id
    issue = siege.world.issues(siege.repository.id)[0]
    assert issue.is_open and list(issue.labels) == ["bug"]
    siege.assert_contained()
