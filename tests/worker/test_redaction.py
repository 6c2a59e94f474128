"""A live secret that turns up in an error or in output goes nowhere: no comment, row or transcript."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from domain.claim import Claim, Restatement
from domain.errors import AgentFailure, ForgeUnavailable, PermissionRefused, ProviderUnavailable
from domain.model import CloneAccess, Reason
from domain.ports import AgentReport, Brief, Meter, Observer, Purpose, SandboxSession
from domain.states import State
from domain.text import Redactor
from providers.local.faulty import Fault, FaultyForge
from providers.local.forge import LocalForge
from tests.worker.conftest import BuildTown
from tests.worker.town import CALC, WRITE, WRONG_FIX, Town, caps, plays
from worker.redacting import redacted

CANARY = "sk-canary:4f9a'1c77/e2b0"
SPELLINGS = (CANARY, base64.b64encode(CANARY.encode()).decode().rstrip("=")[:-1], "sk-canary%3A4f9a%271c77")
SAYS = f'printf %s "{CANARY}"; printf "\\n%s" "{CANARY}" | base64 -w0'


class Failing:
    """An agent that ends in an error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def prestart(self) -> None:
        pass

    def close(self) -> None:
        pass

    def run(self, brief: Brief, session: SandboxSession, meter: Meter, observer: Observer) -> AgentReport:
        raise self.error


def assert_nowhere(town: Town) -> None:
    kept = [*town.root.glob("fixwright.db*"), *town.root.glob("transcripts/*"), town.root / "forge/forge.db"]
    kept += town.root.glob("forge/forge.db-wal")
    for path in kept:
        content = path.read_bytes()
        for spelling in SPELLINGS:
            assert spelling.encode() not in content, path
    for attempt in town.attempts:
        assert CANARY not in repr(town.queue.verdict(attempt))
    for pull in town.world.pulls(town.repository.id):
        assert CANARY not in pull.body + pull.title
    assert "[redacted]" in "".join(path.read_bytes().decode("latin-1") for path in kept)


@pytest.fixture
def guarded(notes: Town) -> Town:
    notes.secrets.add(CANARY)
    return notes


@pytest.mark.long
@pytest.mark.parametrize(
    ("error", "state"),
    [
        (ProviderUnavailable(f"401 from the provider: invalid key {CANARY}"), State.QUEUED),
        (AgentFailure(f"the child said: Authorization: Bearer {CANARY}"), State.BLOCKED),
    ],
)
def test_d89_in_what_the_provider_says(guarded: Town, error: Exception, state: State) -> None:
    guarded.issue("docs")
    guarded.loop(Failing(error)).turn()
    assert guarded.task.state is state
    assert_nowhere(guarded)


def test_a_task_waits_as_long_as_its_provider_asks(notes: Town) -> None:
    notes.issue("docs")
    notes.loop(Failing(ProviderUnavailable("429", retry_after=7200.0))).turn()
    assert notes.task.state is State.QUEUED
    assert notes.task.not_before is not None
    assert notes.task.not_before - notes.task.updated_at > timedelta(hours=1, minutes=59)


def test_d89_in_what_git_says(guarded: Town) -> None:
    class Elsewhere(LocalForge):
        def clone_access(self, repository_id: str, purpose: Purpose = Purpose.FETCH) -> CloneAccess:
            return replace(super().clone_access(repository_id), url=f"file:///nowhere/{CANARY}.git")

    guarded.issue("docs")
    guarded.loop(plays(WRITE), forge=Elsewhere(guarded.root / "forge")).turn()
    assert guarded.task.state in {State.BLOCKED, State.QUEUED}
    assert_nowhere(guarded)


@pytest.mark.long
@pytest.mark.parametrize("make", [ForgeUnavailable, PermissionRefused])
def test_d89_in_what_the_forge_says(guarded: Town, make: Callable[[str], Exception]) -> None:
    guarded.issue("docs")
    error = make(f"403 for token {CANARY}")
    fault = Fault(method="ensure_pull", error=error)  # type: ignore[arg-type]  # both are ForgeErrors
    guarded.loop(plays(WRITE), forge=FaultyForge(LocalForge(guarded.root / "forge"), [fault])).turn()
    assert guarded.task.state in {State.BLOCKED, State.QUEUED}
    assert_nowhere(guarded)


@pytest.mark.long
def test_d89_in_the_output_of_a_command_and_in_the_model_s_words(guarded: Town) -> None:
    said = Restatement(expected=CANARY, actual=CANARY, confidence=1)
    claim = Claim(root_cause=CANARY, changes=f"x {CANARY}", test_commands=[f"env KEY={CANARY}"])
    guarded.issue("docs")

    guarded.loop(plays(SAYS, WRITE, claim=claim, said=said)).turn()

    assert guarded.task.state is State.IN_REVIEW
    assert_nowhere(guarded)
    branch = next(iter(guarded.branches))
    assert CANARY not in guarded.world.git.commits(guarded.repository.id, branch)[0].message


@pytest.mark.long
def test_d89_in_the_output_of_the_tests(build: BuildTown) -> None:
    town = build(
        {**CALC, "test_calc.py": CALC["test_calc.py"].replace("double(2), 4", f'double(2), 4, "{CANARY}"')}
    )
    town.secrets.add(CANARY)
    town.issue()

    town.loop(plays(WRONG_FIX), caps=caps(max_attempts=1)).turn()

    assert town.stands == (State.BLOCKED, Reason.ATTEMPTS_EXHAUSTED)
    assert_nowhere(town)


def test_a_text_at_its_longest_stays_within_it() -> None:
    class Longer:
        def __call__(self, text: str) -> str:
            return text.replace("secret", "[redacted]")

    claim = Claim(root_cause="secret" * 1300, changes="c")
    assert len(redacted(claim, Longer()).root_cause) == 8000  # type: ignore[arg-type]  # redacts


@pytest.mark.long
def test_a_redactor_that_fails_stops_what_was_to_be_said(notes: Town) -> None:
    class Broken(Redactor):
        def __call__(self, text: str) -> str:
            raise RuntimeError("no")

    issue = notes.issue("docs")
    notes.secrets = Broken()
    with pytest.raises(RuntimeError):
        notes.loop(plays(WRITE)).turn()
    assert notes.said(issue) == [] and not notes.branches
    assert not notes.world.pulls(notes.repository.id)
