"""Contract checks of bad days: no answer, an answer lost after the act, two clients at once."""

# ruff: noqa: D102  (a check is described by its name)

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from domain.errors import ForgeError, ForgeUnavailable, NotFound
from domain.model import Actor, IssueRef, Permission
from domain.ports import Forge
from providers.conformance.commenting import ours
from providers.conformance.stage import ForgeStage, StagedChecks, proposal

if TYPE_CHECKING:
    from multiprocessing.synchronize import Barrier

HEAD = "fixwright/issue-1"
ROUNDS = 8

CALLS: dict[str, Callable[[Forge, IssueRef], object]] = {
    "repository": lambda forge, issue: forge.repository(issue.repository_id),
    "repository_named": lambda forge, issue: forge.repository_named(_name_of(forge, issue)),
    "labelled_issues": lambda forge, issue: list(
        forge.labelled_issues(issue.repository_id, ["bug"], changed_since=datetime.min.replace(tzinfo=UTC))
    ),
    "label_changes": lambda forge, issue: forge.label_changes(issue),
    "issue": lambda forge, issue: forge.issue(issue),
    "comments": lambda forge, issue: forge.comments(issue),
    "permission_of": lambda forge, issue: forge.permission_of(issue.repository_id, forge.identity),
    "clone_access": lambda forge, issue: forge.clone_access(issue.repository_id),
    "revoke_access": lambda forge, issue: forge.revoke_access(forge.clone_access(issue.repository_id)),
    "find_pull": lambda forge, issue: forge.find_pull(issue.repository_id, HEAD),
    "ensure_pull": lambda forge, issue: forge.ensure_pull(issue.repository_id, proposal()),
    "ensure_comment": lambda forge, issue: forge.ensure_comment(issue, "status", "working"),
    "add_comment": lambda forge, issue: forge.add_comment(issue, "once", "a word"),
}
WRITES = ["ensure_pull", "ensure_comment", "add_comment"]


class FailingChecks(StagedChecks):
    """Outages pass, ambiguous writes leave one of each, and clients may race."""

    @pytest.fixture
    def ready(self, stage: ForgeStage, issue: IssueRef) -> IssueRef:
        """An issue in a repository whose branch is pushed."""
        stage.push(issue.repository_id, HEAD, "fix.txt")
        return issue

    @pytest.mark.parametrize("method", list(CALLS))
    def test_an_outage_is_said_and_passes(
        self, stage: ForgeStage, ready: IssueRef, forge: Forge, method: str
    ) -> None:
        stage.fail(method, times=2, acted=False)
        for _ in range(2):
            with pytest.raises(ForgeUnavailable):
                CALLS[method](forge, ready)
        CALLS[method](forge, ready)

    @pytest.mark.parametrize("method", list(CALLS))
    def test_an_answer_that_cannot_be_understood_is_said(
        self, stage: ForgeStage, ready: IssueRef, forge: Forge, method: str
    ) -> None:
        CALLS["repository"](forge, ready)
        stage.garble(method)
        with pytest.raises(ForgeError):
            CALLS[method](forge, ready)

    def test_an_outage_permits_nobody_anything(
        self, stage: ForgeStage, ready: IssueRef, forge: Forge, person: Actor
    ) -> None:
        stage.grant(ready.repository_id, person, Permission.ADMIN)
        assert forge.permission_of(ready.repository_id, person) is Permission.ADMIN
        stage.fail("permission_of", times=1, acted=False)
        with pytest.raises(ForgeUnavailable):
            forge.permission_of(ready.repository_id, person)
        stage.grant(ready.repository_id, person, Permission.NONE)
        assert forge.permission_of(ready.repository_id, person) in {Permission.NONE, Permission.READ}

    def test_four_threads_on_one_client_make_one_of_each(self, ready: IssueRef, forge: Forge) -> None:
        calls: list[Callable[[], object]]
        calls = [lambda: forge.ensure_comment(ready, "status", "the same words")] * 4
        calls += [lambda: forge.comments(ready), lambda: forge.issue(ready)] * 2
        with ThreadPoolExecutor(4) as pool:
            done = [pool.submit(call) for call in calls]
            problems = [each.exception() for each in done if each.exception() is not None]
        assert problems == []
        assert len(ours(forge, ready)) >= 1
        first = forge.ensure_comment(ready, "status", "the last words")
        assert "the last words" in first.body

    @pytest.mark.parametrize("method", WRITES)
    def test_a_write_that_was_done_and_not_answered_is_not_done_again(
        self, stage: ForgeStage, ready: IssueRef, forge: Forge, method: str
    ) -> None:
        stage.fail(method, times=2, acted=True)
        for _ in range(2):  # the second time, a forge may have found what it did the first time
            with suppress(ForgeUnavailable):
                CALLS[method](forge, ready)
        CALLS[method](forge, ready)
        pulls = [number for number in range(1, 9) if _is_pull(forge, ready, number)]
        assert (len(pulls), len(ours(forge, ready))) == ((1, 0) if method == "ensure_pull" else (0, 1))

    def test_two_processes_at_once_make_one_of_each(
        self, stage: ForgeStage, ready: IssueRef, forge: Forge
    ) -> None:
        factory = stage.forge_factory()
        context = multiprocessing.get_context("spawn")
        start = context.Barrier(2)
        racers = [context.Process(target=race, args=(factory, ready, start)) for _ in range(2)]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join(60)
        assert [racer.exitcode for racer in racers] == [0, 0]
        assert len(ours(forge, ready)) == 2 * ROUNDS
        pulls = [number for number in range(1, 9) if _is_pull(forge, ready, number)]
        assert len(pulls) == 1


def race(factory: Callable[[], Forge], issue: IssueRef, start: Barrier) -> None:
    """Do, in a process of its own, what the other process does at the same time."""
    forge = factory()
    start.wait(60)
    for number in range(ROUNDS):
        forge.ensure_comment(issue, f"topic-{number}", "the same words")
        forge.add_comment(issue, f"key-{number}", "the same words")
        forge.ensure_pull(issue.repository_id, proposal())


def _name_of(forge: Forge, issue: IssueRef) -> str:
    return forge.repository(issue.repository_id).full_name


def _is_pull(forge: Forge, issue: IssueRef, number: int) -> bool:
    ref = IssueRef(forge=issue.forge, repository_id=issue.repository_id, number=number)
    try:
        return forge.issue(ref).is_pull
    except NotFound:
        return False
