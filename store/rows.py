"""Rows into nouns and back: times as sortable text, money as whole billionths of a dollar."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from decimal import ROUND_CEILING

from domain.budget import QUANTUM
from domain.model import (
    Actor,
    Attempt,
    Category,
    IssueRef,
    Money,
    Outcome,
    Phase,
    Publication,
    PublicationKind,
    Reason,
    Task,
)
from domain.states import State


def time_text(moment: datetime) -> str:
    """Write an aware moment as UTC text of fixed width; text order is time order.

    Raises:
        ValueError: the moment is naive.
    """
    if moment.tzinfo is None:
        raise ValueError(f"a moment without a time zone cannot be stored: {moment}")
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def moment_of(text: str) -> datetime:
    """Read what `time_text` wrote."""
    return datetime.fromisoformat(text)


def optional_moment(text: str | None) -> datetime | None:
    """Read a time that may be absent (NULL or empty)."""
    return moment_of(text) if text else None


def billionths(amount: Money) -> int:
    """Return dollars as whole billionths, rounded up.

    Raises:
        ValueError: negative, or not a number.
    """
    if not amount.is_finite() or amount < 0:
        raise ValueError(f"not an amount of money: {amount}")
    return int((amount / QUANTUM).to_integral_value(rounding=ROUND_CEILING))


def dollars(count: int) -> Money:
    """Return whole billionths as dollars."""
    return count * QUANTUM


def storable(text: str) -> str:
    """Return text that can be written as UTF-8; half surrogate pairs, legal in JSON, become "?"."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text


def task_from(row: sqlite3.Row) -> Task:
    """Return a row of `tasks` as a task."""
    return Task(
        id=row["id"],
        issue=IssueRef(forge=row["forge"], repository_id=row["repository_id"], number=row["issue_number"]),
        repository_name=row["repository_name"],
        category=Category(row["category"]),
        title=row["title"],
        body=row["body"],
        requested_by=Actor(
            id=row["requester_id"],
            login=row["requester_login"],
            is_bot=bool(row["requester_is_bot"]),
        ),
        state=State(row["state"]),
        created_at=moment_of(row["created_at"]),
        updated_at=moment_of(row["updated_at"]),
        reason=Reason(row["reason"]) if row["reason"] else None,
        detail=row["detail"],
        attempts=row["attempts"],
        recoveries=row["recoveries"],
        generation=row["generation"],
        not_before=optional_moment(row["not_before"]),
        wip_sha=row["wip_sha"],
        wip_branch=row["wip_branch"],
        word_at=optional_moment(row["word_at"]),
        label=row["label"],
        by_command=bool(row["by_command"]),
    )


def attempt_from(row: sqlite3.Row) -> Attempt:
    """Return a row of `attempts` as an attempt."""
    return Attempt(
        id=row["id"],
        task_id=row["task_id"],
        number=row["number"],
        started_at=moment_of(row["started_at"]),
        ended_at=optional_moment(row["ended_at"]),
        outcome=Outcome(row["outcome"]) if row["outcome"] else None,
        base_sha=row["base_sha"],
        checkpoint_sha=row["checkpoint_sha"],
        steps=row["steps"],
        generation=row["generation"],
    )


def phase_from(row: sqlite3.Row) -> Phase:
    """Return a row of `phases` as a phase."""
    return Phase(
        name=row["name"],
        started_at=moment_of(row["started_at"]),
        seconds=row["seconds"],
        cost=dollars(row["cost"]),
        note=row["note"],
    )


def publication_from(row: sqlite3.Row) -> Publication:
    """Return a row of `publications` as a publication."""
    return Publication(
        id=row["id"],
        task_id=row["task_id"],
        attempt_id=row["attempt_id"],
        kind=PublicationKind(row["kind"]),
        branch=row["branch"],
        commit_sha=row["commit_sha"],
        tree=row["tree"],
        expected_sha=row["expected_sha"],
        title=row["title"],
        body=row["body"],
        done_at=optional_moment(row["done_at"]),
        pull_number=row["pull_number"],
        url=row["url"],
        base_branch=row["base_branch"],
    )
