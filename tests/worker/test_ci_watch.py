"""After a push, continuous integration of that very commit is watched, told of, and mended once per error."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from domain.errors import ForgeUnavailable, PermissionRefused
from domain.model import Outcome, Reason
from domain.ports import CiEnd, Forge
from domain.states import State
from domain.watching import Patience
from providers.local.forge import LocalForge
from tests.worker.conftest import BuildTown
from tests.worker.town import NOTES, WRITE, Town, plays
from worker.ci_watch import CiWatcher

WATCHED = {**NOTES, ".fixwright.yml": "ci_monitor:\n  enabled: true\n"}
AGAIN = "printf '# Lamp\\n\\nIt has no tests at all.\\n' > README.md"
ONCE_MORE = "printf '# Lamp\\n\\nThere are no tests.\\n' > README.md"
FAILURE = "FAILED prose.py::test_words - assert 'yet' in []\n##[error]Process completed with exit code 1.\n"
LOST = "The hosted runner lost communication with the server.\n"


@dataclass
class Watched:
    """A town whose repository wants its commits watched, after its first draft."""

    town: Town

    def __post_init__(self) -> None:
        self.issue = self.town.issue("docs")
        self.turn()

    def turn(self, *agents: Any, forge: Forge | None = None) -> None:
        """Let the worker turn once; its watcher uses what that worker uses."""
        agents = agents or (plays(WRITE),)
        loop = self.town.loop(*agents, forge=forge)
        self.watcher = CiWatcher(loop.shop, Patience.of_minutes(10, 60))
        loop.turn()
        self.loop = loop

    def look_until_calm(self) -> None:
        """Look, and look again when green has had time to turn into something else."""
        self.look()
        self.town.clock.forward(seconds=31)
        self.look()

    def look(self) -> None:
        for _ in self.watcher.steps():
            pass
        self.loop._tell()

    @property
    def head(self) -> str:
        return self.town.task.wip_sha

    @property
    def pull(self) -> Any:
        (pull,) = self.town.world.pulls(self.town.repository.id)
        return pull

    def report(self, name: str, conclusion: str, log: str = "", sha: str = "") -> None:
        self.town.world.report_ci(self.town.repository.id, sha or self.head, name, conclusion, log=log)

    @property
    def on_pull(self) -> str:

        where = replace(self.issue, number=self.pull.number)
        return "\n\n".join(comment.body for comment in self.town.said(where))


@pytest.fixture
def watched(build: BuildTown) -> Iterator[Watched]:
    yield Watched(build(WATCHED))


@pytest.mark.long
def test_a_draft_is_up_at_once_and_its_commit_is_watched(watched: Watched) -> None:
    assert watched.town.stands == (State.WATCHING, None)
    assert watched.pull.is_draft
    said = watched.town.text(watched.issue)
    assert "In review" in said and f"watching continuous integration on `{watched.head[:10]}`" in said
    watched.look()
    assert watched.town.stands == (State.WATCHING, None) and watched.on_pull == ""


def test_green_is_one_line_on_the_pull_request_and_on_the_issue(watched: Watched) -> None:
    watched.report("tests", "success")
    watched.report("lint", "")
    watched.look()
    assert watched.town.task.state is State.WATCHING
    watched.report("lint", "skipped")
    watched.look_until_calm()
    assert watched.town.task.state is State.IN_REVIEW
    line = f"Continuous integration is green on `{watched.head[:10]}`: 2 jobs."
    assert line in watched.on_pull and line in watched.town.text(watched.issue)
    assert watched.on_pull.count("Continuous integration") == 1


@pytest.mark.long
def test_a_job_that_begins_when_another_has_ended_is_waited_for(watched: Watched) -> None:
    watched.report("lint", "success")
    watched.look()
    watched.town.clock.forward(seconds=31)
    watched.report("tests", "")
    watched.look()
    assert watched.town.task.state is State.WATCHING
    watched.report("tests", "failure", log=FAILURE)
    watched.look()
    assert watched.town.task.state is State.QUEUED


@pytest.mark.long
def test_no_report_at_all_is_said_after_a_while(watched: Watched) -> None:
    watched.town.clock.forward(minutes=9)
    watched.look()
    assert watched.town.task.state is State.WATCHING
    watched.town.clock.forward(minutes=2)
    watched.look()
    assert watched.town.task.state is State.IN_REVIEW
    assert "No continuous integration ran" in watched.on_pull and "by the harness only" in watched.on_pull


@pytest.mark.long
def test_what_never_ends_is_not_waited_for_for_ever(watched: Watched) -> None:
    watched.report("slow", "")
    watched.report("quick", "success")
    watched.look()
    watched.town.clock.forward(minutes=61)
    watched.look()
    assert watched.town.task.state is State.IN_REVIEW
    assert "61 minutes (`slow`)" in watched.on_pull


def test_what_the_change_broke_is_mended_with_the_log_on_the_same_branch(watched: Watched) -> None:
    pull, first = watched.pull, watched.head
    watched.report("style", "failure", log=FAILURE)
    watched.look()
    assert watched.town.stands == (State.QUEUED, None)
    assert f"red on `{first[:10]}`: `style`. I am trying again" in watched.on_pull
    assert "Waiting for its turn" in watched.town.text(watched.issue)

    watched.turn(plays(AGAIN))
    (brief,) = watched.town.cast.briefs
    assert "Job style:" in brief.ci and "assert 'yet' in []" in brief.ci
    assert watched.town.task.state is State.WATCHING and watched.pull.number == pull.number
    assert watched.head != first and watched.pull.head_sha == watched.head
    assert watched.town.outcomes == [Outcome.VERIFIED, Outcome.VERIFIED]

    watched.report("style", "success")
    watched.look_until_calm()
    assert watched.town.task.state is State.IN_REVIEW
    assert "green" in watched.on_pull and "red" not in watched.on_pull, "one comment, rewritten"


@pytest.mark.long
def test_the_same_error_is_never_mended_twice(watched: Watched) -> None:
    first = watched.head
    watched.report("style", "failure", log=FAILURE)
    watched.look()
    watched.turn(plays(AGAIN))
    watched.report("style", "failure", log="2026-11-30T10:00:09.1Z " + FAILURE)
    watched.look()
    assert watched.town.stands == (State.BLOCKED, Reason.CI_RED)
    said = watched.town.text(watched.issue)
    assert f"failed in the same way on `{first[:10]}` already" in said and "/fixwright resume" in said


@pytest.mark.long
def test_attempts_are_capped_as_ever(watched: Watched) -> None:
    watched.report("style", "failure", log=FAILURE)
    watched.look()
    watched.turn(plays(AGAIN))
    watched.report("docs", "failure", log="error: no such page\n")
    watched.look()
    assert watched.town.stands == (State.BLOCKED, Reason.CI_RED)
    assert "all 2 attempts are used up" in watched.town.text(watched.issue)


@pytest.mark.long
def test_a_failure_of_which_nothing_can_be_read_is_a_persons(watched: Watched) -> None:
    watched.report("deploy", "failure")
    watched.look()
    assert watched.town.stands == (State.BLOCKED, Reason.CI_RED)
    assert "would be a guess" in watched.on_pull


@pytest.mark.long
def test_a_person_may_ask_for_another_attempt_which_reads_the_log(watched: Watched) -> None:
    watched.report("style", "failure", log=FAILURE)
    watched.look()
    watched.turn(plays(AGAIN))
    watched.report("style", "failure", log=FAILURE)
    watched.look()
    watched.town.comment(watched.issue, "/fixwright resume")
    watched.turn(plays(ONCE_MORE))
    assert "assert 'yet'" in watched.town.cast.briefs[0].ci
    assert watched.town.task.state is State.WATCHING


def test_what_is_red_on_the_base_as_well_is_not_ours(watched: Watched) -> None:
    base = watched.town.attempts[0].base_sha
    watched.report("style", "failure", log=FAILURE, sha=base)
    watched.report("style", "failure", log=FAILURE)
    watched.report("tests", "success")
    watched.look()
    assert watched.town.task.state is State.IN_REVIEW
    assert "no error to be read that is not there without this change, too: `style`" in watched.on_pull


@pytest.mark.long
def test_a_job_that_its_machine_broke_is_run_again_twice(watched: Watched) -> None:
    for reruns in (1, 2):
        watched.report("tests", "failure", log=LOST)
        watched.look()
        assert watched.town.task.state is State.WATCHING
        (watch,) = watched.loop.shop.watches.of_task(watched.town.task.id)
        assert watch.reruns == reruns
        assert watched.town.world.reruns(watched.town.repository.id, watched.head) == {"tests": 1}
    watched.report("tests", "failure", log=LOST)
    watched.look()
    assert watched.town.task.state is State.IN_REVIEW
    assert "broken by its machine or cancelled, and was run again twice" in watched.on_pull


@pytest.mark.long
def test_where_jobs_may_not_be_run_again_people_are_told(watched: Watched) -> None:
    class ReadOnly(LocalForge):
        def rerun_job(self, repository_id: str, job_id: str) -> None:
            raise PermissionRefused("actions: write is missing")

    watched.watcher.shop.forges["local"] = ReadOnly(watched.town.root / "forge")  # type: ignore[index]
    watched.report("tests", "cancelled")
    watched.look()
    assert watched.town.task.state is State.IN_REVIEW and "A person may run it again" in watched.on_pull


@pytest.mark.long
def test_peoples_commits_are_theirs_to_watch(watched: Watched) -> None:
    watched.town.world.git.push(
        watched.town.repository.id, watched.pull.head_branch, {"more.txt": b"x"}, by=watched.town.maintainer
    )
    watched.look()
    assert watched.town.task.state is State.IN_REVIEW and "Somebody pushed" in watched.on_pull


@pytest.mark.long
def test_a_forge_that_is_away_is_asked_again(watched: Watched) -> None:
    class Away(LocalForge):
        def ci_status(self, repository_id: str, sha: str) -> Any:
            raise ForgeUnavailable("down")

    there = watched.watcher.shop.forges["local"]
    watched.report("tests", "success")
    watched.watcher.shop.forges["local"] = Away(watched.town.root / "forge")  # type: ignore[index]
    watched.look()
    assert watched.town.task.state is State.WATCHING
    watched.watcher.shop.forges["local"] = there  # type: ignore[index]
    watched.look_until_calm()
    assert watched.town.task.state is State.IN_REVIEW


@pytest.mark.long
def test_a_crash_between_the_watchs_end_and_the_move_changes_nothing(watched: Watched) -> None:
    watched.report("style", "failure", log=FAILURE)
    shop = watched.watcher.shop
    watch = shop.watches.begin(watched.town.task, watched.head, watched.pull.number, watched.town.clock.now())
    shop.watches.end(watch, CiEnd.OURS, said="red", error="e", evidence="boom")
    watched.look()
    assert watched.town.task.state is State.QUEUED and "red I am trying again" in watched.on_pull


@pytest.mark.long
def test_a_merge_while_it_is_watched_ends_the_task(watched: Watched) -> None:
    watched.town.world.merge_pull(watched.town.repository.id, watched.pull.number, watched.town.maintainer)
    watched.town.deliver()
    watched.look()
    watched.turn()
    assert watched.town.task.state is State.DONE


@pytest.mark.long
@pytest.mark.parametrize("config", ["", "ci_monitor:\n  enabled: false\n"])
def test_nothing_is_watched_unless_the_repository_wants_it(build: BuildTown, config: str) -> None:
    assert Watched(build({**NOTES, ".fixwright.yml": config})).town.task.state is State.IN_REVIEW


@pytest.mark.long
def test_the_logs_are_redacted_before_the_model_reads_them(watched: Watched) -> None:
    watched.town.secrets.add("hunter2-hunter2-hunter2")
    watched.report("style", "failure", log=FAILURE + "token hunter2-hunter2-hunter2\n")
    watched.look()
    watched.turn(plays(AGAIN))
    assert "hunter2" not in watched.town.cast.briefs[0].ci
