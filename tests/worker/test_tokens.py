"""Tokens on a forge that mints them: one per operation, none while the agent works, all revoked."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

import pytest

from domain.errors import ForgeUnavailable, PermissionRefused
from domain.model import CloneAccess, Reason
from domain.ports import Forge, Purpose
from domain.states import State
from harness.git import GitRunner
from providers.local.forge import LocalForge
from tests.harness.git_world import token_http
from tests.worker.town import WRITE, Stage, Town, caps, plays

IN_REVIEW = (State.IN_REVIEW, None)
ODD = "ghs_7_+/=%'\"$`\\&;:@ ü"


@dataclass
class Minting:
    """The embedded forge behind HTTP, which wants a token; `refused` are pushes to turn away."""

    town: Town
    address: str = ""
    refused: int = 0
    live: dict[str, Purpose] = field(default_factory=dict)
    minted: list[str] = field(default_factory=list)
    acts: list[str] = field(default_factory=list)
    revoking_fails: bool = False

    def __post_init__(self) -> None:
        self._forge = LocalForge(self.town.root / "forge")

    def __getattr__(self, name: str) -> object:
        return getattr(self._forge, name)

    def clone_access(self, repository_id: str, purpose: Purpose = Purpose.FETCH) -> CloneAccess:
        path = self._forge.clone_access(repository_id).url.removeprefix((self.town.root / "forge").as_uri())
        secret = ODD + secrets.token_hex(450)
        self.live[secret] = purpose
        self.minted.append(secret)
        self.acts.append(f"mint {purpose}")
        return CloneAccess(url=self.address + path, protocol="http", username="x-access-token", secret=secret)

    def revoke_access(self, access: CloneAccess) -> None:
        self.acts.append(f"revoke {self.live[access.secret]}")
        if self.revoking_fails:
            raise ForgeUnavailable(f"cannot revoke {access.secret}")
        del self.live[access.secret]

    def ensure_pull(self, *_: object) -> object:
        raise PermissionRefused(f"401 for {self.minted[-1]}")

    def takes(self, password: str, is_push: bool) -> bool:
        """Judge a request as the forge would: live tokens, and for pushes only those that may."""
        purpose = self.live.get(password)
        if is_push and purpose is Purpose.PUSH and self.refused:
            self.refused -= 1
            return False
        return purpose is Purpose.PUSH or (purpose is Purpose.FETCH and not is_push)


@contextmanager
def minting(town: Town, **settings: object) -> Iterator[Minting]:
    forge = Minting(town, **settings)  # type: ignore[arg-type]  # as the test says
    with token_http(town.root / "forge", forge.takes) as address:
        forge.address = address
        yield forge


def work(town: Town, forge: object, *, during: Callable[[], object] = lambda: None) -> None:
    runner = GitRunner(town.root / "git-home", redact=town.secrets, protocols=frozenset({"http"}))
    stage = Stage({"true now": during})
    loop = town.loop(
        plays("true now", WRITE),
        forge=cast("Forge", forge),
        runner=runner,
        sandbox=stage,
        caps=caps(max_attempts=1),
    )
    loop.turn()


def without_pull(forge: Minting) -> Minting:
    """Let the pull request through: only the test of its refusal wants the other."""
    forge.ensure_pull = forge._forge.ensure_pull  # type: ignore[method-assign]
    return forge


def found(town: Town, forge: Minting) -> list[str]:
    """Return where a token is written, in the town's files or on the issue."""
    (issue,) = (task.issue for task in town.queue.tasks())
    tails = [secret[-40:] for secret in forge.minted]
    texts = [(str(path), path.read_bytes()) for path in town.root.rglob("*") if path.is_file()]
    texts.append(("issue", town.text(issue).encode()))
    return [where for where, text in texts if any(tail.encode() in text for tail in tails)]


def test_d87_one_for_each_operation_none_while_the_agent_works_and_all_revoked(
    notes: Town, capsys: pytest.CaptureFixture[str]
) -> None:
    notes.issue("docs")
    seen: list[object] = []
    with minting(notes) as forge:
        work(notes, without_pull(forge), during=lambda: seen.extend([dict(forge.live), list(forge.acts)]))

    assert notes.stands == IN_REVIEW
    assert seen == [{}, ["mint fetch", "revoke fetch"]], "nothing was minted to push with before"
    assert forge.acts[2:] == ["mint fetch", "revoke fetch", "mint push", "revoke push"]
    assert forge.live == {} and len(set(forge.minted)) == 3
    assert found(notes, forge) == []
    assert not any(secret[-40:] in "".join(capsys.readouterr()) for secret in forge.minted)


@pytest.mark.long
def test_d88_a_token_that_dies_before_the_push_is_replaced_once(notes: Town) -> None:
    notes.issue("docs")
    with minting(notes, refused=1) as forge:
        work(notes, without_pull(forge))
    assert notes.stands == IN_REVIEW
    assert forge.acts.count("mint push") == 2 and forge.live == {}


@pytest.mark.long
def test_d88_a_forge_that_takes_no_token_is_asked_twice_and_no_more(notes: Town) -> None:
    issue = notes.issue("docs")
    with minting(notes, refused=99) as forge:
        work(notes, without_pull(forge))
    assert notes.stands == (State.BLOCKED, Reason.UNPUBLISHED), notes.text(issue)
    assert forge.acts.count("mint push") == 2 and forge.live == {}
    assert found(notes, forge) == []


@pytest.mark.long
def test_what_cannot_be_revoked_does_not_undo_the_work(notes: Town) -> None:
    notes.issue("docs")
    with minting(notes, revoking_fails=True) as forge:
        work(notes, without_pull(forge))
    assert notes.stands == IN_REVIEW
    assert forge.acts.count("revoke push") == 1


@pytest.mark.long
def test_d89_a_token_that_the_forge_echoes_is_not_passed_on(
    notes: Town, capsys: pytest.CaptureFixture[str]
) -> None:
    issue = notes.issue("docs")
    with minting(notes) as forge:
        work(notes, forge)
    assert notes.task.state is State.BLOCKED and "401 for [redacted]" in notes.text(issue)
    assert found(notes, forge) == []
