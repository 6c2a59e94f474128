"""`fixwright eval profile`: what agents' steps, dollars and time went to, from stored transcripts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import cast

from app.evaluation.activity import Activity, shares
from domain.budget import ZERO, show_money
from domain.errors import ConfigurationError, FixwrightError
from domain.model import Money
from domain.text import Redactor
from harness.transcript import PACKED_SUFFIX, Transcript
from store.attempt_facts import read_attempts

ALL = "all"
ROLES: Mapping[str, str] = {"restatement": "restating", "step": "working", "end": "working"}
_NAME = re.compile(r"attempt-(\d{1,18})\.jsonl")
Key = tuple[str, str, str]
"""Category, role, activity."""


@dataclass(slots=True)
class Sum:
    """Steps (a step with commands of several kinds counts in parts), dollars, tokens and seconds."""

    steps: Fraction = Fraction(0)
    dollars: Money = ZERO
    input_tokens: Fraction = Fraction(0)
    output_tokens: Fraction = Fraction(0)
    model_seconds: float = 0.0
    command_seconds: float = 0.0

    def add(self, other: Sum, share: Fraction = Fraction(1)) -> None:
        """Add a share of another sum."""
        self.steps += other.steps * share
        self.dollars += other.dollars * share.numerator / share.denominator
        self.input_tokens += other.input_tokens * share
        self.output_tokens += other.output_tokens * share
        self.model_seconds += other.model_seconds * float(share)
        self.command_seconds += other.command_seconds * float(share)


@dataclass(slots=True)
class Profile:
    """The sums by category, role and activity, and how many transcripts they are of."""

    sums: dict[Key, Sum] = field(default_factory=dict)
    attempts: int = 0
    unpriced: int = 0

    def book(self, category: str, record: Mapping[str, object]) -> None:
        """Add a step's record."""
        step = _sum_of(record)
        if step is None:
            return
        self.unpriced += record.get("cost") is None
        role = ROLES.get(str(record.get("kind")), "working")
        for activity, share in shares(_commands(record)).items():
            self.sums.setdefault((category, role, activity.value), Sum()).add(step, share)

    def total(self, category: str = ALL, role: str = ALL, activity: str = ALL) -> Sum:
        """Return the sum over what fits; ALL fits everything."""
        whole = Sum()
        for key, each in self.sums.items():
            if all(
                wanted in {ALL, given} for wanted, given in zip((category, role, activity), key, strict=True)
            ):
                whole.add(each)
        return whole


def profile(directory: Path, database: Path | None, *, as_json: bool) -> str:
    """Return the profile of a directory's transcripts as text. Raises ConfigurationError."""
    if not directory.is_dir():
        raise ConfigurationError(f"{directory}: there are no transcripts: it is no directory")
    found = read_profile(directory, database)
    if not found.attempts:
        raise ConfigurationError(f"{directory}: there is no attempt-N.jsonl or attempt-N.jsonl.gz")
    return _as_json(found) if as_json else _as_lines(found)


def read_profile(directory: Path, database: Path | None) -> Profile:
    """Read every transcript of a directory. Raises ConfigurationError for a database that cannot be read."""
    categories = _categories(directory, database)
    found = Profile()
    for number, path in _transcripts(directory):
        found.attempts += 1
        for record in Transcript(path, Redactor([])).read():
            found.book(categories.get(number, "unknown"), record)
    return found


def _transcripts(directory: Path) -> Iterator[tuple[int, Path]]:
    names = {path.name.removesuffix(PACKED_SUFFIX) for path in directory.iterdir()}
    numbered = sorted((int(match[1]), match[0]) for match in map(_NAME.fullmatch, names) if match)
    yield from ((number, directory / name) for number, name in numbered)


def _categories(directory: Path, database: Path | None) -> dict[int, str]:
    """Return each attempt's category: by the service's database, else by what lies beside it."""
    if database is not None:
        try:
            return {number: facts.category for number, facts in read_attempts(database).items()}
        except FixwrightError as error:
            raise ConfigurationError(f"{database}: cannot be read: {error}") from None
    try:
        read = json.loads((directory / "categories.json").read_bytes())
        return {int(number): str(category) for number, category in read.items()}
    except (OSError, ValueError, AttributeError):
        return {}


def _sum_of(record: Mapping[str, object]) -> Sum | None:
    """Return what one step took, None for a record of something else."""
    if "step" not in record or not record.get("messages"):
        return None
    usage = cast("Mapping[str, object]", record.get("usage") or {})
    if record.get("kind") == "end" and record.get("cost") is None and not usage:
        return None
    return Sum(
        steps=Fraction(1),
        dollars=_money(record.get("cost")),
        input_tokens=Fraction(_count(usage.get("input_tokens"))),
        output_tokens=Fraction(_count(usage.get("output_tokens"))),
        model_seconds=_seconds(record.get("seconds")),
        command_seconds=sum(
            _seconds(extra.get("seconds")) for extra in _extras(record) if "command" in extra
        ),
    )


def _extras(record: Mapping[str, object]) -> list[Mapping[str, object]]:
    messages = cast("Sequence[object]", record.get("messages") or ())
    extras = [message.get("extra") for message in messages if isinstance(message, Mapping)]
    return [extra for extra in extras if isinstance(extra, Mapping)]


def _commands(record: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(str(extra["command"]) for extra in _extras(record) if extra.get("command"))


def _money(value: object) -> Money:
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return ZERO
    return amount if amount.is_finite() and amount > 0 else ZERO


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _seconds(value: object) -> float:
    return float(value) if isinstance(value, int | float) and value > 0 else 0.0


def _rows(found: Profile) -> Iterator[tuple[str, str, str, Sum]]:
    categories = sorted({key[0] for key in found.sums})
    for category in [*categories, *([ALL] if len(categories) > 1 else [])]:
        yield from (
            (category, "working", activity.value, found.total(category, "working", activity.value))
            for activity in Activity
        )
        yield category, "restating", ALL, found.total(category, "restating")
        yield category, ALL, ALL, found.total(category)


def _as_lines(found: Profile) -> str:
    lines = [
        f"{'category':10s} {'role':10s} {'for':10s} {'steps':>8s} {'':>6s} {'dollars':>10s} {'':>6s} "
        f"{'tokens in':>10s} {'out':>8s} {'model s':>8s} {'cmd s':>8s}"
    ]
    for category, role, activity, each in _rows(found):
        whole = found.total(category)
        steps = f"{float(each.steps):8.1f} {_share(each.steps, whole.steps)}"
        lines.append(
            f"{category:10s} {role:10s} {activity:10s} {steps} "
            f"{show_money(each.dollars):>10s} {_share(Fraction(each.dollars), Fraction(whole.dollars))} "
            f"{round(each.input_tokens):10d} {round(each.output_tokens):8d} {each.model_seconds:8.1f} "
            f"{each.command_seconds:8.1f}"
        )
    lines.append(f"{found.attempts} attempts; a step with commands of several kinds counts in parts")
    if found.unpriced:
        lines.append(f"{found.unpriced} steps have no price on record")
    return "\n".join(lines) + "\n"


def _share(part: Fraction, whole: Fraction) -> str:
    return f"{100 * float(part / whole):4.0f} %" if whole else f"{'–':>6s}"


def _as_json(found: Profile) -> str:
    rows = [
        {
            "category": category,
            "role": role,
            "activity": activity,
            "steps": round(float(each.steps), 3),
            "dollars": f"{each.dollars:f}",
            "input_tokens": round(each.input_tokens),
            "output_tokens": round(each.output_tokens),
            "model_seconds": round(each.model_seconds, 3),
            "command_seconds": round(each.command_seconds, 3),
        }
        for category, role, activity, each in _rows(found)
    ]
    return (
        json.dumps({"attempts": found.attempts, "unpriced_steps": found.unpriced, "rows": rows}, indent=2)
        + "\n"
    )
