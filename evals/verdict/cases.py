"""The past bugs: what a case is, and where its two releases come from."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from app.demo.cases import Files
from app.demo.sources import package_files

CASES_FILE = Path(__file__).with_name("cases.toml")


class PastBug(BaseModel):
    """One bug of a package: release before, release with the fix, and which files of the difference count.

    `issue` has its title on the first line. `sources` and `tests` are paths in the source distribution.
    `timeout_seconds` bounds each run of the suite: some faults show as a hang. `reproductions` are test files
    of our own, by path, where the release only changed what existing tests expect, so that none of its tests
    is red without the fix: whoever mends a fault has to show it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    package: str
    old: str
    new: str
    sources: list[str] = Field(min_length=1)
    tests: list[str]
    requirements: list[str] = Field(default_factory=list)
    reproductions: dict[str, str] = Field(default_factory=dict)
    issue: str
    timeout_seconds: int = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Releases:
    """Both releases of a case, as files."""

    name: str
    bug: PastBug
    old: Files
    new: Files


def past_bugs() -> dict[str, PastBug]:
    """Return all cases by name."""
    raw = tomllib.loads(CASES_FILE.read_text("utf-8"))
    return {name: PastBug.model_validate(fields) for name, fields in raw.items()}


def releases(name: str, bug: PastBug, cache: Path) -> Releases:
    """Return both releases' files; archives are fetched once. Raises ConfigurationError."""
    return Releases(
        name=name,
        bug=bug,
        old=package_files(bug.package, bug.old, cache),
        new=package_files(bug.package, bug.new, cache),
    )
