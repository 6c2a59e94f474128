"""What became of pull requests, for the operator: lines, JSON, counts."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from app.outcomes import as_lines, as_values
from domain.model import Actor
from domain.ports.contracts import OutcomeKind, PullOutcome

MERGED = PullOutcome(
    task_id=1,
    repository_name="acme/shop",
    pull_number=3,
    kind=OutcomeKind.MERGED,
    by=Actor(id="5", login="mika"),
    at=datetime(2026, 3, 1, 12, tzinfo=UTC),
)


def test_each_outcome_is_a_line_and_all_are_counted() -> None:
    line = "2026-03-01 12:00  acme/shop#3  merged  by mika\n"
    assert as_lines([MERGED, MERGED]) == f"{line}{line}2 merged\n"
    assert as_lines([]) == "nothing is recorded\n"


def test_json_has_the_same_and_a_count_of_every_kind() -> None:
    values = json.loads(json.dumps(as_values([MERGED])))
    assert values["outcomes"][0] == {
        "at": "2026-03-01T12:00:00+00:00",
        "repository": "acme/shop",
        "pull": 3,
        "outcome": "merged",
        "by": "mika",
        "task": 1,
    }
    assert values["counts"] == {"merged": 1, "closed": 0, "changes_asked": 0, "approved": 0, "expired": 0}
