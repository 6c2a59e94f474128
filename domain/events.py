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


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandGiven:
    """A comment whose first line is a command. `text` is the whole comment, for the agent to read.

    `title` and `body` are the issue's as it stood at that moment, None where that was not told, or where
    the comment is on a pull request: who asks for work asks for it on this text.
    """

    issue: IssueRef
    actor: Actor
    verb: Verb
    comment_id: str
    text: str
    title: str | None = None
    body: str | None = None
    at: datetime | None = None


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

_COMMAND = re.compile(
    rf"{COMMAND_PREFIX}[ \t]++(?:([a-z]++)|(budget)[ \t]++\S++(?:[ \t]++(?:\$|usd|dollars?))?"
    r"|(allow)[ \t]++\S++)[ \t]*+",
    re.IGNORECASE | re.ASCII,
)


def parse_command(comment: str) -> Verb | None:
    """Return the command in a comment's first line, or None.

    The line must be the command and nothing else, unindented: a quotation (`> …`), a code block, a table
    cell or hidden markup can therefore never be one. Upper case is as good as lower; further words belong on
    the next line, so that a sentence which only begins like a command is not one. `budget` takes one word
    more, the amount, and `allow` the name of a change, whether it is one or not: who errs is to be told.
    """
    first_line = comment.removeprefix("\ufeff").partition("\n")[0].removesuffix("\r")
    match = _COMMAND.fullmatch(first_line)
    if match is None:
        return None
    try:
        return Verb((match[1] or match[2] or match[3]).lower())
    except ValueError:
        return None
