"""What becomes of work when its repository is archived, hidden, renamed, given away or gone meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from domain.errors import ForgeUnavailable
from domain.model import IssueRef, Outcome, Permission, Reason, Repository
from domain.noted import InstallationChanged, RepositoryChanged
from domain.policy import admit
from domain.ports import Admission, Delivery
from domain.states import State
from providers.local.faulty import Fault, FaultyForge
from providers.local.forge import LocalForge
from tests.worker.town import WRITE, Stage, Town, caps, plays

PARKED = (State.BLOCKED, Reason.OUT_OF_REACH)
Act = Callable[[Town], object]


def archive(town: Town) -> None:
    town.world.archive(town.repository.id)


def unarchive(town: Town) -> None:
    town.world._set_repository(town.repository.id, "archived", 0)


def hide(town: Town) -> None:
    """Take the service out of the repository: it is as if it were not there."""
    town.world.set_private(town.repository.id, True)
    town.world.grant(town.repository.id, town.world.bot, Permission.NONE)


def show(town: Town) -> None:
    town.world.grant(town.repository.id, town.world.bot, Permission.WRITE)
    town.world.set_private(town.repository.id, False)


def rename(town: Town, name: str) -> None:
    town.world.rename_repository(town.repository.id, name, by=town.maintainer)


def give_away(town: Town) -> None:
    rename(town, "stranger-inc/lamp")


def take_back(town: Town) -> None:
    rename(town, "acme/lamp")


def tell(town: Town, action: str, name: str = "acme/lamp", former_name: str = "") -> Admission:
    """Deliver what a forge tells of a repository."""
    event = RepositoryChanged(
        forge="local", action=action, actor=town.maintainer, repository_id=town.repository.id,
        repository_name=name, former_name=former_name,
    )  # fmt: skip
    return deliver(town, event)


def tell_of_installation(town: Town, action: str, account: str = "acme") -> Admission:
    event = InstallationChanged(
        forge="local", action=action, actor=town.maintainer, installation_id="1", account=account
    )
    return deliver(town, event)


def deliver(town: Town, event: RepositoryChanged | InstallationChanged) -> Admission:
    key = f"told-{len(town._told)}"
    town._told.add(key)
    delivery = Delivery(
        provider="local", delivery_id=key, body_sha256=key, body=b"{}",
        received_at=town.clock.now(), event=event,
    )  # fmt: skip
    (answer,) = town.inbox.accept([delivery], lambda event: admit(event, town.serving))
    return answer.admission


def recorded(town: Town) -> list[str | None]:
    """What came of every errand."""
    with town.database.read() as connection:
        return [row[0] for row in connection.execute("SELECT decision FROM errands ORDER BY id")]


def nothing_published(town: Town) -> bool:
    return not town.branches and not town.world.pulls(town.repository.id)


# -- no delivery came: the fresh look holds ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (archive, "archived"),
        pytest.param(hide, "cannot be reached", marks=pytest.mark.long),
        pytest.param(give_away, "stranger-inc/lamp now, which is not served", marks=pytest.mark.long),
    ],
)
def test_f120_a_place_that_cannot_be_written_to_parks_the_work_and_keeps_it(
    notes: Town, act: Act, words: str
) -> None:
    issue = notes.issue("docs")
    before = len(notes.said(issue))

    loop = notes.loop(plays(WRITE, "true now"), sandbox=Stage({"true now": lambda: act(notes)}))
    loop.turn()

    assert notes.stands == PARKED
    assert words in notes.task.detail and "Nothing was published" in notes.task.detail
    assert notes.outcomes == [None], "the attempt is not over"
    assert nothing_published(notes)
    assert len(notes.world.comments(issue)) == before + 1, "only that it began"


@pytest.mark.long
@pytest.mark.parametrize(("act", "undo"), [(archive, unarchive), (hide, show), (give_away, take_back)])
def test_f120_what_was_parked_goes_on_from_its_last_step_when_the_place_is_back(
    notes: Town, act: Act, undo: Act
) -> None:
    notes.issue("docs")
    notes.loop(plays(WRITE, "true now"), sandbox=Stage({"true now": lambda: act(notes)})).turn()
    spent = notes.ledger.spent_on_task(notes.task.id)
    assert notes.stands == PARKED

    undo(notes)
    assert tell(notes, "unarchived") is Admission.ERRAND
    stage = Stage()
    notes.loop(plays(WRITE, "true now"), sandbox=stage).turn()

    assert notes.stands == (State.IN_REVIEW, None)
    assert notes.outcomes == [Outcome.VERIFIED] and len(notes.world.pulls(notes.repository.id)) == 1
    assert notes.ledger.spent_on_task(notes.task.id) == spent, "nothing was paid for twice"
    assert recorded(notes) == ["resumed: 1"]


@pytest.mark.long
def test_f117_a_requester_who_loses_the_right_meanwhile_gets_nothing_published(notes: Town) -> None:
    notes.issue("docs")

    def demote() -> None:
        notes.world.grant(notes.repository.id, notes.maintainer, Permission.READ)

    notes.loop(plays(WRITE, "true now"), sandbox=Stage({"true now": demote})).turn()

    assert notes.stands == (State.BLOCKED, Reason.RIGHT_LOST)
    assert "`mika` has read access" in notes.task.detail
    assert notes.outcomes == [None] and nothing_published(notes)


@pytest.mark.long
def test_f117_another_maintainer_s_word_publishes_the_work_of_one_who_lost_the_right(notes: Town) -> None:
    issue = notes.issue("docs")

    def demote() -> None:
        notes.world.grant(notes.repository.id, notes.maintainer, Permission.READ)

    notes.loop(plays(WRITE, "true now"), sandbox=Stage({"true now": demote})).turn()
    spent = notes.ledger.spent_on_task(notes.task.id)
    assert "may not ask for it any more" in notes.text(issue)
    notes.comment(issue, "/fixwright resume")  # of the one who lost it
    notes.loop().turn()
    assert notes.stands == (State.BLOCKED, Reason.RIGHT_LOST)
    second = notes.world.create_user("second")
    notes.world.grant(notes.repository.id, second, Permission.WRITE)
    notes.comment(issue, "/fixwright resume", by=second)
    notes.loop(plays(WRITE, "true now")).turn()

    assert notes.stands == (State.IN_REVIEW, None) and notes.task.requested_by == second
    assert notes.ledger.spent_on_task(notes.task.id) == spent


@pytest.mark.long
@pytest.mark.parametrize("was_private", [True, False])
def test_a_repository_that_changes_who_sees_it_gets_nothing_published_without_a_word(
    notes: Town, was_private: bool
) -> None:
    notes.world.set_private(notes.repository.id, was_private)
    issue = notes.issue("docs")

    def change() -> None:
        notes.world.set_private(notes.repository.id, not was_private)

    notes.loop(plays(WRITE, "true now"), sandbox=Stage({"true now": change})).turn()

    assert notes.stands == (State.BLOCKED, Reason.VISIBILITY_CHANGED) and nothing_published(notes)
    assert f"made {'public' if was_private else 'private'}" in notes.task.detail
    notes.comment(issue, "/fixwright resume")
    notes.loop(plays(WRITE, "true now")).turn()
    assert notes.stands == (State.IN_REVIEW, None)


@pytest.mark.long
def test_f122_a_label_that_was_taken_off_without_our_being_told_stops_the_publishing(notes: Town) -> None:
    issue = notes.issue("docs")
    off = Stage({"true now": lambda: notes.world.unlabel(issue, notes.maintainer, "docs")})
    notes.loop(plays(WRITE, "true now"), sandbox=off).turn()
    assert notes.stands == (State.CANCELLED, Reason.WITHDRAWN)
    assert "`mika` took the label `docs` off. Nothing was published." in notes.task.detail
    assert nothing_published(notes)


@pytest.mark.long
def test_a_label_that_somebody_without_rights_took_off_changes_nothing(notes: Town) -> None:
    issue = notes.issue("docs")
    off = Stage({"true now": lambda: notes.world.unlabel(issue, notes.stranger, "docs")})
    notes.loop(plays(WRITE, "true now"), sandbox=off).turn()
    assert notes.stands == (State.IN_REVIEW, None)


@pytest.mark.long
def test_f120_unfinished_work_is_pushed_when_its_place_is_back_and_not_before(notes: Town) -> None:
    issue = notes.issue("docs")
    stage = Stage({"true now": lambda: archive(notes)})
    few = caps(max_iterations=2)
    notes.loop(plays(WRITE, "true now", "true"), caps=few, sandbox=stage).turn()
    assert notes.stands == PARKED and nothing_published(notes)
    spent = notes.ledger.spent_on_task(notes.task.id)

    unarchive(notes)
    tell(notes, "unarchived")
    notes.loop(plays(WRITE, "true now", "true"), caps=few).turn()

    assert notes.stands == (State.BLOCKED, Reason.TASK_LIMIT)
    assert list(notes.branches) == ["fixwright/issue-1"] and "fixwright/issue-1" in notes.text(issue)
    assert notes.ledger.spent_on_task(notes.task.id) == spent


@pytest.mark.long
def test_a_repository_with_another_name_is_worked_on_under_that_name(notes: Town) -> None:
    notes.issue("docs")
    stage = Stage({"true now": lambda: rename(notes, "acme/lantern")})
    notes.loop(plays(WRITE, "true now"), sandbox=stage).turn()
    assert notes.stands == (State.IN_REVIEW, None)


# -- deliveries make it sooner ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "action"),
    [(archive, "archived"), pytest.param(hide, "privatized", marks=pytest.mark.long)],
)
def test_f120_news_of_a_place_stop_a_running_command(notes: Town, act: Act, action: str) -> None:
    notes.issue("docs")

    def happens() -> None:
        act(notes)
        assert tell(notes, action) is Admission.ERRAND

    stage = Stage({"sleep 600": happens})
    notes.loop(plays(WRITE, "sleep 600", "true never"), sandbox=stage, beat_seconds=0.01).turn()

    assert notes.stands == PARKED and notes.outcomes == [None]
    assert "true never" not in stage.commands and nothing_published(notes)
    assert recorded(notes) == ["blocked: 1"]


@pytest.mark.long
def test_news_that_a_repository_is_public_now_stops_what_runs_until_a_person_looks(notes: Town) -> None:
    notes.world.set_private(notes.repository.id, True)
    issue = notes.issue("docs")

    def happens() -> None:
        notes.world.set_private(notes.repository.id, False)
        tell(notes, "publicized")

    stage = Stage({"sleep 600": happens})
    notes.loop(plays(WRITE, "sleep 600"), sandbox=stage, beat_seconds=0.01).turn()
    assert notes.stands == (State.BLOCKED, Reason.VISIBILITY_CHANGED)
    assert "Who can see this repository has changed" in notes.text(issue)


@pytest.mark.parametrize("action", ["archived", "publicized", "privatized", "transferred", "deleted"])
def test_news_that_are_not_true_any_more_change_nothing(notes: Town, action: str) -> None:
    notes.issue("docs")
    notes.world.set_private(notes.repository.id, action == "publicized")
    tell(notes, action)
    notes.loop().shop.desk.clear()
    assert notes.stands == (State.QUEUED, None)
    assert recorded(notes) == ["left as it is: 1"]


def test_news_of_a_place_without_tasks_ask_the_forge_nothing(notes: Town) -> None:
    assert tell(notes, "archived") is Admission.ERRAND
    faults = [Fault(method="repository", times=9, error=ForgeUnavailable("no"))]
    notes.loop(forge=FaultyForge(LocalForge(notes.root / "forge"), faults)).shop.desk.clear()
    assert recorded(notes) == ["no task there"]


def test_f120_a_suspended_installation_parks_what_waits_and_wakes_it_again(notes: Town) -> None:
    issues = [notes.issue("docs"), notes.issue("docs")]
    hide(notes)
    assert tell_of_installation(notes, "suspend") is Admission.ERRAND
    desk = notes.loop().shop.desk
    desk.clear()
    assert {(task.state, task.reason) for task in notes.queue.tasks()} == {PARKED}
    assert "[" not in notes.queue.tasks()[0].detail

    show(notes)
    tell_of_installation(notes, "unsuspend", "somebody-else")
    desk.clear()
    assert {(task.state, task.reason) for task in notes.queue.tasks()} == {PARKED}
    tell_of_installation(notes, "unsuspend", "Acme")
    desk.clear()
    assert {(task.state, task.reason) for task in notes.queue.tasks()} == {(State.QUEUED, None)}
    assert all(notes.said(issue) == [] for issue in issues), "there was nothing that could be said"
    assert recorded(notes) == ["acme/lamp: blocked: 2", "no task there", "acme/lamp: resumed: 2"]


def test_a_repository_that_was_deleted_ends_its_tasks(notes: Town) -> None:
    notes.issue("docs")
    hide(notes)
    tell(notes, "deleted")
    notes.loop().shop.desk.clear()
    assert notes.stands == (State.CANCELLED, Reason.WITHDRAWN)
    assert notes.task.detail == "The repository was deleted."


def test_what_ended_while_nobody_told_us_is_not_woken(notes: Town) -> None:
    issue = notes.issue("docs")
    archive(notes)
    notes.loop().turn()
    assert notes.stands == PARKED
    unarchive(notes)
    notes.world.unlabel(issue, notes.maintainer, "docs")
    tell(notes, "unarchived")
    notes.loop().shop.desk.clear()
    assert notes.stands == (State.CANCELLED, Reason.WITHDRAWN)
    assert "took the label" in notes.task.detail


def test_an_errand_waits_for_a_forge_that_is_away(notes: Town) -> None:
    notes.issue("docs")
    archive(notes)
    tell(notes, "archived")
    faults = [Fault(method="repository", times=1, error=ForgeUnavailable("502"))]
    desk = notes.loop(forge=FaultyForge(LocalForge(notes.root / "forge"), faults)).shop.desk
    desk.clear()
    assert notes.stands == (State.QUEUED, None) and recorded(notes) == [None]
    desk.clear()
    assert notes.stands == PARKED and recorded(notes) == ["blocked: 1"]


@pytest.mark.long
def test_one_repository_out_of_reach_does_not_hold_up_another(notes: Town) -> None:
    """Its task is set aside with the reason, and the next one is worked on."""
    notes.issue("docs")
    archive(notes)
    other: Repository = notes.world.create_repository("acme/web", files={"README.md": b"# Web\n"})
    notes.world.grant(other.id, notes.maintainer, Permission.WRITE)
    notes.serving = replace(notes.serving, repositories=notes.serving.repositories | {"local:acme/web"})
    issue: IssueRef = notes.world.open_issue(other.id, notes.stranger, title="Web")
    notes.world.label(issue, notes.maintainer, "docs")
    notes.deliver()
    loop = notes.loop(plays("echo more >> README.md"))
    assert loop.turn() and loop.turn() and not loop.turn()
    assert [task.state for task in notes.queue.tasks()] == [State.IN_REVIEW, State.BLOCKED]


@pytest.mark.long
def test_news_of_a_large_installation_are_gone_through_some_at_a_time(notes: Town) -> None:
    """Each look may take long, and a lease must not run out meanwhile."""
    names = [f"acme/number-{number}" for number in range(12)]
    notes.serving = replace(
        notes.serving, repositories=notes.serving.repositories | {f"local:{name}" for name in names}
    )
    for name in names:
        place = notes.world.create_repository(name, files={"README.md": b"x\n"})
        issue = notes.world.open_issue(place.id, notes.maintainer, title="t")
        notes.world.label(issue, notes.maintainer, "docs")
        notes.world.archive(place.id)
    notes.deliver()
    tell_of_installation(notes, "new_permissions_accepted")
    desk = notes.loop().shop.desk
    parked = []
    for _ in range(3):
        desk.clear()
        parked.append(sum(task.state is State.BLOCKED for task in notes.queue.tasks()))
    assert parked == [5, 10, 12]
    (decision,) = recorded(notes)
    assert decision is not None and decision.startswith("acme/number-0: blocked: 1; acme/number-1: ")


def test_the_service_s_own_account_asks_for_nothing_though_it_is_no_bot(notes: Town) -> None:
    """Where it acts under a plain user's account, its own labels and comments look like a person's."""
    issue = notes.issue("docs")
    notes.serving = replace(notes.serving, own_ids={"local": notes.maintainer.id})
    notes.loop(plays(WRITE)).turn()
    assert notes.stands == (State.CANCELLED, Reason.NOT_PERMITTED) and nothing_published(notes)
    notes.world.comment(issue, notes.maintainer, "/fixwright run")
    unheeding, notes.serving = notes.serving, replace(notes.serving, own_ids={})
    notes.deliver()  # the web process does not know our id
    notes.serving = unheeding
    notes.loop().shop.desk.clear()
    assert "not permitted" in notes.decisions()[0] and notes.task.state is State.CANCELLED


@pytest.mark.parametrize("comes", [True, False])
def test_news_that_are_ahead_of_the_forge_are_looked_into_again_for_a_while(notes: Town, comes: bool) -> None:
    notes.issue("docs")
    hide(notes)
    tell_of_installation(notes, "created")
    desk = notes.loop().shop.desk
    for _ in range(2):
        desk.clear()
        assert recorded(notes) == [None] and notes.stands == PARKED
    if comes:
        show(notes)
    notes.clock.forward(seconds=91)
    desk.clear()
    assert recorded(notes) == [f"acme/lamp: {'resumed' if comes else 'left as it is'}: 1"]
    assert notes.stands == ((State.QUEUED, None) if comes else PARKED)


@pytest.mark.parametrize("action", ["deleted", "removed", "suspend"])
def test_f120_an_app_that_is_taken_out_ends_no_task(notes: Town, action: str) -> None:
    notes.issue("docs")
    hide(notes)
    tell_of_installation(notes, action)
    notes.loop().shop.desk.clear()
    assert notes.stands == PARKED and recorded(notes) == ["acme/lamp: blocked: 1"]
