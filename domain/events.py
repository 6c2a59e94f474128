"""What the outside can tell us, and the commands that people write in comments.

An event's `at` is when it happened by the forge's own clock, None where its delivery does not tell.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from domain.model import Actor, IssueRef
from domain.noted import Noted


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueLabelled:
    """A label was put on an issue. Title and body are as they stood at that moment."""

    issue: IssueRef
    repository_name: str
    actor: Actor
    label: str
    title: str
    body: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueUnlabelled:
    """A label was taken off an issue."""

    issue: IssueRef
    actor: Actor
    label: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueClosed:
    """An issue was closed or deleted."""

    issue: IssueRef
    actor: Actor
    at: datetime | None = None


class Verb(StrEnum):
    """The commands that a maintainer may give in a comment."""

    RUN = "run"
    RESUME = "resume"
    RETRY = "retry"
    CANCEL = "cancel"
    BUDGET = "budget"
    ALLOW = "allow"
    STATUS = "status"
    EXPLAIN = "explain"
    PLAN = "plan"
    APPROVE = "approve"
    HELP = "help"
    UNKNOWN = "unknown"
    """What begins like a command and is none: its writer is to be told, once."""


class Given(StrEnum):
    """How a command reached us. Forges only ever tell of comments.

    REACTION: a thumb up on what waits for an approval, which we have found ourselves.
    """

    COMMENT = "comment"
    REACTION = "reaction"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandGiven:
    """A comment whose first line is a command. `text` is the whole comment, for the agent to read.

    `title` and `body` are the issue's as it stood at that moment, None where that was not told, or where
    the comment is on a pull request: who asks for work asks for it on this text. `addressed` is the account
    that the command calls by name, "" where it begins with the prefix. `labels` are those on the issue.
    """

    issue: IssueRef
    actor: Actor
    verb: Verb
    comment_id: str
    text: str
    title: str | None = None
    body: str | None = None
    at: datetime | None = None
    repository_name: str = ""
    addressed: str = ""
    labels: tuple[str, ...] = ()
    given_by: Given = Given.COMMENT


@dataclass(frozen=True, slots=True, kw_only=True)
class PullClosed:
    """A pull request was closed; `head_branch` ties it to a task of ours, or does not.

    It is "" for a branch of another repository: anybody can give a branch of a fork the name of ours.
    """

    issue: IssueRef
    actor: Actor
    head_branch: str
    merged: bool
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Uninteresting:
    """A delivery that is well-formed and means nothing to us; counted under `why`."""

    why: str


Event = IssueLabelled | IssueUnlabelled | IssueClosed | CommandGiven | PullClosed | Noted | Uninteresting
"""Everything that a delivery can mean. In `PullClosed.issue` the number is the pull request's own."""

COMMAND_PREFIX = "/fixwright"

MENTION = r"@(?P<name>[A-Za-z0-9][A-Za-z0-9-]{0,38})(?:\[bot\])?"
COMMAND_START = rf"(?:{COMMAND_PREFIX}|{MENTION})"
"""How a command begins: with the prefix, or with the name of whom it is for."""

_COMMAND = re.compile(
    rf"{COMMAND_START}[ \t]++(?:(?P<verb>[a-z]++)|(?P<allow>allow|approve)[ \t]++\S++"
    r"|(?P<budget>budget)[ \t]++\S++(?:[ \t]++(?:\$|usd|dollars?))?)[ \t]*+",
    re.IGNORECASE | re.ASCII,
)
_LIKE_A_COMMAND = re.compile(
    rf"{COMMAND_PREFIX}(?:[ \t\u00a0][^\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]*+)?", re.IGNORECASE | re.ASCII
)
"""What follows may be in any script and hide what nobody sees: its writer is told, not left to wait."""


def parse_command(comment: str) -> Verb | None:
    """Return the command in a comment's first line, or None.

    The line must be the command and nothing else, unindented: a quotation (`> …`), a code block, a table
    cell or hidden markup can therefore never be one. Upper case is as good as lower; further words belong on
    the next line, so that a sentence which only begins like a command is not one: it is UNKNOWN. `budget`
    takes one word more, the amount, and `allow` and `approve` the name of a change, whether it is one or not:
    who errs is to be told. Whom a command calls by name may be somebody else, and what they are told is not
    ours to know.
    """
    first_line = _first_line(comment)
    match = _COMMAND.fullmatch(first_line)
    if match is not None:
        word = (match["verb"] or match["budget"] or match["allow"]).lower()
        if word in set(Verb) and word != Verb.UNKNOWN:
            return Verb(word)
    return Verb.UNKNOWN if _LIKE_A_COMMAND.fullmatch(first_line) else None


def parse_address(comment: str) -> str:
    """Return the account that a comment's command calls by name, "" where it begins with the prefix."""
    match = _COMMAND.fullmatch(_first_line(comment))
    return (match["name"] or "") if match else ""


def _first_line(comment: str) -> str:
    return comment.removeprefix("\ufeff").partition("\n")[0].removesuffix("\r")
