"""GitHub-shaped payloads into events: what is used is read exactly, everything else is tolerated."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.events import (
    CommandGiven,
    Event,
    IssueClosed,
    IssueLabelled,
    IssueUnlabelled,
    PullClosed,
    Uninteresting,
    Verb,
)
from domain.model import Actor, IssueRef
from domain.noted import IssueChanged, IssueCommented, Noted
from providers.webhooks import GitHubShapedDialect

DIALECT = GitHubShapedDialect("local", "X-Event", "X-Delivery", "X-Signature")

ISSUE: dict[str, Any] = {"number": 7, "title": "It breaks", "body": "Badly.", "new_field": [1, {}]}
REPOSITORY: dict[str, Any] = {"id": 42, "full_name": "acme/shop"}
SENDER: dict[str, Any] = {"id": 9, "login": "mia", "type": "User"}
REFERENCE = IssueRef(forge="local", repository_id="42", number=7)
MIA = Actor(id="9", login="mia")


def payload(action: str, **fields: Any) -> dict[str, Any]:
    return {"action": action, "repository": REPOSITORY, "sender": SENDER, **fields}


def labelled(**changes: Any) -> dict[str, Any]:
    return payload("labeled", **{"issue": ISSUE, "label": {"name": "bug"}, **changes})


def read(name: str, content: object) -> Event:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return DIALECT.parse(body, [(b"x-event", name.encode())])


def test_a_label_carries_title_and_body_as_they_stood() -> None:
    assert read("issues", labelled()) == IssueLabelled(
        issue=REFERENCE, repository_name="acme/shop", actor=MIA, label="bug", title="It breaks", body="Badly."
    )


def test_a_label_taken_off() -> None:
    event = read("issues", payload("unlabeled", issue=ISSUE, label={"name": "bug"}))
    assert event == IssueUnlabelled(issue=REFERENCE, actor=MIA, label="bug")


@pytest.mark.parametrize("action", ["closed", "deleted", "transferred"])
def test_an_issue_that_is_gone(action: str) -> None:
    assert read("issues", payload(action, issue=ISSUE)) == IssueClosed(issue=REFERENCE, actor=MIA)


@pytest.mark.parametrize("where", [ISSUE, {**ISSUE, "pull_request": {"url": "x"}}], ids=["issue", "pull"])
def test_a_command_on_an_issue_or_a_pull_request(where: dict[str, Any]) -> None:
    comment = {"id": 501, "body": "/fixwright resume\nLook at the parser."}
    event = read("issue_comment", payload("created", issue=where, comment=comment))
    told = {} if "pull_request" in where else {"title": "It breaks", "body": "Badly."}
    assert event == CommandGiven(
        issue=REFERENCE,
        actor=MIA,
        verb=Verb.RESUME,
        comment_id="501",
        text=comment["body"],
        repository_name="acme/shop",
        **told,
    )


def test_a_command_brings_whom_it_calls_and_the_issues_labels() -> None:
    comment = {"id": 501, "body": "@fixer run"}
    issue = {**ISSUE, "labels": [{"name": "docs"}, {"name": None}, "odd", {"name": "x"}]}
    event = read("issue_comment", payload("created", issue=issue, comment=comment))
    assert isinstance(event, CommandGiven)
    assert (event.addressed, event.labels) == ("fixer", ("docs", "x"))


@pytest.mark.parametrize("word", ["cancel", "budget 3.00", "allow " + "a" * 40])
def test_only_who_asks_for_work_asks_on_the_issues_text(word: str) -> None:
    comment = {"id": 501, "body": f"/fixwright {word}"}
    event = read("issue_comment", payload("created", issue=ISSUE, comment=comment))
    assert isinstance(event, CommandGiven) and (event.title, event.body) == (None, None)


def test_an_issue_without_a_text_is_asked_on_without_one() -> None:
    comment = {"id": 501, "body": "/fixwright run"}
    event = read("issue_comment", payload("created", issue={**ISSUE, "body": None}, comment=comment))
    assert isinstance(event, CommandGiven) and event.body == ""


@pytest.mark.parametrize(
    "text",
    [
        "> /fixwright resume",
        "```\n/fixwright resume\n```",
        "<!-- /fixwright resume -->",
        "| /fixwright resume |",
        "    /fixwright resume",
        "please /fixwright resume",
        "",
    ],
)
def test_f118_quoted_fenced_hidden_or_mixed_commands_are_none(text: str) -> None:
    event = read("issue_comment", payload("created", issue=ISSUE, comment={"id": 1, "body": text}))
    assert isinstance(event, IssueCommented) and (event.number, event.comment_id) == (7, "1")
    pull = {**ISSUE, "pull_request": {"html_url": "https://forge.example/pull/7"}}
    event = read("issue_comment", payload("created", issue=pull, comment={"id": 1, "body": text}))
    assert event == Uninteresting(why="issue_comment.created without a command")


@pytest.mark.parametrize("action", ["edited", "deleted"])
def test_f118_only_a_new_comment_commands(action: str) -> None:
    comment = {"id": 1, "body": "/fixwright run"}
    event = read("issue_comment", payload(action, issue=ISSUE, comment=comment))
    assert event == Uninteresting(why=f"issue_comment.{action}")


@pytest.mark.parametrize("merged", [True, False])
def test_a_pull_request_that_is_closed(merged: bool) -> None:
    pull = {"number": 7, "head": {"ref": "fixwright/issue-3"}, "merged": merged, "body": None}
    assert read("pull_request", payload("closed", pull_request=pull)) == PullClosed(
        issue=REFERENCE, actor=MIA, head_branch="fixwright/issue-3", merged=merged
    )


def test_a_pull_request_whose_branch_and_repository_are_gone() -> None:
    event = read("pull_request", payload("closed", pull_request={"number": 7, "head": None}))
    assert event == PullClosed(issue=REFERENCE, actor=MIA, head_branch="", merged=False)


@pytest.mark.parametrize(
    ("home", "branch"),
    [({"id": int(REFERENCE.repository_id)}, "fixwright/issue-3"), ({"id": 9}, ""), (None, ""), ({}, "")],
    ids=["ours", "a fork", "a deleted fork", "no id"],
)
def test_a_forks_branch_is_never_taken_for_ours(home: dict[str, int] | None, branch: str) -> None:
    pull = {"number": 7, "head": {"ref": "fixwright/issue-3", "repo": home}, "merged": True}
    event = read("pull_request", payload("closed", pull_request=pull))
    assert isinstance(event, PullClosed)
    assert event.head_branch == branch


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("star", {"action": "created"}, "event star"),
        ("issues", payload("assigned", issue=ISSUE), "issues.assigned"),
        ("pull_request", payload("assigned", pull_request={"number": 7}), "pull_request.assigned"),
        ("issues", payload("Odd\nAction", issue=ISSUE), "issues.(unreadable action)"),
        ("issues", payload("labeled", issue=ISSUE), "issues.labeled without a label"),
        (
            "issues",
            labelled(issue={**ISSUE, "pull_request": {}}),
            "issues.labeled on a pull request",
        ),
    ],
)
def test_well_formed_and_of_no_interest(name: str, content: object, why: str) -> None:
    assert read(name, content) == Uninteresting(why=why)


def test_null_bodies_and_titles_are_empty() -> None:
    event = read("issues", labelled(issue={"number": 7, "title": None, "body": None, "milestone": None}))
    assert isinstance(event, IssueLabelled)
    assert (event.title, event.body) == ("", "")


@pytest.mark.parametrize("sender", [None, "mia"])
def test_a_deleted_user_is_nobody_in_particular(sender: object) -> None:
    event = read("issues", labelled(sender=sender))
    assert isinstance(event, IssueLabelled)
    assert event.actor == Actor(id="", login="ghost")


@pytest.mark.parametrize(
    "sender",
    [{"id": 1, "login": "renamed", "type": "Bot"}, {"id": 1, "login": "x[bot]", "type": "User"}],
    ids=["type", "name"],
)
def test_a_bot_is_known_by_its_type_or_by_a_name_that_only_bots_have(sender: dict[str, Any]) -> None:
    event = read("issues", labelled(sender=sender))
    assert isinstance(event, IssueLabelled)
    assert event.actor.is_bot


@pytest.mark.parametrize("mark", ["<!-- fixwright:status-7 -->", "<!-- fixwright-once:end-7-1 -->\n"])
def test_a_comment_of_ours_commands_nothing_whatever_account_wrote_it(mark: str) -> None:
    comment = {"id": 1, "body": f"/fixwright run\n\nas I said\n\n{mark}"}
    event = read("issue_comment", payload("created", issue=ISSUE, comment=comment))
    assert event == Uninteresting(why="issue_comment.created by ourselves")


def test_half_a_surrogate_pair_becomes_a_replacement_and_whole_ones_stay() -> None:
    body = json.dumps(labelled(issue={**ISSUE, "title": "TITLE", "body": "BODY"}))
    body = body.replace("TITLE", "a\\ud800b \\ud83d\\ude00").replace("BODY", "\\udfff\\u0000\\u001b[31m")
    event = read("issues", body.encode())
    assert isinstance(event, IssueLabelled)
    assert event.title == "a\ufffdb 😀"
    assert event.body == "\ufffd\x00\x1b[31m"
    event.title.encode("utf-8")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("issue_comment", labelled(), id="a label called a comment"),
        pytest.param("pull_request", labelled(), id="a label called a pull request"),
        pytest.param("ping", labelled(), id="a label called a ping"),
        pytest.param(
            "issues",
            payload("created", issue=ISSUE, comment={"id": 1, "body": ""}),
            id="a comment as a label",
        ),
        pytest.param(
            "issues", payload("closed", pull_request={"number": 7}), id="a pull request as an issue"
        ),
        pytest.param(
            "pull_request",
            payload("closed", pull_request={"number": 7}, review={"id": 1}),
            id="a review as a pull request",
        ),
        pytest.param("issues", {"action": "labeled"}, id="nothing of an issue"),
        pytest.param("issues", {"issue": ISSUE, "repository": REPOSITORY}, id="no action"),
        pytest.param("issues", labelled(issue=[1]), id="an issue that is a list"),
        pytest.param("issues", labelled(repository=None), id="no repository"),
        pytest.param("issues", labelled(repository={"id": 42, "full_name": "acme"}), id="half a name"),
        pytest.param(
            "issues", labelled(repository={"id": 42, "full_name": "a/\n"}), id="a line end in a name"
        ),
        pytest.param(
            "issues", labelled(issue={**ISSUE, "number": True}), id="a number that is a truth value"
        ),
        pytest.param("issues", labelled(issue={**ISSUE, "number": 0}), id="number zero"),
        pytest.param("issues", labelled(issue={**ISSUE, "number": -1}), id="a negative number"),
        pytest.param("issues", labelled(issue={**ISSUE, "number": 7.0}), id="a fraction"),
        pytest.param("issues", labelled(issue={**ISSUE, "number": "7"}), id="a number in quotes"),
        pytest.param("issues", labelled(issue={**ISSUE, "number": 2**63}), id="a number too large to store"),
        pytest.param("issues", labelled(sender={"login": "mia"}), id="a sender without an id"),
        pytest.param("issues", [labelled()], id="a list"),
        pytest.param("issues", b"null", id="null"),
        pytest.param("issues", b"", id="nothing"),
        pytest.param("issues", b"{", id="half an object"),
        pytest.param("issues", b'{"a": NaN}', id="NaN"),
        pytest.param("issues", b'{"a": -Infinity}', id="infinity"),
        pytest.param("issues", b'{"a": "\xff"}', id="not UTF-8"),
        pytest.param("issues", b'{"a":' + b"9" * 5000 + b"}", id="a number of 5000 digits"),
        pytest.param("issues", b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", id="deep lists"),
        pytest.param("star", b'{"a":' * 100_000 + b"1" + b"}" * 100_000, id="deep objects, unknown event"),
    ],
)
def test_what_contradicts_its_name_or_is_no_object_is_an_error(name: str, content: object) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read(name, content)


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"x-event", b"issues"), (b"x-event", b"issues")],
        [(b"x-event", b"")],
        [(b"x-event", b"issues\xe9")],
        [(b"x-event", b"i" * 65)],
    ],
)
def test_the_event_header_is_one_name(headers: list[tuple[bytes, bytes]]) -> None:
    with pytest.raises(ValueError, match="x-event"):
        DIALECT.parse(b"{}", headers)


@pytest.mark.parametrize("value", [b"", b"a b", b"\xe9", b"a" * 129, b"a\x00"])
def test_a_delivery_id_is_bounded(value: bytes) -> None:
    with pytest.raises(ValueError, match="x-delivery"):
        DIALECT.delivery_id([(b"x-delivery", value)])


def test_a_delivery_id_must_be_there_once() -> None:
    identity = (b"x-delivery", b"72d3162e-cc78-11e3-81ab-4c9367dc0958")
    assert DIALECT.delivery_id([identity]) == identity[1].decode()
    for headers in ([], [identity, identity]):
        with pytest.raises(ValueError, match="x-delivery"):
            DIALECT.delivery_id(headers)


SCALARS = [None, True, 0, 1.5, -1, 2**70, "", "bug", "\ud800"]
OBJECTS = [{}, {"id": 1}, {"number": 3, "id": 2}, {"name": None}, {"full_name": "a/b", "id": 4}]
JSON = st.sampled_from([*SCALARS, *OBJECTS, [], [{}], {"body": "/fixwright run", "id": 8}])
EVENTS = ["issues", "issue_comment", "pull_request", "pull_request_review", "pull_request_review_comment"]
EVENTS += ["check_run", "installation", "installation_repositories", "repository", "ping", "star"]
MORE = ("check_run", "installation", "changes", "requested_action", "hook_id", "repositories")
KEYS = (*MORE, "action", "issue", "comment", "pull_request", "label", "repository", "sender", "review")


@given(
    st.sampled_from(EVENTS),
    st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, JSON)),
    st.dictionaries(st.sampled_from(KEYS), JSON),
)
def test_any_object_is_an_event_or_a_value_error(
    name: str, optional: dict[str, Any], spoilt: dict[str, Any]
) -> None:
    for content in (optional, {**labelled(), **spoilt}):
        try:
            event = read(name, content)
        except ValueError:
            continue
        assert isinstance(event, Event)


# -- when it happened -------------------------------------------------------------------------------

MOMENT = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("issues", labelled(issue={**ISSUE, "updated_at": "2026-03-01T12:00:00Z"})),
        ("issues", labelled(issue={**ISSUE, "updated_at": "2026-03-01T14:00:00+02:00"})),
        ("issues", payload("closed", issue={**ISSUE, "closed_at": "2026-03-01T12:00:00Z"})),
        (
            "issues",
            payload("unlabeled", issue={**ISSUE, "updated_at": "2026-03-01T12:00:00Z"}, label={"name": "x"}),
        ),
        (
            "issue_comment",
            payload(
                "created",
                issue={**ISSUE, "updated_at": "2026-03-02T12:00:00Z"},
                comment={"id": 5, "body": "/fixwright run", "created_at": "2026-03-01T12:00:00Z"},
            ),
        ),
        (
            "pull_request",
            payload("closed", pull_request={"number": 3, "closed_at": "2026-03-01T12:00:00Z", "head": {}}),
        ),
    ],
)
def test_an_event_has_the_forge_s_own_time(name: str, content: dict[str, Any]) -> None:
    event = read(name, content)
    assert not isinstance(event, Noted | Uninteresting) and event.at == MOMENT


@pytest.mark.parametrize(
    "told", [None, 5, "", "yesterday", "2026-13-01T00:00:00Z", "0001-01-01T00:00:00+14:00"]
)
def test_a_time_that_cannot_be_read_is_none_and_no_error(told: object) -> None:
    event = read("issues", labelled(issue={**ISSUE, "updated_at": told}))
    assert isinstance(event, IssueLabelled) and event.at is None


def test_a_locked_issue_is_a_change_of_it() -> None:
    event = read("issues", payload("locked", issue=ISSUE))
    assert isinstance(event, IssueChanged) and (event.action, event.issue) == ("locked", REFERENCE)
