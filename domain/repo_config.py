"""The target repository's `.fixwright.yml`, read from its base branch into a typed value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from domain.errors import ConfigurationError

FILE_NAME = ".fixwright.yml"

Command = Annotated[str, Field(min_length=1, max_length=2000)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TestSection(_Section):
    """How the repository is tested."""

    __test__ = False

    command: Command | None = Field(default=None, description="The test command; detected when absent.")
    env: dict[str, str] = Field(default_factory=dict, description="Variables set for that command only.")
    timeout_seconds: int = Field(default=300, ge=1, le=3600, description="Longest run of the whole suite.")


class RepoConfig(_Section):
    """What a repository says about itself. It can never raise a budget or allow a protected path."""

    test: TestSection = TestSection()
    protected_paths: list[str] = Field(
        default_factory=list, description="More paths that must not be changed, as git wildcards."
    )
    max_cost_per_task_usd: float | None = Field(
        default=None, ge=0, description="A lower cap than the service's for tasks of this repository."
    )
    max_iterations: int | None = Field(default=None, ge=0, description="A lower step cap than the service's.")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with the file. Line and column count from 1; 0 where they are not known."""

    line: int
    column: int
    message: str

    def __str__(self) -> str:
        place = f"{FILE_NAME}:{self.line}:{self.column}: " if self.line else f"{FILE_NAME}: "
        return place + self.message


def parse_repo_config(source: bytes | None) -> RepoConfig:
    """Return the configuration in a file's bytes; an absent or empty file means the defaults.

    Raises:
        ConfigurationError: naming each problem with its line and column.
    """
    if source is None:
        return RepoConfig()
    try:
        text = source.decode("utf-8")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        raw = yaml.load(text, Loader=yaml.SafeLoader)
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{FILE_NAME}: not UTF-8 text ({error.reason})") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        what = getattr(error, "problem", None) or "not YAML"
        raise ConfigurationError(str(Problem(line, column, what))) from None
    except RecursionError:
        raise ConfigurationError(f"{FILE_NAME}: nested too deeply") from None
    if raw is None:
        return RepoConfig()
    if not isinstance(raw, dict):
        raise ConfigurationError(str(Problem(1, 1, "must be a mapping such as `test: {command: pytest}`")))
    try:
        return RepoConfig.model_validate(raw)
    except ValidationError as error:
        problems = [_located(node, entry["loc"], entry["msg"]) for entry in error.errors()]
        raise ConfigurationError("\n".join(map(str, problems))) from None


def _located(node: yaml.Node | None, path: tuple[int | str, ...], message: str) -> Problem:
    """Find the place of a value by walking the composed nodes along a validation error's path."""
    for step in path:
        if not isinstance(node, yaml.MappingNode):
            break
        for key, value in node.value:
            if key.value == step:
                node = value if isinstance(value, yaml.MappingNode) and step != path[-1] else key
                break
        else:
            break
    name = ".".join(map(str, path))
    if node is None:
        return Problem(0, 0, f"{name}: {message}")
    return Problem(node.start_mark.line + 1, node.start_mark.column + 1, f"{name}: {message}")
