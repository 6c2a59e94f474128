"""Webhooks of the embedded forge: recorded with the act, signed over the exact bytes, sent over real HTTP."""

from __future__ import annotations

import hashlib
import hmac
import json
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from domain.errors import ForgeError, NotFound
from domain.model import Actor, IssueRef, PullProposal, Repository
from providers.local.database import Database
from providers.local.forge import LocalForge
from providers.local.ground import BOT
from providers.local.outbox import Outbox, WebhookTarget
from providers.local.people import LocalWorld
from providers.local.webhook_faults import WebhookFault, WebhookFaults
from tests.providers.receiver import Received, Receiver

SECRET = b"an-example-secret-of-thirty-two-bytes"


@pytest.fixture
def heard(world: LocalWorld, target: WebhookTarget, issue: IssueRef) -> LocalWorld:
    """The same world as `world`, with its webhooks sent to the receiver."""
    return LocalWorld(world.root, target)


def payload(received: Received) -> dict[str, object]:
    found = json.loads(received.body)
    assert isinstance(found, dict)
    return found


def test_a_delivery_has_the_headers_and_the_signature_of_its_bytes(
    heard: LocalWorld, issue: IssueRef, rosa: Actor, receiver: Receiver
) -> None:
    heard.label(issue, rosa, "bug")
    (received,) = receiver.received
    expected = "sha256=" + hmac.new(SECRET, received.body, hashlib.sha256).hexdigest()
    assert received.headers["x-fixwright-signature-256"] == expected
    assert received.headers["content-type"] == "application/json"
    assert received.headers["user-agent"].startswith("Fixwright")
    assert (received.path, received.event) == ("/webhooks/local", "issues")
    assert str(uuid.UUID(received.guid)) == received.guid


def test_what_is_on_record_is_what_was_sent(
    heard: LocalWorld, issue: IssueRef, rosa: Actor, receiver: Receiver
) -> None:
    heard.label(issue, rosa, "bug")
    record = heard.deliveries()[-1]
    assert (record.guid, record.payload) == (receiver.received[0].guid, receiver.received[0].body)
    assert (record.status, record.attempts, record.detail) == ("delivered", 1, "")
    assert record.sent_at is not None and record.sent_at.tzinfo is not None


def test_a_label_event_has_the_shape_that_a_forge_gives_it(
    heard: LocalWorld, repository: Repository, issue: IssueRef, rosa: Actor, receiver: Receiver
) -> None:
    heard.label(issue, rosa, "bug")
    body = payload(receiver.received[0])
    assert body["action"] == "labeled" and body["label"] == {"name": "bug"}
    assert body["sender"] == {"id": int(rosa.id), "login": "rosa", "type": "User"}
    assert body["repository"] == {
        "id": int(repository.id),
        "name": "widgets",
        "full_name": "octo/widgets",
        "private": False,
        "default_branch": "main",
        "archived": False,
        "html_url": "local://octo/widgets",
    }
    shown = body["issue"]
    assert isinstance(shown, dict) and "pull_request" not in shown and "installation" not in body
    assert (shown["number"], shown["title"], shown["body"]) == (1, "Crash on start", "It crashes.")
    assert (shown["state"], shown["labels"]) == ("open", [{"name": "bug"}])
    assert shown["user"] == body["sender"] and shown["html_url"] == "local://octo/widgets/issues/1"


def test_an_issue_without_a_body_has_null_for_one(
    heard: LocalWorld, repository: Repository, rosa: Actor, receiver: Receiver
) -> None:
    heard.open_issue(repository.id, rosa, title="Only a title")
    shown = payload(receiver.received[0])["issue"]
    assert isinstance(shown, dict) and shown["body"] is None


def test_an_issue_opened_with_labels_is_several_events(
    heard: LocalWorld, repository: Repository, rosa: Actor, receiver: Receiver
) -> None:
    heard.open_issue(repository.id, rosa, title="Labelled", labels=("bug", "urgent"))
    assert [payload(one)["action"] for one in receiver.received] == ["opened", "labeled", "labeled"]
    assert len({one.guid for one in receiver.received}) == 3


Act = Callable[[LocalWorld, IssueRef, Actor], object]

ACTS: list[tuple[str, str, Act]] = [
    ("issues", "edited", lambda world, issue, by: world.edit_issue(issue, by, title="Another")),
    ("issues", "labeled", lambda world, issue, by: world.label(issue, by, "bug")),
    ("issues", "closed", lambda world, issue, by: world.close_issue(issue, by)),
    ("issues", "deleted", lambda world, issue, by: world.delete_issue(issue, by)),
    ("issues", "locked", lambda world, issue, by: world.lock_issue(issue, by)),
    ("issues", "assigned", lambda world, issue, by: world.assign(issue, by, by)),
    ("issue_comment", "created", lambda world, issue, by: world.comment(issue, by, "hello")),
]


@pytest.mark.parametrize(("event", "action", "act"), ACTS, ids=[action for _, action, _ in ACTS])
def test_each_act_is_told(
    heard: LocalWorld,
    issue: IssueRef,
    rosa: Actor,
    receiver: Receiver,
    event: str,
    action: str,
    act: Act,
) -> None:
    act(heard, issue, rosa)
    assert [(one.event, payload(one)["action"]) for one in receiver.received] == [(event, action)]


def test_an_act_that_changes_nothing_is_not_told(
    heard: LocalWorld, issue: IssueRef, rosa: Actor, receiver: Receiver
) -> None:
    heard.label(issue, rosa, "bug")
    heard.close_issue(issue, rosa)
    comment = heard.comment(issue, rosa, "hello")
    receiver.received.clear()
    heard.label(issue, rosa, "bug", "BUG")
    heard.unlabel(issue, rosa, "docs")
    heard.close_issue(issue, rosa)
    heard.edit_issue(issue, rosa, title="Crash on start", body="It crashes.")
    heard.edit_comment(comment.id, rosa, "hello")
    assert receiver.received == []


def test_a_refused_act_leaves_neither_change_nor_delivery(
    heard: LocalWorld, repository: Repository, issue: IssueRef, rosa: Actor, receiver: Receiver
) -> None:
    before = heard.deliveries()
    with pytest.raises(ForgeError):
        heard.label(issue, rosa, "bug", "x" * 51)
    assert heard.issues(repository.id)[0].labels == ()
    assert receiver.received == [] and heard.deliveries() == before


def test_what_the_bot_does_is_told_too(
    world: LocalWorld,
    repository: Repository,
    issue: IssueRef,
    rosa: Actor,
    target: WebhookTarget,
    receiver: Receiver,
) -> None:
    world.git.push(repository.id, "fix", {"fix.txt": b"x"}, by=rosa)
    forge = LocalForge(world.root, BOT, target)
    forge.ensure_comment(issue, "status", "working")
    forge.ensure_comment(issue, "status", "done")
    forge.ensure_comment(issue, "status", "done")
    forge.ensure_pull(repository.id, proposal())
    told = [(one.event, payload(one)["action"]) for one in receiver.received]
    assert told == [
        ("issue_comment", "created"),
        ("issue_comment", "edited"),
        ("pull_request", "opened"),
        ("pull_request", "labeled"),
    ]
    assert {json.dumps(payload(one)["sender"]) for one in receiver.received} == {
        '{"id": 1, "login": "fixwright[bot]", "type": "Bot"}'
    }
    pull = payload(receiver.received[2])["pull_request"]
    assert isinstance(pull, dict) and pull["draft"] is True and pull["merged"] is False
    assert pull["head"]["ref"] == "fix" and pull["base"] == {"ref": "main"}


def test_a_comment_on_a_pull_request_says_that_it_is_one(
    heard: LocalWorld, repository: Repository, rosa: Actor, receiver: Receiver
) -> None:
    heard.git.push(repository.id, "fix", {"fix.txt": b"x"}, by=rosa)
    pull = heard.open_pull(repository.id, rosa, head="fix", base="main", title="Mine")
    receiver.received.clear()
    heard.comment(IssueRef(forge="local", repository_id=repository.id, number=pull.number), rosa, "nice")
    shown = payload(receiver.received[0])["issue"]
    assert isinstance(shown, dict) and shown["pull_request"] == {"html_url": pull.url}


def test_a_merge_is_a_closed_pull_request_and_a_push(
    heard: LocalWorld, repository: Repository, rosa: Actor, receiver: Receiver
) -> None:
    heard.git.push(repository.id, "fix", {"fix.txt": b"x"}, by=rosa)
    pull = heard.open_pull(repository.id, rosa, head="fix", base="main", title="Mine")
    receiver.received.clear()
    heard.merge_pull(repository.id, pull.number, rosa)
    assert receiver.events == ["pull_request", "push"]
    closed = payload(receiver.received[0])
    assert closed["action"] == "closed" and closed["number"] == pull.number
    assert isinstance(closed["pull_request"], dict) and closed["pull_request"]["merged"] is True


def test_a_dead_receiver_stops_nobody(
    world: LocalWorld, issue: IssueRef, rosa: Actor, receiver: Receiver, target: WebhookTarget
) -> None:
    receiver.close()
    heard = LocalWorld(world.root, target)
    heard.label(issue, rosa, "bug")
    record = heard.deliveries()[-1]
    assert (record.status, record.attempts) == ("failed", 1) and "ConnectError" in record.detail


@pytest.mark.parametrize("status", [301, 401, 404, 500, 503])
def test_an_unhappy_answer_is_on_record(
    heard: LocalWorld, issue: IssueRef, rosa: Actor, receiver: Receiver, status: int
) -> None:
    receiver.status = status
    heard.label(issue, rosa, "bug")
    record = heard.deliveries()[-1]
    assert (record.status, record.detail) == ("failed", f"answered {status}")
    assert len(receiver.received) == 1, "neither tried again nor redirected"


def test_a_receiver_that_does_not_answer_is_not_waited_for(
    world: LocalWorld, issue: IssueRef, rosa: Actor, receiver: Receiver, target: WebhookTarget
) -> None:
    receiver.may_answer.clear()
    LocalWorld(world.root, replace(target, timeout_seconds=0.05)).label(issue, rosa, "bug")
    receiver.may_answer.set()
    record = world.deliveries()[-1]
    assert record.status == "failed" and "ReadTimeout" in record.detail


def test_a_record_that_cannot_be_written_stops_nobody(
    world: LocalWorld, issue: IssueRef, target: WebhookTarget, receiver: Receiver
) -> None:
    (record,) = world.deliveries()
    busy = Database(world.root / "forge.db", busy_seconds=0.01)
    with busy.write():
        Outbox(busy, target).send_all([record.guid])
    assert len(receiver.received) == 1
    assert world.deliveries() == [record]


def test_redelivery_is_the_same_guid_and_the_same_bytes(
    heard: LocalWorld, issue: IssueRef, rosa: Actor, receiver: Receiver
) -> None:
    receiver.status = 503
    heard.label(issue, rosa, "bug")
    receiver.status = 202
    heard.edit_issue(issue, rosa, title="Changed since")
    record = heard.redeliver(receiver.received[0].guid)
    first, _edit, again = receiver.received
    assert (again.guid, again.body) == (first.guid, first.body)
    assert again.headers["x-fixwright-signature-256"] == first.headers["x-fixwright-signature-256"]
    assert (record.status, record.attempts) == ("delivered", 2)


def test_redelivery_needs_a_delivery(heard: LocalWorld) -> None:
    with pytest.raises(NotFound):
        heard.redeliver("no-such-guid")


def test_without_a_target_deliveries_wait_on_record(
    world: LocalWorld, issue: IssueRef, target: WebhookTarget, receiver: Receiver
) -> None:
    (record,) = world.deliveries()
    assert (record.event, record.action, record.status, record.attempts) == ("issues", "opened", "pending", 0)
    assert LocalWorld(world.root, target).redeliver(record.guid).status == "delivered"
    assert receiver.received[0].body == record.payload


def test_the_secret_shows_in_no_representation(target: WebhookTarget) -> None:
    assert target.secret not in repr(target)


def faulty(root: Path, target: WebhookTarget, *plan: WebhookFault | None) -> LocalWorld:
    return LocalWorld(root, target, WebhookFaults(plan))


def test_a_dropped_delivery_comes_only_by_redelivery(
    world: LocalWorld, issue: IssueRef, rosa: Actor, target: WebhookTarget, receiver: Receiver
) -> None:
    lossy = faulty(world.root, target, WebhookFault.DROP)
    lossy.label(issue, rosa, "bug")
    lossy.comment(issue, rosa, "anybody there?")
    assert receiver.events == ["issue_comment"]
    dropped = next(record for record in lossy.deliveries() if record.action == "labeled")
    assert dropped.status == "pending"
    assert lossy.redeliver(dropped.guid).status == "delivered" and receiver.events[-1] == "issues"


def test_a_duplicate_is_the_same_delivery_twice(
    world: LocalWorld, issue: IssueRef, rosa: Actor, target: WebhookTarget, receiver: Receiver
) -> None:
    faulty(world.root, target, WebhookFault.DUPLICATE).label(issue, rosa, "bug")
    first, second = receiver.received
    assert (first.guid, first.body) == (second.guid, second.body)


def test_a_delayed_delivery_comes_when_it_is_released(
    world: LocalWorld, issue: IssueRef, rosa: Actor, target: WebhookTarget, receiver: Receiver
) -> None:
    slow = faulty(world.root, target, WebhookFault.DELAY)
    slow.label(issue, rosa, "bug")
    slow.comment(issue, rosa, "quicker")
    assert receiver.events == ["issue_comment"]
    slow.hooks.release()
    slow.hooks.release()
    assert receiver.events == ["issue_comment", "issues"]


def test_reordered_deliveries_change_places(
    world: LocalWorld, issue: IssueRef, rosa: Actor, target: WebhookTarget, receiver: Receiver
) -> None:
    shuffled = faulty(world.root, target, WebhookFault.REORDER, None)
    shuffled.label(issue, rosa, "bug")
    shuffled.comment(issue, rosa, "first in")
    shuffled.close_issue(issue, rosa)
    assert [payload(one)["action"] for one in receiver.received] == ["created", "labeled", "closed"]


def test_what_is_sent_means_what_was_done(
    heard: LocalWorld, repository: Repository, issue: IssueRef, rosa: Actor, receiver: Receiver
) -> None:
    pytest.importorskip("providers.webhooks")
    from domain.events import (
        CommandGiven,
        IssueClosed,
        IssueLabelled,
        IssueUnlabelled,
        PullClosed,
        Uninteresting,
    )
    from domain.noted import Noted
    from providers.local.plugin import LocalProvider

    heard.label(issue, rosa, "bug")
    heard.unlabel(issue, rosa, "bug")
    heard.comment(issue, rosa, "/fixwright resume\nuse the other file")
    heard.close_issue(issue, rosa)
    heard.git.push(repository.id, "fix", {"fix.txt": b"x"}, by=rosa)
    pull = heard.open_pull(repository.id, rosa, head="fix", base="main", title="Mine")
    heard.merge_pull(repository.id, pull.number, rosa)
    dialect, events = LocalProvider().dialect(), []
    for one in receiver.received:
        headers = [(name.encode(), value.encode()) for name, value in one.headers.items()]
        assert dialect.verify(one.body, headers, [SECRET])
        assert not dialect.verify(one.body + b" ", headers, [SECRET])
        assert dialect.delivery_id(headers) == one.guid
        events.append(dialect.parse(one.body, headers))
    meant = [event for event in events if not isinstance(event, Noted | Uninteresting)]
    assert [type(event) for event in meant] == [
        IssueLabelled,
        IssueUnlabelled,
        CommandGiven,
        IssueClosed,
        PullClosed,
    ]
    labelled, merged = meant[0], meant[-1]
    assert isinstance(labelled, IssueLabelled) and (labelled.issue, labelled.actor) == (issue, rosa)
    assert (labelled.repository_name, labelled.title) == ("octo/widgets", "Crash on start")
    assert isinstance(merged, PullClosed) and merged.merged and merged.head_branch == "fix"


def proposal() -> PullProposal:
    return PullProposal(
        title="Fix",
        body="Words.",
        head_branch="fix",
        base_branch="main",
        marker="<!-- fixwright:task-1 -->",
        labels=("fixwright",),
    )


def test_a_webhook_set_on_the_forge_hears_everybody_also_the_bot_in_another_process(
    world: LocalWorld, issue: IssueRef, rosa: Actor, target: WebhookTarget, receiver: Receiver
) -> None:
    world.hooks.configure(target)
    world.label(issue, rosa, "bug")
    LocalForge(world.root).ensure_comment(issue, "status", "Working on it.")
    assert [received.event for received in receiver.received] == ["issues", "issue_comment"]
    sender = payload(receiver.received[-1])["sender"]
    assert isinstance(sender, dict) and sender["type"] == "Bot"
    world.hooks.configure(replace(target, secret="another-secret-of-thirty-two-bytes!"))
    world.unlabel(issue, rosa, "bug")
    expected = hmac.new(b"another-secret-of-thirty-two-bytes!", receiver.received[-1].body, hashlib.sha256)
    assert receiver.received[-1].headers["x-fixwright-signature-256"] == "sha256=" + expected.hexdigest()
