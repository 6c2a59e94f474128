"""What each tool takes: its schema, with a description of every argument, and its values, checked."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from domain.model import Category

LARGEST_TEXT = 2**20
LARGEST_PATCH = 4 * 2**20


class Arguments(BaseModel):
    """What a tool takes; nothing else is taken."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class LocalizeFault(Arguments):
    """Arguments of `localize_fault`."""

    issue: str = Field(
        min_length=1,
        max_length=LARGEST_TEXT,
        description="The bug report as written, its title on the first line. Tracebacks, code and console "
        "output in it are evidence: leave them in.",
    )
    failing_output: str = Field(
        default="",
        max_length=LARGEST_TEXT,
        description="What a failing test printed, if there is one: the strongest evidence there is.",
    )
    top: int = Field(default=10, ge=1, le=50, description="How many places to name.")
    budget: int = Field(
        default=4000,
        ge=0,
        le=20_000,
        description="Tokens of source of the best definitions to return with them, 4 bytes each; 0 for none.",
    )


class Judging(Arguments):
    """What every judgement of a change takes."""

    category: Category = Field(
        default=Category.BUG, description="What the change is for: bug, docs or chore. Rules differ."
    )
    issue: str = Field(
        default="",
        max_length=LARGEST_TEXT,
        description="The issue's text. What it names (old and new expected values, dead code, snapshots) may "
        "be changed in tests.",
    )


class VerifyPatchIntegrity(Judging):
    """Arguments of `verify_patch_integrity`."""

    patch: str = Field(
        default="",
        max_length=LARGEST_PATCH,
        description="A unified diff, as `git diff` prints it, for the repository as committed or as it is; "
        "one that is applied already is judged, too.",
    )
    commits: str = Field(
        default="",
        max_length=400,
        description="Instead of a patch, commits: `A..B`, `A...B` (since both parted), or one commit.",
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if bool(self.patch) == bool(self.commits):
            raise ValueError("give either `patch` or `commits`")
        return self


class ApplyTransactionalPatch(Judging):
    """Arguments of `apply_transactional_patch`."""

    patch: str = Field(
        min_length=1,
        max_length=LARGEST_PATCH,
        description="A unified diff for the working copy as it is. It is applied as a whole or not at all.",
    )
    run_tests: bool = Field(
        default=False,
        description="Run the repository's tests before and after, in the sandbox, and take the patch back if "
        "a test that passed fails, or a new one does.",
    )
    dry_run: bool = Field(
        default=False, description="Judge the patch and say what it would change, but change nothing."
    )


class InspectAstSymbols(Arguments):
    """Arguments of `inspect_ast_symbols`."""

    name: str = Field(
        default="",
        max_length=300,
        description="A function, method or class by its name: `parse`, `Parser.parse`. All its definitions "
        "are returned, with who calls it.",
    )
    file: str = Field(
        default="",
        max_length=1500,
        description="Instead of a name, a file's path from the repository's root: its definitions in order.",
    )
    line: int = Field(
        default=0,
        ge=0,
        description="With `file`: only the definitions around this line (from 1), the innermost first.",
    )
    source: bool = Field(default=True, description="Return the definitions' numbered source, too.")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if bool(self.name) == bool(self.file):
            raise ValueError("give either `name` or `file`")
        if self.line and not self.file:
            raise ValueError("`line` goes with `file`")
        return self


_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "is no argument of this tool",
    "string_too_short": "is empty",
}


def problems_of(error: ValidationError, kind: type[Arguments]) -> str:
    """Say what is wrong with arguments, and which ones there are."""
    said = "; ".join(map(_problem, error.errors(include_url=False)))
    return f"{said}. The arguments are: {', '.join(kind.model_fields)}"


def _problem(entry: ErrorDetails) -> str:
    place = ".".join(map(str, entry["loc"]))
    message = entry["msg"].removeprefix("Value error, ")
    what = _WORDS.get(entry["type"], f"{message[:1].lower()}{message[1:]}")
    return f"`{place}` {what}" if place else message
