"""Sweeps: what was missed is found once, at a pace, through the same door and by the same rules."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from domain.errors import ForgeUnavailable, NotFound
from domain.model import IssueRef, Permission, Reason
from domain.ports import Admission, Forge, Landing
from domain.states import State, Trigger
from providers.local.faulty import Fault, FaultyForge
from providers.local.forge import LocalForge
from store.history import History
from store.inbox import SqliteInbox
from tests.worker.town import CATEGORIES, WRITE, Town, plays
from worker.housekeeping import Chore, Housekeeping
from worker.sweeps import Pace, Sweeper


def sweeper(town: Town, forge: Forge | None = None, most_tasks: int = 5, **changes: Any) -> Sweeper:
    return Sweeper(
        town.queue,
        town.inbox,
        {"local": forge or LocalForge(town.root / "forge")},
        serving=changes.get("serving", town.serving),
        clock=town.clock,
        pace=Pace(most_tasks=most_tasks, reach=changes.get("reach", timedelta(days=7))),
    )


def sweep(town: Town, **changes: Any) -> None:
    """Sweep once, at the forge's time, and let the desk decide what came of it."""
    town.clock.moment = datetime.now(UTC)
    for _ in sweeper(town, **changes).steps():
        pass
    town.loop().shop.desk.clear()


def unheard(town: Town, *labels: str, by: Any = None, author: Any = None) -> IssueRef:
    """Let somebody open an issue and the maintainer label it, while nobody listens."""
    issue = town.world.open_issue(town.repository.id, author or town.stranger, title="Lamp", body="Dark.")
    town.world.label(issue, by or town.maintainer, *(labels or ("docs",)))
    return issue


def numbers(town: Town) -> list[int]:
    return [task.issue.number for task in reversed(town.queue.tasks())]


def recorded(town: Town) -> list[tuple[str, Admission]]:
    found = History(town.database).deliveries(1000)
    return [(each.kind, each.admission) for each in reversed(found)]


# -- what was to begin --------------------------------------------------------------------------------


@pytest.mark.long
def test_a_label_that_nobody_told_of_becomes_one_task_and_a_pull_request(notes: Town) -> None:
    issue = unheard(notes)
    sweep(notes)
    sweep(notes)
    notes.deliver()

    assert numbers(notes) == [issue.number]
    assert notes.task.requested_by == notes.maintainer and notes.task.body == "Dark."
    assert recorded(notes)[0] == ("IssueLabelled", Admission.QUEUED)
    notes.loop(plays(WRITE)).turn()
    assert notes.stands == (State.IN_REVIEW, None)


def test_an_issue_of_a_live_task_is_left_alone(notes: Town) -> None:
    notes.issue("docs")
    before = recorded(notes)
    sweep(notes)
    assert recorded(notes) == before


def test_a_backlog_is_worked_off_oldest_first_and_some_at_a_time(notes: Town) -> None:
    issues = [unheard(notes).number for _ in range(7)]
    standing = sweeper(notes, most_tasks=3)
    notes.clock.moment = datetime.now(UTC)
    seen = []
    for _ in range(4):
        list(standing.steps())
        seen.append(numbers(notes))
    assert seen == [issues[:3], issues[:6], issues, issues]


def test_labels_of_long_ago_are_no_request_of_today(notes: Town) -> None:
    unheard(notes)
    sweep(notes, reach=timedelta(0))
    assert recorded(notes) == []


@pytest.mark.parametrize("permission", [Permission.NONE, Permission.READ, Permission.TRIAGE])
def test_a_label_by_somebody_who_may_not_ask_begins_nothing_and_is_on_record(
    notes: Town, permission: Permission
) -> None:
    notes.world.grant(notes.repository.id, notes.stranger, permission)
    issue = unheard(notes, by=notes.stranger)
    for _ in range(2):
        sweep(notes)
    assert numbers(notes) == [] and notes.said(issue) == []
    assert recorded(notes) == [("IssueLabelled", Admission.NOT_TRUSTED)]

    notes.world.label(issue, notes.maintainer, "chore")
    sweep(notes)
    assert numbers(notes) == [issue.number] and notes.task.requested_by == notes.maintainer


def test_a_label_by_a_bot_begins_nothing(notes: Town) -> None:
    bot = notes.world.create_user("labeller", is_bot=True)
    notes.world.grant(notes.repository.id, bot, Permission.ADMIN)
    unheard(notes, by=bot)
    sweep(notes)
    assert recorded(notes) == [("IssueLabelled", Admission.OWN_EVENT)]


def test_a_text_that_was_changed_after_the_label_is_not_taken_for_approved(notes: Town) -> None:
    issue = unheard(notes)
    forge = Later(notes)
    for _ in range(2):
        sweep(notes, forge=forge)
    assert numbers(notes) == []
    assert recorded(notes) == [("IssueLabelled", Admission.NOT_TRUSTED)]
    (said,) = notes.said(issue)
    assert "takes the label off and puts it on again" in said.body

    notes.world.unlabel(issue, notes.maintainer, "docs")
    notes.world.label(issue, notes.maintainer, "docs")
    sweep(notes)
    assert numbers(notes) == [issue.number]


def test_a_maintainers_own_text_may_change(notes: Town) -> None:
    issue = unheard(notes, author=notes.maintainer)
    sweep(notes, forge=Later(notes))
    assert numbers(notes) == [issue.number]


class Later(FaultyForge):
    """The forge, where every issue was changed ten seconds after its label was put on."""

    def __init__(self, town: Town) -> None:
        super().__init__(LocalForge(town.root / "forge"))

    def labelled_issues(self, *arguments: Any, **named: Any) -> Any:
        for issue in super().labelled_issues(*arguments, **named):
            assert issue.changed_at is not None
            yield replace(issue, changed_at=issue.changed_at + timedelta(seconds=10))


def test_a_task_that_was_ended_on_purpose_stays_so_until_the_label_is_put_on_anew(notes: Town) -> None:
    notes.clock.moment = datetime.now(UTC)
    issue = notes.issue("docs")
    notes.clock.moment = datetime.now(UTC)
    notes.comment(issue, "/fixwright cancel")
    notes.loop().shop.desk.clear()
    assert notes.stands == (State.CANCELLED, Reason.WITHDRAWN)

    sweep(notes)
    assert notes.stands == (State.CANCELLED, Reason.WITHDRAWN)

    notes.world.unlabel(issue, notes.maintainer, "docs")
    notes.world.label(issue, notes.maintainer, "docs")
    sweep(notes)
    assert notes.stands == (State.QUEUED, None)


@pytest.mark.long
def test_a_finished_task_is_not_begun_again(notes: Town) -> None:
    issue = notes.issue("docs")
    notes.loop(plays(WRITE)).turn()
    notes.world.merge_pull(notes.repository.id, 2, notes.maintainer)
    notes.deliver()
    notes.loop().shop.desk.clear()
    assert notes.stands == (State.DONE, None)
    notes.world.label(issue, notes.maintainer, "bug")
    before = recorded(notes)
    sweep(notes)
    assert notes.stands == (State.DONE, None) and recorded(notes) == before


def test_repositories_that_are_not_served_or_not_there_are_passed_over(notes: Town) -> None:
    other = notes.world.create_repository("acme/other", files={"a": b""})
    notes.world.grant(other.id, notes.maintainer, Permission.ADMIN)
    issue = notes.world.open_issue(other.id, notes.maintainer, title="x", labels=["docs"])
    gone = replace(notes.serving, repositories=frozenset({"local:acme/gone", "local:acme/lamp", "x:a/b"}))
    mine = unheard(notes)
    sweep(notes, serving=gone)
    assert numbers(notes) == [mine.number] != [issue.number, mine.number]


def test_an_archived_repository_is_passed_over(notes: Town) -> None:
    unheard(notes)
    notes.world.archive(notes.repository.id)
    sweep(notes)
    assert recorded(notes) == []


@pytest.mark.parametrize("method", ["repository_named", "labelled_issues", "label_changes", "permission_of"])
def test_an_outage_or_a_rate_limit_is_waited_out(notes: Town, method: str) -> None:
    issue = unheard(notes)
    forge = FaultyForge(LocalForge(notes.root / "forge"))
    forge.inject(Fault(method=method, error=ForgeUnavailable("rate limit: come back in 60 s")))
    sweep(notes, forge=forge)
    assert numbers(notes) == []
    before = len(forge.calls)
    sweep(notes, forge=forge)
    assert numbers(notes) == [issue.number] and len(forge.calls) > before


def test_what_was_judged_is_not_asked_about_again_until_it_changes(notes: Town) -> None:
    issue = unheard(notes, by=notes.stranger)
    forge = FaultyForge(LocalForge(notes.root / "forge"))
    standing = sweeper(notes, forge)
    notes.clock.moment = datetime.now(UTC)
    list(standing.steps())
    forge.calls.clear()
    list(standing.steps())
    assert "label_changes" not in forge.calls
    notes.world.label(issue, notes.maintainer, "bug")
    list(standing.steps())
    assert numbers(notes) == [issue.number]


# -- what was to end ----------------------------------------------------------------------------------


def test_a_label_taken_off_while_nobody_listened_ends_the_task(notes: Town) -> None:
    issue = notes.issue("docs")
    notes.world.unlabel(issue, notes.maintainer, "docs")
    sweep(notes)
    assert notes.stands == (State.CANCELLED, Reason.WITHDRAWN)
    assert recorded(notes)[-1] == ("IssueUnlabelled", Admission.SIGNAL)


def test_a_label_taken_off_by_somebody_who_may_not_ends_nothing(notes: Town) -> None:
    issue = notes.issue("docs")
    notes.world.unlabel(issue, notes.stranger, "docs")
    for _ in range(2):
        sweep(notes)
    assert notes.stands == (State.QUEUED, None)
    assert notes.decisions() == ["nothing to do, or not permitted"]


def test_who_asked_by_command_after_the_label_was_off_still_wants_it(notes: Town) -> None:
    notes.clock.moment = datetime.now(UTC)
    issue = notes.issue("docs")
    notes.world.unlabel(issue, notes.maintainer, "docs")
    notes.deliver()
    notes.loop().shop.desk.clear()
    notes.clock.moment = datetime.now(UTC)
    notes.comment(issue, "/fixwright run")
    notes.loop().shop.desk.clear()
    assert notes.stands == (State.QUEUED, None)
    sweep(notes)
    assert notes.stands == (State.QUEUED, None)


@pytest.mark.parametrize("act", ["close_issue", "delete_issue"])
def test_an_issue_that_ended_while_nobody_listened_ends_the_task(notes: Town, act: str) -> None:
    issue = notes.issue("docs")
    getattr(notes.world, act)(issue, notes.stranger)
    for _ in range(2):
        sweep(notes)
    assert notes.stands == (State.CANCELLED, Reason.WITHDRAWN)
    assert recorded(notes)[2:] == [("IssueClosed", Admission.SIGNAL)]


def test_a_repository_that_cannot_be_seen_any_more_ends_nothing(notes: Town) -> None:
    notes.issue("docs")
    forge = FaultyForge(LocalForge(notes.root / "forge"))
    for method in ("issue", "repository"):
        forge.inject(Fault(method=method, error=NotFound("no such thing, or no right to see it")))
    before = recorded(notes)
    sweep(notes, forge=forge)
    assert notes.stands == (State.BLOCKED, Reason.OUT_OF_REACH) and recorded(notes) == before
    sweep(notes)
    assert notes.stands == (State.QUEUED, None) and recorded(notes) == before


@pytest.mark.long
@pytest.mark.parametrize(("act", "state"), [("merge_pull", State.DONE), ("close_pull", State.CANCELLED)])
def test_a_pull_request_that_ended_while_nobody_listened_moves_the_task(
    notes: Town, act: str, state: State
) -> None:
    notes.issue("docs")
    notes.loop(plays(WRITE)).turn()
    getattr(notes.world, act)(notes.repository.id, 2, notes.stranger)
    for _ in range(2):
        sweep(notes)
    assert notes.task.state is state
    assert [kind for kind, _ in recorded(notes)].count("PullClosed") == 1


@pytest.mark.long
def test_a_task_that_was_taken_up_anew_is_not_ended_by_its_earlier_pull_request(notes: Town) -> None:
    issue = notes.issue("docs")
    notes.loop(plays(WRITE)).turn()
    notes.world.close_pull(notes.repository.id, 2, notes.maintainer)
    notes.deliver()
    notes.loop().shop.desk.clear()
    notes.world.unlabel(issue, notes.maintainer, "docs")
    notes.world.label(issue, notes.maintainer, "docs")
    notes.deliver()
    notes.loop().shop.desk.clear()
    assert notes.stands == (State.QUEUED, None)
    sweep(notes)
    assert notes.stands == (State.QUEUED, None)


def test_a_live_task_in_order_costs_a_look_and_moves_nothing(notes: Town) -> None:
    notes.issue("docs")
    forge = FaultyForge(LocalForge(notes.root / "forge"))
    sweep(notes, forge=forge)
    assert notes.stands == (State.QUEUED, None)
    assert forge.calls.count("issue") == 1 and "label_changes" not in forge.calls


@pytest.mark.long
def test_the_loop_sweeps_before_it_waits_and_takes_up_what_it_found(notes: Town) -> None:
    unheard(notes)
    notes.clock.moment = datetime.now(UTC)
    chores = [Chore(name="sweep", every_seconds=900, steps=sweeper(notes).steps)]
    loop = notes.loop(plays(WRITE))
    waits: list[float] = []

    class Bell:
        def wait(self, timeout: float) -> bool:
            waits.append(timeout)
            if len(waits) == 2 or notes.queue.tasks()[0].state is State.IN_REVIEW:
                loop.stop()
            return False

    loop.listener = Bell()
    loop._housekeeping = Housekeeping(chores, notes.clock).keep
    loop.run()
    assert notes.stands == (State.IN_REVIEW, None)


# -- commands that nobody told us of ----------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("where", ["issue", "pull"])
def test_a_command_that_nobody_told_us_of_is_found_once(notes: Town, where: str) -> None:
    issue = notes.issue("docs")
    notes.loop(plays(WRITE)).turn()
    (pull,) = notes.world.pulls(notes.repository.id)
    place = issue if where == "issue" else replace(issue, number=pull.number)
    notes.world.comment(place, notes.stranger, "/fixwright cancel")
    notes.world.comment(place, notes.maintainer, "/fixwright retry\nShorter, please.")

    standing = sweeper(notes)
    notes.clock.moment = datetime.now(UTC)
    for _ in range(2):
        list(standing.steps())
        notes.loop().shop.desk.clear()
    notes.deliver()
    notes.loop().shop.desk.clear()

    assert notes.stands == (State.QUEUED, None)
    assert "not permitted" in notes.decisions()[0] and notes.decisions()[1] == "resumed"
    assert len(notes.decisions()) == 4
    assert all(decision.startswith("outdated: ") for decision in notes.decisions()[2:])


@pytest.mark.parametrize(
    "comment", ["edited", "ours", "by a bot", "quoted", "older than the newest word", "of long ago"]
)
def test_what_is_no_command_of_a_person_now_is_not_taken_for_one(notes: Town, comment: str) -> None:
    issue = notes.issue("docs")
    if comment == "older than the newest word":
        notes.world.comment(issue, notes.maintainer, "/fixwright cancel")
        notes.world.comment(issue, notes.maintainer, "/fixwright run")
        notes.queue.move(notes.task, Trigger.BLOCKED)
        notes.queue.move(notes.task, Trigger.RESUMED, Landing(word_at=datetime.now(UTC)))
    else:
        bot = notes.world.create_user("helper", is_bot=True)
        author = {"ours": notes.world.bot, "by a bot": bot}.get(comment, notes.maintainer)
        text = "> /fixwright cancel" if comment == "quoted" else "/fixwright cancel"
        made = notes.world.comment(issue, author, "Hm." if comment == "edited" else text)
        if comment == "edited":
            notes.world.edit_comment(made.id, notes.maintainer, text)
    sweep(notes, reach=timedelta(0) if comment == "of long ago" else timedelta(days=7))
    assert notes.stands == (State.QUEUED, None) and notes.decisions() == []


# -- places and room --------------------------------------------------------------------------------


def test_f124_what_had_no_room_is_taken_up_when_there_is_some(notes: Town) -> None:
    notes.inbox = SqliteInbox(notes.database, CATEGORIES, most_queued=2)
    issues = [notes.issue("docs") for _ in range(4)]
    standing = Sweeper(
        notes.queue,
        notes.inbox,
        {"local": LocalForge(notes.root / "forge")},
        serving=notes.serving,
        clock=notes.clock,
        pace=Pace(most_tasks=5, reach=timedelta(days=7), most_queued=2),
    )
    notes.clock.moment = datetime.now(UTC)
    list(standing.steps())
    assert numbers(notes) == [1, 2], "there is no room yet"
    notes.queue.claim("worker/a", 600)
    list(standing.steps())
    assert numbers(notes) == [1, 2, 3]
    notes.queue.claim("worker/a", 600)
    list(standing.steps())
    list(standing.steps())
    assert numbers(notes) == [issue.number for issue in issues]


def test_f120_a_sweep_wakes_what_was_parked_and_asks_little_where_nothing_can_be_seen(notes: Town) -> None:
    for _ in range(3):
        notes.issue("docs")
    notes.world.set_private(notes.repository.id, True)
    notes.world.grant(notes.repository.id, notes.world.bot, Permission.NONE)
    asked: list[str] = []

    class Counted(FaultyForge):
        def _call(self, method: str, act: Any) -> Any:
            asked.append(method)
            return super()._call(method, act)

    forge = Counted(LocalForge(notes.root / "forge"))
    sweep(notes, forge=forge)
    assert {(task.state, task.reason) for task in notes.queue.tasks()} == {
        (State.BLOCKED, Reason.OUT_OF_REACH)
    }
    assert asked == ["repository", "repository_named"], "one look for all three tasks"

    notes.world.grant(notes.repository.id, notes.world.bot, Permission.WRITE)
    sweep(notes)
    assert {(task.state, task.reason) for task in notes.queue.tasks()} == {(State.QUEUED, None)}


def test_an_issue_that_was_only_opened_with_its_label_is_one_task(notes: Town) -> None:
    """Some deliveries carry the label in `opened` and no `labeled` follows."""
    issue = notes.world.open_issue(notes.repository.id, notes.maintainer, title="Lamp", labels=["docs"])
    notes._told.update(hook.guid for hook in notes.world.deliveries() if hook.action == "labeled")
    notes.deliver()
    assert numbers(notes) == []
    sweep(notes)
    sweep(notes)
    assert numbers(notes) == [issue.number]
