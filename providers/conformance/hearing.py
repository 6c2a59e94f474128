"""Contract checks of webhooks: signed or refused, and read as what happened."""

# ruff: noqa: D102  (a check is described by its name)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import pytest

from domain.events import (
    CommandGiven,
    Event,
    IssueClosed,
    IssueLabelled,
    IssueUnlabelled,
    PullClosed,
    Verb,
)
from domain.model import Actor, IssueRef
from domain.ports import Forge
from providers.conformance.stage import Delivered, ForgeStage, Hearing, StagedChecks, proposal

Kind = TypeVar("Kind")

HEAD = "fixwright/issue-1"
FOREIGN = b"a-secret-of-somebody-else-of-32-bytes"

TAMPERED: dict[str, Callable[[Delivered], Delivered]] = {
    "a byte more": lambda sent: replace(sent, body=sent.body + b" "),
    "a byte less": lambda sent: replace(sent, body=sent.body[:-1]),
    "another byte": lambda sent: replace(sent, body=sent.body[:-1] + b"]"),
    "no body": lambda sent: replace(sent, body=b""),
    "no headers": lambda sent: replace(sent, headers=()),
    "headers without values": lambda sent: replace(
        sent, headers=tuple((name, b"") for name, _ in sent.headers)
    ),
    "every header twice": lambda sent: replace(sent, headers=sent.headers * 2),
    "headers of nonsense": lambda sent: replace(
        sent, headers=tuple((name, b"\xff\x00" + value[::-1]) for name, value in sent.headers)
    ),
}

NONSENSE = [b"", b"{", b"null", b"[]", b'"x"', b"7", b"\xff\xfe", b"[" * 5000, b'{"action": 7}', b"{}" * 2]


class HearingChecks(StagedChecks):
    """The dialect on deliveries that the forge has really made."""

    @pytest.fixture
    def hearing(self, stage: ForgeStage) -> Hearing:
        """The forge's webhooks."""
        return stage.hearing()

    @pytest.fixture
    def sent(self, hearing: Hearing, issue: IssueRef, stage: ForgeStage, person: Actor) -> Delivered:
        """The delivery about a label."""
        stage.label(issue, person, "bug")
        return hearing.deliveries()[-1]

    def test_the_dialect_has_the_forges_name(self, hearing: Hearing, forge: Forge) -> None:
        assert hearing.dialect.name == forge.name

    def test_every_delivery_is_signed(self, hearing: Hearing, sent: Delivered) -> None:
        for each in hearing.deliveries():
            assert hearing.dialect.verify(each.body, each.headers, [hearing.secret])

    @pytest.mark.parametrize("how", list(TAMPERED))
    def test_what_was_tampered_with_is_refused(self, hearing: Hearing, sent: Delivered, how: str) -> None:
        forged = TAMPERED[how](sent)
        assert not hearing.dialect.verify(forged.body, forged.headers, [hearing.secret])

    @pytest.mark.parametrize("secrets", [[], [b""], [FOREIGN], [b"", FOREIGN], [FOREIGN, FOREIGN[::-1]]])
    def test_a_foreign_secret_is_refused(
        self, hearing: Hearing, sent: Delivered, secrets: list[bytes]
    ) -> None:
        assert not hearing.dialect.verify(sent.body, sent.headers, secrets)

    def test_while_a_secret_is_replaced_both_are_good(self, hearing: Hearing, sent: Delivered) -> None:
        for secrets in ([hearing.secret, FOREIGN], [FOREIGN, hearing.secret]):
            assert hearing.dialect.verify(sent.body, sent.headers, secrets)

    def test_one_deliverys_signature_is_not_anothers(
        self, hearing: Hearing, stage: ForgeStage, issue: IssueRef, person: Actor, sent: Delivered
    ) -> None:
        stage.unlabel(issue, person, "bug")
        other = hearing.deliveries()[-1]
        assert other.body != sent.body
        assert not hearing.dialect.verify(other.body, sent.headers, [hearing.secret])

    def test_every_delivery_has_an_id_of_its_own(
        self, hearing: Hearing, stage: ForgeStage, issue: IssueRef, person: Actor, sent: Delivered
    ) -> None:
        for _ in range(3):  # the same again, and yet another delivery
            stage.unlabel(issue, person, "bug")
            stage.label(issue, person, "bug")
        ids = [hearing.dialect.delivery_id(each.headers) for each in hearing.deliveries()]
        assert len(set(ids)) == len(ids) >= 7
        assert all(0 < len(each) <= 128 and each.isascii() and each.isprintable() for each in ids)

    def test_a_replay_has_the_same_id_and_meaning(self, hearing: Hearing, sent: Delivered) -> None:
        once, again = ((hearing.dialect.delivery_id(sent.headers), read(hearing, sent)) for _ in range(2))
        assert once == again

    @pytest.mark.parametrize("how", ["no headers", "headers without values", "headers of nonsense"])
    def test_no_usable_id_is_an_error(self, hearing: Hearing, sent: Delivered, how: str) -> None:
        with pytest.raises(ValueError, match=r"\w"):
            hearing.dialect.delivery_id(TAMPERED[how](sent).headers)

    @pytest.mark.parametrize("body", NONSENSE)
    def test_nonsense_is_an_error_and_nothing_worse(
        self, hearing: Hearing, sent: Delivered, body: bytes
    ) -> None:
        with pytest.raises(ValueError, match=r"\w"):
            hearing.dialect.parse(body, sent.headers)

    def test_a_label_put_on_and_taken_off(
        self, hearing: Hearing, stage: ForgeStage, issue: IssueRef, person: Actor, forge: Forge
    ) -> None:
        stage.label(issue, person, "bug")
        (put_on,) = told(hearing, IssueLabelled)
        stage.unlabel(issue, person, "bug")
        (taken_off,) = told(hearing, IssueUnlabelled)
        assert put_on.issue == taken_off.issue == issue
        assert put_on.label == taken_off.label == "bug"
        assert put_on.actor.id == taken_off.actor.id == person.id
        assert (put_on.title, put_on.body) == ("Crash on start", "It crashes.")
        assert put_on.repository_name == forge.repository(issue.repository_id).full_name

    @pytest.mark.parametrize(
        "text", ["日本語 🎉", "<!-- hidden --> ${{ x }}", "two\nlines", "\u202eright to left", ""]
    )
    def test_texts_are_heard_as_they_were_written(
        self, hearing: Hearing, stage: ForgeStage, repository_id: str, person: Actor, text: str
    ) -> None:
        ref = stage.open_issue(repository_id, person, "Ünï 🎉", text or None)
        stage.label(ref, person, "bug")
        (event,) = told(hearing, IssueLabelled)
        assert (event.title, event.body) == ("Ünï 🎉", text)

    def test_an_issue_that_is_closed(
        self, hearing: Hearing, stage: ForgeStage, issue: IssueRef, person: Actor
    ) -> None:
        stage.close_issue(issue, person)
        (event,) = told(hearing, IssueClosed)
        assert event.issue == issue and event.actor.id == person.id

    @pytest.mark.parametrize("verb", [Verb.RUN, Verb.RESUME, Verb.CANCEL])
    def test_a_command(
        self, hearing: Hearing, stage: ForgeStage, issue: IssueRef, person: Actor, forge: Forge, verb: Verb
    ) -> None:
        text = f"/fixwright {verb.value}\nPlease look at the parser."
        comment_id = stage.comment(issue, person, text)
        (event,) = told(hearing, CommandGiven)
        assert (event.issue, event.verb, event.text) == (issue, verb, text)
        assert event.comment_id == comment_id == forge.comments(issue)[0].id
        assert event.actor.id == person.id

    @pytest.mark.parametrize(
        "text", ["thanks!", "> /fixwright run", "```\n/fixwright run\n```", "please run"]
    )
    def test_a_comment_that_commands_nothing(
        self, hearing: Hearing, stage: ForgeStage, issue: IssueRef, person: Actor, text: str
    ) -> None:
        stage.comment(issue, person, text)
        assert told(hearing, CommandGiven) == []

    def test_an_edited_or_deleted_comment_commands_nothing(
        self, hearing: Hearing, stage: ForgeStage, issue: IssueRef, person: Actor
    ) -> None:
        comment_id = stage.comment(issue, person, "thanks!")
        stage.edit_comment(issue, comment_id, person, "/fixwright run")
        stage.delete_comment(issue, comment_id, person)
        assert told(hearing, CommandGiven) == []

    def test_a_command_on_a_pull_request(
        self, hearing: Hearing, stage: ForgeStage, repository_id: str, person: Actor, forge: Forge
    ) -> None:
        stage.push(repository_id, HEAD, "fix.txt")
        number = forge.ensure_pull(repository_id, proposal(HEAD)).number
        ref = IssueRef(forge=forge.name, repository_id=repository_id, number=number)
        stage.comment(ref, person, "/fixwright resume")
        (event,) = told(hearing, CommandGiven)
        assert (event.issue, event.title, event.body) == (ref, None, None)

    @pytest.mark.parametrize("merged", [True, False])
    def test_a_pull_request_that_is_closed(
        self,
        hearing: Hearing,
        stage: ForgeStage,
        repository_id: str,
        person: Actor,
        forge: Forge,
        merged: bool,
    ) -> None:
        stage.push(repository_id, HEAD, "fix.txt")
        number = forge.ensure_pull(repository_id, proposal(HEAD)).number
        (stage.merge_pull if merged else stage.close_pull)(repository_id, number, person)
        (event,) = told(hearing, PullClosed)
        assert (event.issue.number, event.head_branch, event.merged) == (number, HEAD, merged)
        assert event.issue.repository_id == repository_id and event.actor.id == person.id
        assert told(hearing, IssueClosed) == [], "a pull request is no issue that was closed"

    def test_what_we_do_ourselves_asks_for_nothing(
        self, hearing: Hearing, stage: ForgeStage, issue: IssueRef, forge: Forge
    ) -> None:
        stage.push(issue.repository_id, HEAD, "fix.txt")
        before = len(hearing.deliveries())
        forge.ensure_comment(issue, "status", "/fixwright run")
        forge.add_comment(issue, "once", "/fixwright run")
        forge.ensure_pull(issue.repository_id, proposal(HEAD, labels=("bug",)))
        for sent in hearing.deliveries()[before:]:
            event = read(hearing, sent)
            actor = getattr(event, "actor", forge.identity)
            assert actor.id == forge.identity.id, "what we did is known by our id"


def read(hearing: Hearing, sent: Delivered) -> Event:
    """Return what a delivery means."""
    return hearing.dialect.parse(sent.body, sent.headers)


def told(hearing: Hearing, kind: type[Kind]) -> list[Kind]:
    """Return all events of one kind that were heard of so far."""
    events = (read(hearing, sent) for sent in hearing.deliveries())
    return [event for event in events if isinstance(event, kind)]
