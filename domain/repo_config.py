"""The target repository's `.fixwright.yml`, read from its base branch into a typed value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Literal, Protocol

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from domain.errors import ConfigurationError

FILE_NAME = ".fixwright.yml"

LARGEST_FILE = 64 * 1024
"""Bytes. Reading YAML is slow; a file beyond this is not a configuration."""

_MOST_PROBLEMS = 20
_DEEPEST = 20

Command = Annotated[str, Field(min_length=1, max_length=2000, pattern=r"^[^\x00]*[^\s\x00][^\x00]*$")]
VariableName = Annotated[str, Field(max_length=200, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
VariableValue = Annotated[str, Field(max_length=10_000, pattern=r"^[^\x00]*$")]
TestPattern = Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^\x00]*[^\s\x00][^\x00]*$")]
PathPattern = Annotated[str, Field(min_length=1, max_length=1000, pattern=r"^[^\x00]*[^\s\x00][^\x00]*$")]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TestSection(_Section):
    """How the repository is tested."""

    __test__ = False

    command: Command | None = Field(default=None, description="The test command; detected when absent.")
    env: dict[VariableName, VariableValue] = Field(
        default_factory=dict, description="Variables set for that command only."
    )
    timeout_seconds: int = Field(
        default=300, ge=1, le=3600, strict=True, description="Longest run of the whole suite."
    )
    flaky: list[TestPattern] = Field(
        default_factory=list,
        max_length=200,
        description="Tests known to vary, as wildcards over their ids (`tests/test_net.py::*`): they decide "
        "nothing, for or against a change.",
    )


HostName = Annotated[
    str,
    Field(max_length=260, pattern=r"^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?(?::[1-9][0-9]{0,4})?$"),
]


class SetupSection(_Section):
    """What is installed once, before any issue's text is read, so that tests can run without a network."""

    commands: list[Command] | None = Field(
        default=None,
        max_length=50,
        description="Commands that install what the tests need, each by itself in the root of a fresh "
        "checkout. Absent: the plain cases are detected, if the operator allows set-ups. Empty: nothing.",
    )
    env: dict[VariableName, VariableValue] = Field(
        default_factory=dict, description="Variables set for these commands, the tests and the agent."
    )
    timeout_seconds: int = Field(
        default=900,
        ge=1,
        le=7200,
        strict=True,
        description="Longest time for all commands together; the operator may allow less.",
    )
    hosts: Literal["auto"] | list[HostName] = Field(
        default="auto",
        description="Hosts that the commands need: all that the operator allows (`auto`), or only these. "
        "One that the operator does not allow stops the task, with the line that would allow it.",
    )


class ResumeSection(_Section):
    """How unfinished work is handed on to people and to the next attempt."""

    summary_on_block: Literal["mechanical", "llm"] = Field(
        default="mechanical",
        description="Who sums up what is unfinished when a limit is reached: `mechanical` (files changed, "
        "last actions; costs nothing), or `llm` (the model, by a call kept back under the same caps).",
    )


class CiMonitorSection(_Section):
    """What the service does about continuous integration after it has pushed."""

    enabled: bool = Field(
        default=False,
        strict=True,
        description="Watch the pushed commit's continuous integration, say how it ended, and try again where "
        "the change broke it; needs a forge that tells of it.",
    )


class RepoConfig(_Section):
    """What a repository says about itself. It can never raise a budget or allow a protected path."""

    test: TestSection = TestSection()
    setup: SetupSection = SetupSection()
    protected_paths: list[PathPattern] = Field(
        default_factory=list, description="More paths that must not be changed, as git wildcards."
    )
    protect_lockfiles: bool = Field(
        default=False, strict=True, description="Lockfiles of package clients are protected, too."
    )
    resume: ResumeSection = ResumeSection()
    ci_monitor: CiMonitorSection = CiMonitorSection()
    max_cost_per_task_usd: float | None = Field(
        default=None,
        ge=0,
        strict=True,
        allow_inf_nan=False,
        description="A lower cap than the service's for tasks of this repository.",
    )
    max_iterations: int | None = Field(
        default=None, ge=0, strict=True, description="A lower step cap than the service's."
    )

    @property
    def max_cost(self) -> Decimal | None:
        """The cost cap in dollars, exactly as it is written."""
        cap = self.max_cost_per_task_usd
        return None if cap is None else Decimal(str(cap))


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
    if len(source) > LARGEST_FILE:
        raise ConfigurationError(f"{FILE_NAME}: longer than {LARGEST_FILE // 1024} KiB")
    try:
        text = source.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{FILE_NAME}: not UTF-8 text ({error.reason})") from None
    node, raw = _read(text)
    if node is None or raw is None:
        return RepoConfig()
    if not isinstance(raw, dict):
        raise _refusal(_problem_at(node.start_mark, "must be a mapping such as `test: {command: pytest}`"))
    try:
        return RepoConfig.model_validate(raw)
    except ValidationError as error:
        raise _refusal(
            *(
                _located(node, found["loc"], _say(found["type"], found["msg"]))
                for found in error.errors(include_url=False, include_input=False)
            )
        ) from None


def _refusal(*problems: Problem) -> ConfigurationError:
    lines = [str(problem) for problem in problems[:_MOST_PROBLEMS]]
    if len(problems) > _MOST_PROBLEMS:
        lines.append(f"{FILE_NAME}: and {len(problems) - _MOST_PROBLEMS} more")
    return ConfigurationError("\n".join(lines))


def _say(kind: str, message: str) -> str:
    return "not a key that is known here" if kind == "extra_forbidden" else message


class _Place(Protocol):
    line: int
    column: int


def _problem_at(place: _Place | None, message: str) -> Problem:
    return Problem(place.line + 1, place.column + 1, message) if place else Problem(0, 0, message)


def _read(text: str) -> tuple[yaml.Node | None, object]:
    """Return the document as nodes, which know their places, and as plain values."""
    try:
        refused = list(_refused_features(text))
        if refused:
            raise _refusal(*refused)
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:
            return None, None
        odd_keys = list(_odd_keys(node))
        if odd_keys:
            raise _refusal(*odd_keys)
        return node, loader.construct_document(node)
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        line, column = before.count("\n") + 1, error.position - (before.rfind("\n") + 1) + 1
        raise _refusal(
            Problem(line, column, f"a character that YAML does not allow ({error.reason})")
        ) from None
    except yaml.MarkedYAMLError as error:
        raise _refusal(_problem_at(error.problem_mark, error.problem or "not YAML")) from None
    except ValueError as error:  # a date or a number that only looks like one
        raise _refusal(Problem(0, 0, f"a value that cannot be read ({error})")) from None


def _refused_features(text: str) -> Iterator[Problem]:
    """Find aliases, tags and depth: a few lines of aliases can stand for gigabytes, tags name types, and the
    time that the reader takes grows with the square of the depth.
    """
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            yield _problem_at(event.start_mark, "nested too deeply")
            return
        if isinstance(event, yaml.AliasEvent):
            yield _problem_at(event.start_mark, f"aliases (`*{event.anchor}`) are not allowed here")
        elif isinstance(event, yaml.CollectionStartEvent | yaml.ScalarEvent) and event.tag is not None:
            yield _problem_at(event.start_mark, f"tags (`{event.tag}`) are not allowed here")


def _odd_keys(node: yaml.Node) -> Iterator[Problem]:
    """Find keys that YAML itself lets pass: given twice, or not text (`yes`, `1`, `null`, a list)."""
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _odd_keys(item)
    if not isinstance(node, yaml.MappingNode):
        return
    seen: set[str] = set()
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
            yield _problem_at(key.start_mark, "a key must be text; put it in quotes")
        elif key.value in seen:
            yield _problem_at(key.start_mark, f"{key.value}: given twice")
        else:
            seen.add(key.value)
        yield from _odd_keys(value)


def _located(node: yaml.Node, path: tuple[int | str, ...], message: str) -> Problem:
    """Find the key, or the list's item, that a validation error's path leads to, as far as there is one."""
    place = node
    for step in path:
        inner = _step_into(node, step)
        if inner is None:
            break
        place, node = inner
    name = ".".join(str(step) for step in path if step != "[key]")
    return _problem_at(place.start_mark, f"{name}: {message}")


def _step_into(node: yaml.Node, step: int | str) -> tuple[yaml.Node, yaml.Node] | None:
    """Return (where to point, what is inside) for a key or an index, or None."""
    if isinstance(node, yaml.MappingNode):
        return next(((key, value) for key, value in node.value if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step], node.value[step]
    return None
