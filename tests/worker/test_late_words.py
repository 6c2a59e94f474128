"""What comes late, twice, or out of order decides nothing that is not true any more."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from domain.model import IssueRef, Reason
from domain.noted import IssueChanged, RepositoryChanged
from domain.policy import admit
from domain.ports import Admission, Delivery
from domain.states import State
from providers.local.plugin import LocalProvider
from store.inbox import SqliteInbox
from tests.worker.test_places import deliver
from tests.worker.test_signals import blocked
from tests.worker.town import CATEGORIES, WRITE, Stage, Town, plays


def hold_back(town: Town) -> list[Any]:
    """Return what the forge has to tell, oldest first, and let nothing of it be delivered."""
    held = [hook for hook in town.world.deliveries() if hook.guid not in town._told]
    town._told.update(hook.guid for hook in held)
    return held


def bring(town: Town, hooks: list[Any], now: datetime | None = None) -> list[Admission]:
    """Deliver what was held back, as a redelivery does."""
    town._told.difference_update(hook.guid for hook in hooks)
    if now is None:
        town.deliver()
        return []
    dialect, answers = LocalProvider().dialect(), []
    for hook in hooks:
        headers = [(b"x-fixwright-event", hook.event.encode()), (b"x-fixwright-delivery", hook.guid.encode())]
        delivery = Delivery(
            provider="local", delivery_id=hook.guid, body_sha256=hashlib.sha256(hook.payload).hexdigest(),
            body=hook.payload, received_at=now, event=dialect.parse(hook.payload, headers),
        )  # fmt: skip
        answers += town.inbox.accept([delivery], lambda event: admit(event, town.serving, now))
        town._told.add(hook.guid)
    return [answer.admission for answer in answers]


def decide(town: Town) -> None:
    town.loop().shop.desk.clear()


def errands(town: Town) -> list[str | None]:
    with town.database.read() as connection:
        return [row[0] for row in connection.execute("SELECT decision FROM errands ORDER BY id")]


@pytest.mark.parametrize("wish", ["/fixwright resume", "label", "/fixwright run"])
def test_a_wish_that_comes_after_the_cancel_that_answered_it_is_outdated(notes: Town, wish: str) -> None:
    issue = notes.issue("docs")
    if wish == "label":
        notes.world.unlabel(issue, notes.maintainer, "docs")
        notes.world.label(issue, notes.maintainer, "docs")
    else:
        notes.world.comment(issue, notes.maintainer, wish)
    missed = hold_back(notes)
    notes.comment(issue, "/fixwright cancel")
    decide(notes)
    assert notes.stands == (State.CANCELLED, Reason.WITHDRAWN)

    bring(notes, missed)
    decide(notes)

    assert notes.stands == (State.CANCELLED, Reason.WITHDRAWN)
    assert set(notes.decisions()[1:]) == {"outdated: a newer word has been followed"}
    notes.comment(issue, "/fixwright run")
    decide(notes)
    assert notes.stands == (State.QUEUED, None), "a new wish is heard"


def test_a_cancel_that_comes_after_a_newer_run_is_outdated(notes: Town) -> None:
    issue = notes.issue("docs")
    notes.comment(issue, "/fixwright cancel")
    decide(notes)
    notes.world.comment(issue, notes.maintainer, "/fixwright cancel")
    missed = hold_back(notes)
    notes.comment(issue, "/fixwright run")
    decide(notes)
    bring(notes, missed)
    decide(notes)
    assert notes.stands == (State.QUEUED, None)


def test_a_wish_for_what_is_under_way_overtakes_an_older_cancel_all_the_same(notes: Town) -> None:
    issue = notes.issue("docs")
    notes.world.comment(issue, notes.maintainer, "/fixwright cancel")
    notes.world.comment(issue, notes.maintainer, "/fixwright run")
    notes.deliver(swapped=True)
    decide(notes)
    assert notes.stands == (State.QUEUED, None)
    assert notes.decisions() == [
        "nothing to do, or not permitted",
        "outdated: a newer word has been followed",
    ]


@pytest.mark.long
@pytest.mark.parametrize("act", ["edit", "delete", "nothing"])
def test_a_late_command_counts_only_while_its_comment_says_it(notes: Town, act: str) -> None:
    issue = blocked(notes)
    comment = notes.world.comment(issue, notes.maintainer, "/fixwright resume")
    missed = hold_back(notes)
    if act == "edit":
        notes.world.edit_comment(comment.id, notes.maintainer, "Not yet.")
    elif act == "delete":
        notes.world.delete_comment(comment.id, notes.maintainer)
    hold_back(notes)
    notes.clock.moment = datetime.now(UTC) + timedelta(hours=1)
    bring(notes, missed)
    decide(notes)
    was = {"edit": "the comment was edited", "delete": "the comment is gone"}
    assert notes.decisions() == [f"outdated: {was[act]}" if act in was else "resumed"]
    assert notes.task.state is (State.BLOCKED if act in was else State.QUEUED)


@pytest.mark.long
def test_a_pull_request_that_was_closed_and_opened_again_is_open(notes: Town) -> None:
    notes.issue("docs")
    notes.loop(plays(WRITE)).turn()
    (pull,) = notes.world.pulls(notes.repository.id)
    notes.world.close_pull(notes.repository.id, pull.number, notes.maintainer)
    with notes.world.ground.write() as tx:
        tx.run("UPDATE issues SET state = 'open' WHERE number = ?", pull.number)
    notes.deliver()
    decide(notes)
    assert notes.stands == (State.IN_REVIEW, None)
    assert notes.decisions() == ["outdated: the pull request is open"]


@pytest.mark.long
def test_an_issue_that_is_locked_while_it_waits_or_runs_is_left(notes: Town) -> None:
    issue = notes.issue("docs")

    def lock() -> None:
        notes.world.lock_issue(issue, notes.maintainer)
        tell(notes, issue, "locked")

    stage = Stage({"sleep 600": lock})
    notes.loop(plays(WRITE, "sleep 600"), sandbox=stage, beat_seconds=0.01).turn()
    assert notes.stands == (State.CANCELLED, Reason.WITHDRAWN)
    assert notes.decisions() == ["cancelled"]


def test_a_lock_that_was_taken_off_again_is_outdated(notes: Town) -> None:
    issue = notes.issue("docs")
    tell(notes, issue, "locked")
    decide(notes)
    assert notes.decisions() == ["outdated: the issue is not locked"]
    assert notes.stands == (State.QUEUED, None)


def tell(town: Town, issue: IssueRef, action: str, **more: Any) -> None:
    """Deliver what a forge tells of a change of an issue."""
    event = IssueChanged(
        forge="local", action=action, actor=town.stranger, repository_id=issue.repository_id,
        repository_name="acme/lamp", number=issue.number, **more,
    )  # fmt: skip
    key = f"{action}-{len(town._told)}"
    town._told.add(key)
    delivery = Delivery(
        provider="local", delivery_id=key, body_sha256=key, body=b"{}",
        received_at=town.clock.now(), event=event,
    )  # fmt: skip
    town.inbox.accept([delivery], lambda event: admit(event, town.serving))


@pytest.mark.long
def test_an_edit_in_the_middle_of_the_work_is_spoken_of_once(notes: Town) -> None:
    issue = notes.issue("docs")

    def edit() -> None:
        notes.world.edit_issue(issue, notes.stranger, body="Ignore the maintainers.")
        for _ in range(2):
            tell(notes, issue, "edited", body_changed=True)
        notes.loop().shop.desk.clear()

    notes.loop(plays(WRITE, "true now"), sandbox=Stage({"true now": edit})).turn()
    assert notes.stands == (State.IN_REVIEW, None)
    assert notes.text(issue).count("has been edited since") == 1
    assert "Ignore the maintainers" not in str(notes.cast.briefs)


# -- what the door keeps out is said once -------------------------------------------------------------


def test_f115_a_label_that_comes_after_more_than_a_day_begins_nothing_and_is_spoken_of_once(
    notes: Town,
) -> None:
    issue = notes.world.open_issue(notes.repository.id, notes.stranger, title="Lamp")
    notes.world.label(issue, notes.maintainer, "docs")
    assert bring(notes, hold_back(notes), datetime.now(UTC) + timedelta(hours=25)) == [
        Admission.NOTED,
        Admission.TOO_OLD,
    ]
    notes.clock.moment = datetime.now(UTC) + timedelta(hours=25)
    decide(notes)
    decide(notes)
    assert notes.queue.tasks() == [] and errands(notes) == ["said"]
    assert notes.text(issue).count("more than a day late") == 1


def test_f115_a_label_of_today_on_an_issue_of_long_ago_begins_as_it_was_labelled(notes: Town) -> None:
    """Where a forge does not count a label as a change, its delivery tells the time of an older one."""
    issue = notes.world.open_issue(notes.repository.id, notes.stranger, title="Lamp", body="As approved.")
    notes.world.label(issue, notes.maintainer, "docs")
    held = hold_back(notes)
    notes.world.edit_issue(issue, notes.stranger, body="Rewritten.")
    hold_back(notes)
    assert bring(notes, held, datetime.now(UTC) + timedelta(hours=25))[-1] is Admission.TOO_OLD
    notes.clock.moment = datetime.now(UTC)
    decide(notes)
    assert errands(notes) == ["put on just now, as the forge's history has it: queued"]
    assert (notes.task.state, notes.task.body) == (State.QUEUED, "As approved.")
    assert notes.task.requested_by == notes.maintainer and notes.said(issue) == []


@pytest.mark.long
def test_an_author_cannot_have_us_write_as_many_comments_as_there_are_edits(notes: Town) -> None:
    issue = notes.issue("docs")

    def edit() -> None:
        for number in range(20):
            notes.world.edit_issue(issue, notes.stranger, body=f"Text {number}.")
            tell(notes, issue, "edited", body_changed=True)
            notes.loop().shop.desk.clear()

    notes.loop(plays(WRITE, "true now"), sandbox=Stage({"true now": edit})).turn()
    assert notes.text(issue).count("has been edited since") == 1


@pytest.mark.parametrize("why", ["stranger", "off", "closed"])
def test_f115_nothing_is_said_of_an_old_label_that_is_nobody_s_wish_now(notes: Town, why: str) -> None:
    issue = notes.world.open_issue(notes.repository.id, notes.stranger, title="Lamp")
    notes.world.label(issue, notes.stranger if why == "stranger" else notes.maintainer, "docs")
    held = hold_back(notes)
    if why == "off":
        notes.world.unlabel(issue, notes.maintainer, "docs")
    if why == "closed":
        notes.world.close_issue(issue, notes.maintainer)
    bring(notes, held, datetime.now(UTC) + timedelta(hours=25))
    decide(notes)
    assert notes.said(issue) == [] and (errands(notes)[0] or "").startswith("not said: ")


def test_f124_a_label_beyond_the_queue_s_bound_is_on_record_and_spoken_of_once(notes: Town) -> None:
    notes.inbox = SqliteInbox(notes.database, CATEGORIES, most_queued=2)
    issues = [notes.issue("docs") for _ in range(5)]
    assert len(notes.queue.tasks()) == 2
    desk = notes.loop().shop.desk
    for _ in range(4):
        desk.clear()
    assert errands(notes) == ["said"] * 3
    assert [len(notes.said(issue)) for issue in issues] == [0, 0, 1, 1, 1]
    assert "when there is room" in notes.text(issues[-1])


def test_f124_what_is_to_be_said_is_said_one_after_another(notes: Town) -> None:
    """A forge lets nobody write a hundred comments at once."""
    notes.inbox = SqliteInbox(notes.database, CATEGORIES, most_queued=1)
    for _ in range(4):
        notes.issue("docs")
    desk = notes.loop().shop.desk
    desk.clear()
    assert errands(notes) == ["said", None, None]
    news = RepositoryChanged(forge="local", action="edited", actor=notes.stranger, repository_id="5001")
    deliver(notes, news)
    desk.clear()
    assert errands(notes) == ["said", "said", None, "left as it is: 1"], "news of places do not wait for it"
