"""Which kind of work each attempt was for, and how it ended; read beside a running worker."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from store.reading import reading

_OLDEST = 3
_ATTEMPTS = """
    SELECT attempts.id, tasks.category, tasks.repository_name, attempts.outcome
    FROM attempts JOIN tasks ON tasks.id = attempts.task_id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptFacts:
    """An attempt's category and repository, and its outcome, "" while it runs."""

    category: str
    repository: str
    outcome: str


def read_attempts(path: Path) -> dict[int, AttemptFacts]:
    """Return what is known of every attempt by its id. Raises ConfigurationError, StoreUnavailable."""
    with reading(path, oldest=_OLDEST) as connection:
        return {
            int(row["id"]): AttemptFacts(
                category=row["category"], repository=row["repository_name"], outcome=row["outcome"] or ""
            )
            for row in connection.execute(_ATTEMPTS)
        }
