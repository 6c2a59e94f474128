"""GitHub's own examples as events: all of them parse, and what is only noted keeps what was told."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from domain.events import CommandGiven, Event, IssueClosed, IssueLabelled, IssueUnlabelled, PullClosed
from domain.model import Actor
from domain.noted import (
    CheckAsked,
    InstallationChanged,
    IssueChanged,
    Noted,
    Pinged,
    PullChanged,
    RepositoryChanged,
    ReviewCommented,
    ReviewGiven,
    coalesced,
)
from domain.policy import Serving, admit
from domain.ports import Admission
from providers.github.plugin import GithubProvider

DATA = Path(__file__).parent / "github" / "contract_data"
DIALECT = GithubProvider().dialect()

KINDS = {
    ("issues", "opened"): IssueChanged,
    ("issues", "edited"): IssueChanged,
    ("issues", "reopened"): IssueChanged,
    ("issues", "labeled"): IssueLabelled,
    ("issues", "unlabeled"): IssueUnlabelled,
    ("issues", "deleted"): IssueClosed,
    ("issues", "transferred"): IssueClosed,
    ("pull_request", "closed"): PullClosed,
    ("pull_request", "opened"): PullChanged,
    ("pull_request", "reopened"): PullChanged,
    ("pull_request", "synchronize"): PullChanged,
    ("pull_request", "labeled"): PullChanged,
    ("pull_request", "ready_for_review"): PullChanged,
    ("pull_request", "converted_to_draft"): PullChanged,
    ("pull_request_review", "submitted"): ReviewGiven,
    ("pull_request_review", "dismissed"): ReviewGiven,
    ("pull_request_review_comment", "created"): ReviewCommented,
    ("check_run", "rerequested"): CheckAsked,
    ("check_run", "requested_action"): CheckAsked,
    ("installation", "created"): InstallationChanged,
    ("installation", "deleted"): InstallationChanged,
    ("installation", "suspend"): InstallationChanged,
    ("installation", "unsuspend"): InstallationChanged,
    ("installation", "new_permissions_accepted"): InstallationChanged,
    ("installation_repositories", "added"): InstallationChanged,
    ("installation_repositories", "removed"): InstallationChanged,
    ("repository", "renamed"): RepositoryChanged,
    ("repository", "transferred"): RepositoryChanged,
    ("ping", None): Pinged,
}


def unpacked(name: str) -> Any:
    return json.loads(gzip.decompress((DATA / name).read_bytes()))


EXAMPLES: list[dict[str, Any]] = unpacked("webhook-examples.json.gz")


def read(name: str, payload: object) -> Event:
    return DIALECT.parse(json.dumps(payload).encode(), [(b"x-github-event", name.encode())])


def examples(name: str, action: str | None) -> Iterator[dict[str, Any]]:
    return (each["payload"] for each in EXAMPLES if (each["event"], each["action"]) == (name, action))


def example(name: str, action: str | None) -> dict[str, Any]:
    return next(examples(name, action))


def test_every_example_is_an_event_and_those_we_name_are_of_their_kind() -> None:
    for each in EXAMPLES:
        event = read(each["event"], each["payload"])
        wanted = KINDS.get((each["event"], each["action"]))
        assert wanted is None or isinstance(event, wanted), (each["event"], each["action"], event)
        assert wanted is not None or not isinstance(event, IssueLabelled | CommandGiven | PullClosed)


def test_what_is_noted_is_written_down_and_begins_nothing() -> None:
    serving = Serving(repositories=frozenset(), own_ids={}, labels={})
    noted = [read(each["event"], each["payload"]) for each in EXAMPLES]
    found = {type(event).__name__: admit(event, serving) for event in noted if isinstance(event, Noted)}
    errands = {"RepositoryChanged", "InstallationChanged"}
    assert {name for name, admission in found.items() if admission is Admission.ERRAND} == errands
    assert set(found.values()) <= {Admission.ERRAND, Admission.SIGNAL, Admission.NOTED}


def test_an_issue_opened_with_our_label_asks_for_nothing() -> None:
    payload = example("issues", "opened")
    payload["issue"]["labels"] = [{"name": "bug"}, {"name": None}, "odd"]
    event = read("issues", payload)
    assert isinstance(event, IssueChanged) and event.labels == ("bug",)


def test_an_edit_says_what_was_edited() -> None:
    payload = example("issues", "edited")
    for changes, told in (({"title": {"from": "x"}}, (True, False)), ({"body": {}}, (False, True))):
        event = read("issues", {**payload, "changes": changes})
        assert isinstance(event, IssueChanged) and (event.title_changed, event.body_changed) == told


def test_a_push_to_a_pull_request() -> None:
    payload = example("pull_request", "synchronize")
    event = read("pull_request", payload)
    assert isinstance(event, PullChanged)
    assert event.head_sha == payload["pull_request"]["head"]["sha"]
    payload["pull_request"]["head"]["repo"] = None
    gone = read("pull_request", payload)
    assert isinstance(gone, PullChanged) and gone.head_branch == ""


def test_a_review_and_its_comments_are_put_together_in_whatever_order() -> None:
    review, comment = (
        example("pull_request_review", "submitted"),
        example("pull_request_review_comment", "created"),
    )
    second = {**comment, "comment": {**comment["comment"], "id": comment["comment"]["id"] + 1}}
    edited = {**comment, "action": "edited", "comment": {**comment["comment"], "body": "Better."}}
    other = {**review, "review": {**review["review"], "id": 5, "state": "CHANGES_REQUESTED"}}
    sent = [("pull_request_review_comment", each) for each in (second, comment, edited)]
    sent += [("pull_request_review", each) for each in (other, review, review)]
    events = [event for name, body in sent if isinstance(event := read(name, body), Noted)]
    first, last = coalesced([*events, read_noted("ping")])
    assert first.given is not None and first.given.state == "commented"
    assert first.comments[0].body == "Better." and len(first.comments) == 2
    assert last.id == "5" and last.given is not None and last.given.state == "changes_requested"


def read_noted(name: str) -> Noted:
    event = read(name, example(name, None))
    assert isinstance(event, Noted)
    return event


def test_a_button_on_a_check_tells_which_and_whose() -> None:
    event = read("check_run", example("check_run", "requested_action"))
    assert isinstance(event, CheckAsked)
    assert event.button == "lgtm|26764" and event.app_id and len(event.sha) == 40
    assert not isinstance(read("check_run", example("check_run", "completed")), Noted)


def test_an_installation_tells_where_and_which_repositories() -> None:
    event = read("installation_repositories", example("installation_repositories", "added"))
    assert isinstance(event, InstallationChanged)
    assert event.account == "Codertocat" and event.added == ("Codertocat/Space",) and not event.removed
    created = read("installation", example("installation", "created"))
    assert isinstance(created, InstallationChanged) and created.added == ("Codertocat/Hello-World",)


def test_a_renamed_or_transferred_repository_tells_its_former_name() -> None:
    renamed = read("repository", example("repository", "renamed"))
    assert isinstance(renamed, RepositoryChanged) and renamed.former_name == "Octocoders/Hello-World"
    for payload in examples("repository", "transferred"):
        moved = read("repository", payload)
        assert isinstance(moved, RepositoryChanged) and moved.former_name.count("/") == 1


@pytest.mark.parametrize("action", ["archived", "privatized", "publicized", "deleted"])
def test_other_changes_of_a_repository(action: str) -> None:
    event = read("repository", {**example("repository", "renamed"), "action": action, "changes": None})
    assert isinstance(event, RepositoryChanged) and (event.action, event.former_name) == (action, "")


def test_a_ping_of_an_app_has_no_repository() -> None:
    event = read("ping", {"zen": "Keep it logically awesome.", "hook_id": 7, "hook": {"type": "App"}})
    nobody = Actor(id="", login="")
    assert event == Pinged(forge="github", action="ping", actor=nobody, hook_id="7")


def test_a_comment_on_a_pull_request_and_a_closed_issue_as_github_sends_them() -> None:
    """Made by hand, and judged by GitHub's description: there is no example of either."""
    comment = example("issue_comment", "created")
    comment["issue"]["pull_request"] = {"url": "https://x", "html_url": "https://x"}
    comment["issue"]["pull_request"] |= {"diff_url": "https://x", "patch_url": "https://x"}
    comment["comment"]["body"] = "/fixwright resume"
    valid("issue-comment-created", comment)
    given = read("issue_comment", comment)
    assert isinstance(given, CommandGiven) and given.issue.number == comment["issue"]["number"]
    closed = {**example("issues", "reopened"), "action": "closed"}
    closed["issue"] = {**closed["issue"], "state": "closed", "closed_at": "2026-01-01T00:00:00Z"}
    valid("issues-closed", closed)
    assert isinstance(read("issues", closed), IssueClosed)


def valid(name: str, payload: object) -> None:
    description = unpacked("webhooks.json.gz")
    registry: Registry[Any] = Registry().with_resource(
        "urn:hooks", Resource.from_contents(description, DRAFT202012)
    )
    body = description["webhooks"][name]["post"]["requestBody"]["content"]["application/json"]["schema"]
    schema = json.loads(json.dumps(body).replace('"#/', '"urn:hooks#/'))
    types = list(Draft202012Validator(schema, registry=registry).iter_errors(payload))
    assert not [error.message[:200] for error in types if error.validator == "type"]
