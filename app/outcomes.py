"""`fixwright outcomes`: what became of the service's pull requests, as lines or JSON."""

from __future__ import annotations

import json
from collections import Counter
from datetime import timedelta

from app.settings import data_directory_alone
from domain.errors import ConfigurationError
from domain.ports import Clock
from domain.ports.contracts import OutcomeKind, PullOutcome
from domain.text import one_line
from store.contracts import SqliteContracts
from store.database import Database


def outcomes(*, days: int, as_json: bool, clock: Clock) -> str:
    """Return what is recorded of the last days, oldest first. Raises ConfigurationError, StoreUnavailable."""
    path = data_directory_alone() / "fixwright.sqlite3"
    if not path.exists():
        raise ConfigurationError(f"{path}: there is no database; is FIXWRIGHT_DATA_DIR set?")
    with Database(path) as database:
        database.migrate()
        since = clock.now() - timedelta(days=days) if days else None
        found = SqliteContracts(database, clock).outcomes(since)
    return as_lines(found) if not as_json else json.dumps(as_values(found), ensure_ascii=False) + "\n"


def as_values(found: list[PullOutcome]) -> dict[str, object]:
    """Return outcomes, and how many there are of each kind, as plain values."""
    listed = [
        {
            "at": each.at.isoformat(),
            "repository": each.repository_name,
            "pull": each.pull_number,
            "outcome": each.kind,
            "by": each.by.login,
            "task": each.task_id,
        }
        for each in found
    ]
    return {"outcomes": listed, "counts": counts(found)}


def as_lines(found: list[PullOutcome]) -> str:
    """Return outcomes as lines for people."""
    lines = [
        f"{each.at:%Y-%m-%d %H:%M}  {each.repository_name}#{each.pull_number}  {each.kind}  by "
        f"{one_line(each.by.login, 60)}"
        for each in found
    ]
    total = ", ".join(f"{count} {kind}" for kind, count in counts(found).items() if count)
    return "\n".join([*lines, total or "nothing is recorded"]) + "\n"


def counts(found: list[PullOutcome]) -> dict[str, int]:
    """Count outcomes by kind."""
    by_kind = Counter(each.kind for each in found)
    return {kind.value: by_kind[kind] for kind in OutcomeKind}
