"""What cannot or must not be worked on ends in clear words on the issue, for nothing."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from domain.budget import ZERO
from domain.errors import ForgeUnavailable, PermissionRefused, SandboxError, Unpriced
from domain.model import IssueRef, Money, Outcome, Permission, Price, Reason
from domain.policy import MAX_RECOVERIES
from domain.ports import SandboxPolicy, SandboxSession
from domain.states import State
from providers.local.faulty import Fault, FaultyForge
from providers.local.forge import LocalForge
from tests.worker.conftest import BuildTown
from tests.worker.town import CALC, FIX, NOTES, SHOW, WRITE, Stage, Town, caps, plays


def faulty(town: Town, *faults: Fault) -> FaultyForge:
    return FaultyForge(LocalForge(town.root / "forge"), faults)


def assert_refused(town: Town, reason: Reason, *words: str) -> None:
    """The task waits for a person, nothing was spent or pushed, and the issue says why in plain words."""
    assert town.stands == (State.BLOCKED, reason)
    (issue,) = {task.issue for task in town.queue.tasks()}
    text = town.text(issue)
    for word in words:
        assert word in text
    assert "/fixwright resume" in text
    assert "Traceback" not in text and "erified" not in text.replace("could be verified", "")
    assert town.ledger.spent_on_task(town.task.id) == ZERO
    assert not town.branches and not town.world.pulls(town.repository.id)


# -- the repository ---------------------------------------------------------------------------------


def test_an_empty_repository(build: BuildTown) -> None:
    town = build()
    town.issue()
    town.loop(plays(FIX)).turn()
    assert_refused(town, Reason.ENVIRONMENT, "no commit on its default branch `main`")


@pytest.mark.long
@pytest.mark.parametrize("branch", ["trunk", "release/2.x", "release/#12", "feat(core)-x", "a+b", "ünï"])
def test_a_default_branch_of_any_name(build: BuildTown, branch: str) -> None:
    town = build(NOTES, default_branch=branch)
    town.issue("docs")

    town.loop(plays(WRITE)).turn()

    assert town.stands == (State.IN_REVIEW, None)
    (pull,) = town.world.pulls(town.repository.id)
    assert pull.base_branch == branch
    assert town.world.pull_diff(town.repository.id, pull.number).count("\n+") == 2


@pytest.mark.long
def test_a_default_branch_renamed_while_the_agent_works(build: BuildTown) -> None:
    town = build(NOTES, default_branch="master")
    town.issue("docs")

    def rename() -> None:
        town.world.git.push(town.repository.id, "trunk", {}, by=town.maintainer)
        town.world.set_default_branch(town.repository.id, "trunk")

    town.loop(plays("true rename", WRITE), sandbox=Stage({"true rename": rename})).turn()

    (pull,) = town.world.pulls(town.repository.id)
    assert (town.task.state, pull.base_branch) == (State.IN_REVIEW, "trunk")


@pytest.mark.long
def test_a_repository_without_tests_gets_no_false_verified(build: BuildTown) -> None:
    town = build({"calc.py": CALC["calc.py"]})
    issue = town.issue()

    town.loop(plays(FIX), caps=caps(max_attempts=1)).turn()

    assert town.stands == (State.BLOCKED, Reason.ATTEMPTS_EXHAUSTED)
    assert "has no tests" in town.text(issue)
    assert not town.world.pulls(town.repository.id)


@pytest.mark.long
def test_a_repository_without_tests_may_get_its_first_ones(build: BuildTown) -> None:
    town = build({"calc.py": CALC["calc.py"]})
    town.issue()

    town.loop(plays(FIX, SHOW)).turn()

    assert town.stands == (State.IN_REVIEW, None)


@pytest.mark.long
@pytest.mark.parametrize(
    ("files", "words"),
    [
        (
            {"test_calc.py": "import unittest, nowhere\n\n\nclass TestIt(unittest.TestCase): pass\n"},
            "nowhere",
        ),
        ({".fixwright.yml": "test:\n  command: no-such-runner tests\n"}, "no-such-runner"),
    ],
)
def test_a_broken_test_environment(build: BuildTown, files: Mapping[str, str], words: str) -> None:
    town = build({**CALC, **files})
    town.issue()
    town.loop(plays(FIX)).turn()
    assert_refused(town, Reason.ENVIRONMENT, words)


def test_a_bad_configuration_file(build: BuildTown) -> None:
    town = build({**CALC, ".fixwright.yml": "test:\n  comand: pytest\n"})
    town.issue()
    town.loop(plays(FIX)).turn()
    assert_refused(town, Reason.CONFIG, ".fixwright.yml", "comand")


def test_f120_an_archived_repository(calc: Town) -> None:
    calc.issue()
    calc.world.archive(calc.repository.id)
    calc.loop(plays(FIX)).turn()
    assert calc.stands == (State.BLOCKED, Reason.OUT_OF_REACH)
    assert calc.attempts == [] and "archived" in calc.task.detail


# -- the machine and the money ----------------------------------------------------------------------


@pytest.mark.long
def test_a_sandbox_that_does_not_hold_runs_nothing(calc: Town) -> None:
    class NoSandbox(Stage):
        def open(self, policy: SandboxPolicy) -> SandboxSession:
            raise SandboxError("no user namespaces here; set kernel.unprivileged_userns_clone=1")

    calc.issue()
    calc.loop(plays(FIX), sandbox=NoSandbox()).turn()
    assert_refused(calc, Reason.SANDBOX, "userns")


def test_a_model_without_a_price_is_not_called(calc: Town) -> None:
    def unpriced(model: str) -> Price:
        raise Unpriced(f"no price is known for {model}; set FIXWRIGHT_MODEL_PRICES")

    calc.issue()
    calc.loop(plays(FIX), price_of=unpriced).turn()
    assert_refused(calc, Reason.UNPRICED, "FIXWRIGHT_MODEL_PRICES")


@pytest.mark.long
@pytest.mark.parametrize("cap", ["max_daily_cost_usd", "max_daily_cost_total_usd"])
def test_a_day_s_budget_that_is_used_up_waits_for_the_next_utc_day(notes: Town, cap: str) -> None:
    issue = notes.issue("docs")
    loop = notes.loop(plays(*["true"] * 4, WRITE), caps=caps(**{cap: Money("0.006")}))

    loop.turn()

    assert notes.stands == (State.QUEUED, None)
    assert notes.task.not_before is not None
    assert notes.task.not_before.isoformat() == "2026-03-02T00:00:00+00:00"
    assert "after 2026-03-02 00:00 UTC" in notes.text(issue)
    assert not loop.turn()
    spent = notes.ledger.spent_on_task(notes.task.id)
    notes.clock.forward(hours=12)
    loop.turn()

    assert notes.stands == (State.IN_REVIEW, None)
    assert notes.outcomes == [Outcome.VERIFIED]
    assert len(notes.cast.briefs[1].resume_messages) == 4
    assert notes.ledger.spent_on_task(notes.task.id) * 4 == spent * 5
    assert notes.task.recoveries == 0


@pytest.mark.long
def test_a_retry_brings_attempts_and_no_money(notes: Town) -> None:
    issue = notes.issue("docs")
    tight = caps(max_cost_per_task_usd=Money("0.006"), max_attempts=1)
    notes.loop(plays("true", WRITE, "true", "true", "true"), caps=tight).turn()
    assert notes.stands == (State.BLOCKED, Reason.TASK_LIMIT)
    spent = notes.ledger.spent_on_task(notes.task.id)

    for _ in range(3):
        notes.comment(issue, "/fixwright retry")
        notes.loop(plays("true", WRITE), caps=tight).turn()
        assert notes.stands == (State.BLOCKED, Reason.TASK_LIMIT)
        assert "max_attempts x max_cost_per_task_usd" in notes.text(issue)

    assert notes.ledger.spent_on_task(notes.task.id) == spent <= tight.max_task_total_usd


def test_a_cap_of_nothing_spends_nothing(notes: Town) -> None:
    notes.issue("docs")
    notes.loop(plays(WRITE), caps=caps(max_cost_per_task_usd=Money(0))).turn()
    assert_refused(notes, Reason.TASK_LIMIT, "max_cost_per_task_usd")


# -- the issue and who asked ------------------------------------------------------------------------


def test_an_issue_that_was_closed_before_the_claim(calc: Town) -> None:
    issue = calc.issue()
    calc.world.close_issue(issue, calc.maintainer)  # and the delivery of it is lost

    calc.loop(plays(FIX)).turn()

    assert calc.stands == (State.CANCELLED, Reason.WITHDRAWN)
    assert len(calc.said(issue)) == 1 and "The issue is closed" in calc.text(issue)
    assert calc.attempts == []


def test_an_issue_that_was_locked(calc: Town) -> None:
    issue = calc.issue()
    calc.world.lock_issue(issue, calc.maintainer)
    calc.loop(plays(FIX)).turn()
    assert calc.stands == (State.CANCELLED, Reason.WITHDRAWN)


def test_an_issue_that_was_deleted(calc: Town) -> None:
    issue = calc.issue()
    calc.world.delete_issue(issue, calc.maintainer)

    calc.loop(plays(FIX)).turn()

    assert calc.stands == (State.CANCELLED, Reason.WITHDRAWN)
    assert "cannot be found" in calc.task.detail


def test_f122_a_label_on_a_pull_request_is_no_work(notes: Town) -> None:
    notes.world.git.push(notes.repository.id, "theirs", {"A": b"a\n"}, by=notes.maintainer)
    pull = notes.world.open_pull(
        notes.repository.id, notes.maintainer, head="theirs", base="main", title="Theirs"
    )
    ref = IssueRef(forge="local", repository_id=notes.repository.id, number=pull.number)
    notes.world.label(ref, notes.maintainer, "bug")
    notes.deliver()
    loop = notes.loop(plays(WRITE))

    while loop.turn():
        pass

    assert all(task.state is State.CANCELLED for task in notes.queue.tasks())
    assert len(notes.world.pulls(notes.repository.id)) == 1


def test_f117_somebody_without_write_access_starts_nothing(calc: Town) -> None:
    issue = calc.world.open_issue(calc.repository.id, calc.stranger, title="t")
    calc.world.label(issue, calc.stranger, "bug")
    calc.deliver()
    loop = calc.loop(plays(FIX))

    loop.turn()
    loop.turn()

    assert calc.stands == (State.CANCELLED, Reason.NOT_PERMITTED)
    (comment,) = calc.said(issue)
    assert "without write access" in comment.body
    assert calc.attempts == []


def test_write_access_that_was_taken_away_meanwhile(calc: Town) -> None:
    calc.issue()
    calc.world.grant(calc.repository.id, calc.maintainer, Permission.READ)
    calc.loop(plays(FIX)).turn()
    assert calc.stands == (State.CANCELLED, Reason.NOT_PERMITTED)


@pytest.mark.long
def test_a_permission_that_cannot_be_looked_up_is_none_and_is_looked_up_again(notes: Town) -> None:
    issue = notes.issue("docs")
    forge = faulty(notes, Fault(method="permission_of", times=2))
    loop = notes.loop(plays(WRITE), forge=forge)

    loop.turn()
    assert notes.stands == (State.QUEUED, None)
    assert notes.attempts == [] and "temporary problem" in notes.text(issue)
    waits = []
    while notes.task.state is State.QUEUED:
        assert notes.task.not_before is not None
        waits.append((notes.task.not_before - notes.clock.now()).total_seconds())
        notes.clock.forward(seconds=waits[-1])
        loop.turn()

    assert notes.stands == (State.IN_REVIEW, None)
    assert waits == [30, 60]


def test_a_forge_that_stays_away_is_not_asked_for_ever(notes: Town) -> None:
    notes.issue("docs")
    forge = faulty(notes, Fault(method="permission_of", times=1000))
    loop = notes.loop(plays(WRITE), forge=forge)

    for _ in range(MAX_RECOVERIES + 1):
        assert loop.turn()
        notes.clock.forward(hours=1)

    assert not loop.turn()
    assert_refused(notes, Reason.ENVIRONMENT, "did not answer")


# -- publishing refused -----------------------------------------------------------------------------


@pytest.mark.long
def test_a_forge_that_refuses_the_pull_request_for_good(notes: Town) -> None:
    issue = notes.issue("docs")
    refusal = PermissionRefused("the app lacks the permission `pull_requests: write`")
    forge = faulty(notes, Fault(method="ensure_pull", error=refusal))

    notes.loop(plays(WRITE), forge=forge).turn()

    assert notes.stands == (State.BLOCKED, Reason.UNPUBLISHED)
    said = notes.text(issue)
    assert "**The work is done, but it could not be published.**" in said and "pull_requests: write" in said
    assert "could not work on this here" not in said
    assert not notes.world.pulls(notes.repository.id)
    spent = notes.ledger.spent_on_task(notes.task.id)

    notes.comment(issue, "/fixwright resume")
    notes.loop(plays("the agent is not asked again"), forge=forge).turn()

    assert notes.stands == (State.IN_REVIEW, None)
    assert notes.cast.briefs == []
    assert notes.ledger.spent_on_task(notes.task.id) == spent
    assert len(notes.world.pulls(notes.repository.id)) == len(notes.branches) == 1


@pytest.mark.long
@pytest.mark.parametrize("acted", [False, True])
@pytest.mark.parametrize("method", ["ensure_pull", "repository"])
def test_a_forge_that_fails_while_publishing_costs_no_second_attempt(
    notes: Town, method: str, acted: bool
) -> None:
    notes.issue("docs")
    forge = faulty(notes)
    at_the_end = Stage({"README": lambda: forge.inject(Fault(method=method, times=2, acted=acted))})
    loop = notes.loop(plays(WRITE), forge=forge, sandbox=at_the_end)
    loop.turn()
    spent = notes.ledger.spent_on_task(notes.task.id)
    for _ in range(3):
        notes.clock.forward(hours=1)
        loop.turn()

    assert notes.stands == (State.IN_REVIEW, None)
    assert notes.outcomes == [Outcome.VERIFIED]
    assert len(notes.world.pulls(notes.repository.id)) == len(notes.branches) == 1
    assert notes.ledger.spent_on_task(notes.task.id) == spent
    assert len(notes.cast.briefs) == 1


@pytest.mark.long
def test_what_an_outage_kept_from_being_said_is_said_afterwards(notes: Town) -> None:
    issue = notes.issue("docs")
    forge = faulty(notes, Fault(method="add_comment", times=2, error=ForgeUnavailable("502")))
    loop = notes.loop(plays(WRITE), forge=forge)

    loop.turn()
    assert len(notes.said(issue)) == 1
    for _ in range(3):
        loop.turn()

    assert len(notes.said(issue)) == 2


@pytest.mark.long
def test_a_repository_lowers_its_own_budget_and_cannot_raise_it(build: BuildTown) -> None:
    place = build({**CALC, ".fixwright.yml": "max_iterations: 1\nmax_cost_per_task_usd: 100\n"})
    issue = place.issue()
    place.loop(plays(FIX, SHOW)).turn()
    assert place.stands == (State.BLOCKED, Reason.TASK_LIMIT)
    assert place.ledger.calls_on_attempt(place.attempts[0].id) == 1
    assert "max_iterations" in place.text(issue)
