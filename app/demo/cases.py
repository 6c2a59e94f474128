"""Cases: a repository, an issue, and what a scripted model does about it; read from case.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from domain.claim import Claim, Restatement
from domain.errors import ConfigurationError
from domain.text import one_line

CASES = Path(__file__).parent / "cases"

END = "THE-END-OF-THE-PATCH"
LARGEST_COMMAND = 100_000
"""Bytes; the kernel takes no argument above 128 KiB."""

Files = Mapping[str, tuple[bytes, int]]
"""Path in the repository to (content, git mode 0o100644 or 0o100755)."""


class ScriptedTurn(BaseModel):
    """One step of the scripted model: what it says and the command that it runs."""

    model_config = ConfigDict(extra="forbid")

    say: str = ""
    run: Annotated[str, Field(min_length=1)]


class Case(BaseModel):
    """One case. Its source is either `files`, a directory beside case.toml, or a `package` and `version`."""

    model_config = ConfigDict(extra="forbid")

    repository: str = Field(pattern=r"^[\w.-]+/[\w.-]+$", description="owner/name on the demo's forge")
    files: str = ""
    package: str = Field(default="", pattern=r"^(?:[A-Za-z0-9][\w.-]*)?$")
    version: str = Field(default="", pattern=r"^[\w.!+-]*$")
    requirements: list[str] = Field(default_factory=list, description="what the tests need besides pytest")
    config: str = Field(default="", description="text of the repository's .fixwright.yml, if any")
    default_branch: str = "main"
    label: str = "bug"
    title: str
    issue: str
    restatement: Restatement
    turns: list[ScriptedTurn] = Field(default_factory=list)
    more_turns: list[ScriptedTurn] = Field(default_factory=list, description="what a second attempt does")
    patch: str = Field(default="", description="a patch file beside case.toml, applied as the first turn")
    claim: Claim
    directory: Path = Field(default=CASES, exclude=True)

    def model_post_init(self, _context: object) -> None:
        """Check that the case has exactly one source."""
        if bool(self.files) == bool(self.package and self.version):
            raise ValueError("give either `files`, or `package` and `version`")

    @property
    def all_turns(self) -> list[ScriptedTurn]:
        """The turns, with the patch in front where the case has one."""
        if not self.patch:
            return self.turns
        return [
            ScriptedTurn(say=say, run=f"git apply --whitespace=nowarn <<'{END}'\n{part}\n{END}")
            for say, part in patch_parts(self.directory / self.patch)
        ] + self.turns


def patch_parts(path: Path) -> list[tuple[str, str]]:
    """Read a patch as (what to say, text) for each turn: whole, or file by file where it is large.

    Line ends are kept as they are: a patch for a file with CRLF has them.

    Raises:
        ConfigurationError: it is not there, not text, or one file's part is too large for a command.
    """
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path}: the patch cannot be read: {one_line(str(error), 200)}") from None
    if len(text.encode()) <= LARGEST_COMMAND:
        return [("The change.", text)]
    parts = re.split(r"^(?=diff --git )", text, flags=re.MULTILINE)
    named = [(f"The change, part {number}.", part) for number, part in enumerate(filter(None, parts), 1)]
    if any(len(part.encode()) > LARGEST_COMMAND for _, part in named):
        raise ConfigurationError(f"{path}: one file's part of the patch is over {LARGEST_COMMAND} bytes")
    return named


def load_case(name_or_directory: str) -> Case:
    """Read a case that ships with the demo, by name, or any other, by directory.

    Raises:
        ConfigurationError: there is no such case, or its file is wrong.
    """
    shipped = CASES / name_or_directory
    directory = shipped if shipped.is_dir() else Path(name_or_directory)
    if not directory.is_dir():
        names = ", ".join(sorted(path.name for path in CASES.iterdir() if path.is_dir()))
        raise ConfigurationError(f"no case {name_or_directory!r}; those that ship are: {names}")
    file = directory / "case.toml"
    try:
        raw = tomllib.loads(file.read_bytes().decode())
        case = Case.model_validate({**raw, "directory": directory})
    except FileNotFoundError:
        raise ConfigurationError(f"{file} is not there; see docs/how-to/own-case.md") from None
    except ValidationError as error:
        problems = "; ".join(map(_problem, error.errors()))
        raise ConfigurationError(f"{file}: {problems}") from None
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{file}: {one_line(str(error), 300)}") from None
    if case.files and not (directory / case.files).is_dir():
        raise ConfigurationError(f"{file}: files: there is no directory {directory / case.files}")
    if case.patch:
        patch_parts(directory / case.patch)
    return case


_PLAIN_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "is no key of a case",
    "string_too_short": "is empty",
    "string_type": "must be a text in quotes",
}
"""What pydantic's commonest complaints mean to who writes a case."""


def _problem(entry: ErrorDetails) -> str:
    """Say in a few words which key is wrong, and how."""
    place = ".".join(map(str, entry["loc"]))
    message = entry["msg"].removeprefix("Value error, ")
    what = _PLAIN_WORDS.get(entry["type"], f"{message[0].lower()}{message[1:]}")
    return f"`{place}` {what}" if place else message
