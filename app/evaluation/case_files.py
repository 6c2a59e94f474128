"""The cases that `fixwright eval build` made, read back, with the repository that has their trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.evaluation import lines
from app.evaluation.building import CASES, REPOSITORY
from domain.errors import ConfigurationError


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalCase:
    """One case: the report, the tree as it was, the tests of the fix, and what the fix touched."""

    id: str
    report: str
    base_commit: str
    bug_commit: str
    fixed_tree: str
    test_files: Sequence[str]
    test_side: Sequence[str]
    fail_to_pass: frozenset[str]
    pass_to_pass: frozenset[str]
    gold_files: Sequence[str]

    @property
    def title(self) -> str:
        """The report's first line."""
        return self.report.partition("\n")[0].strip()

    @property
    def body(self) -> str:
        """What follows it."""
        return self.report.partition("\n")[2].strip()


def read_cases(directory: Path, limit: int) -> list[EvalCase]:
    """Return the first cases of a directory. Raises ConfigurationError."""
    if not (directory / REPOSITORY / "HEAD").is_file():
        raise ConfigurationError(
            f"{directory}: there are no cases; `fixwright eval build --repo … --out {directory}` makes them"
        )
    records = {str(record.get("instance_id")): record for record in lines.read(directory / CASES)}
    try:
        cases = [_case(record) for record in records.values()]
    except (KeyError, TypeError) as error:
        raise ConfigurationError(f"{directory / CASES}: a case lacks {error}; build it anew") from None
    if not cases:
        raise ConfigurationError(f"{directory / CASES}: holds no case; build with a higher --scan")
    return cases[:limit]


def _case(record: dict[str, object]) -> EvalCase:
    return EvalCase(
        id=str(record["instance_id"]),
        report=str(record["problem_statement"]),
        base_commit=str(record["base_commit"]),
        bug_commit=str(record["bug_commit"]),
        fixed_tree=str(record["fixed_tree"]),
        test_files=_texts(record["test_files"]),
        test_side=_texts(record["test_side"]),
        fail_to_pass=frozenset(_texts(record["fail_to_pass"])),
        pass_to_pass=frozenset(_texts(record["pass_to_pass"])),
        gold_files=_texts(record["gold_files"]),
    )


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError("a list")
    return tuple(map(str, value))
