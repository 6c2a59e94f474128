"""Cases: a repository, an issue, and what a scripted model does about it; read from case.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from domain.claim import Claim, Restatement
from domain.errors import ConfigurationError

CASES = Path(__file__).parent / "cases"

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
    package: str = ""
    version: str = ""
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
        text = (self.directory / self.patch).read_text()
        return [
            ScriptedTurn(say="The change.", run=f"git apply --whitespace=nowarn <<'PATCH'\n{text}\nPATCH"),
            *self.turns,
        ]


def load_case(name_or_directory: str) -> Case:
    """Read a case that ships with the demo, by name, or any other, by directory.

    Raises:
        ConfigurationError: there is no such case, or its file is wrong.
    """
    shipped = CASES / name_or_directory
    directory = shipped if shipped.is_dir() else Path(name_or_directory)
    try:
        raw = tomllib.loads((directory / "case.toml").read_text())
        return Case.model_validate({**raw, "directory": directory})
    except FileNotFoundError:
        names = ", ".join(sorted(path.name for path in CASES.iterdir() if path.is_dir()))
        raise ConfigurationError(f"no case {name_or_directory!r}; those that ship are: {names}") from None
    except (tomllib.TOMLDecodeError, ValidationError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{directory / 'case.toml'}: {error}") from None
