"""The target repository's `.fixwright.yml`, read from its base branch into a typed value."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from domain.errors import ConfigurationError
from domain.model import Category
from domain.repo_hints import problems_of
from domain.repo_sections import (
    CONVENTIONAL,
    DEFAULT_BRANCH_PREFIX,
    BranchName,
    BranchPrefix,
    CategoryName,
    CategoryRules,
    CommitSection,
    Directory,
    LabelName,
    PullSection,
    Section,
    branch_disagreements,
    label_disagreements,
)
from domain.repo_yaml import FILE_NAME as FILE_NAME
from domain.repo_yaml import Problem as Problem
from domain.repo_yaml import Unreadable, find, problem_at, read_document

LARGEST_FILE = 64 * 1024
"""Bytes. Reading YAML is slow; a file beyond this is not a configuration."""

_MOST_PROBLEMS = 20
_LARGEST_CAP = 1_000_000

Command = Annotated[str, Field(min_length=1, max_length=2000, pattern=r"^[^\x00]*[^\s\x00][^\x00]*$")]
VariableName = Annotated[str, Field(max_length=200, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
VariableValue = Annotated[str, Field(max_length=10_000, pattern=r"^[^\x00]*$")]
TestPattern = Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^\x00]*[^\s\x00][^\x00]*$")]
PathPattern = Annotated[str, Field(min_length=1, max_length=1000, pattern=r"^[^\x00]*[^\s\x00][^\x00]*$")]


class TestSection(Section):
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


class DocsSection(Section):
    """How the repository's documentation is built."""

    command: Command | None = Field(
        default=None,
        description="Command that builds the documentation and fails where it is broken; run for work that "
        "needs the evidence of documentation. Detected for MkDocs and Sphinx when absent.",
    )
    timeout_seconds: int = Field(
        default=300, ge=1, le=3600, strict=True, description="Longest build of the documentation."
    )


class SetupSection(Section):
    """What is installed once, before any issue's text is read, so that tests can run without a network."""

    commands: list[Command] | None = Field(
        default=None,
        max_length=50,
        description="Commands that install what the tests need, each by itself in a fresh checkout, in "
        "`working_directory`. Absent: the plain cases are detected, if the operator allows set-ups. Empty: "
        "nothing.",
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


class ResumeSection(Section):
    """How unfinished work is handed on to people and to the next attempt."""

    summary_on_block: Literal["mechanical", "llm"] = Field(
        default="mechanical",
        description="Who sums up what is unfinished when a limit is reached: `mechanical` (files changed, "
        "last actions; costs nothing), or `llm` (the model, by a call kept back under the same caps).",
    )


class CiMonitorSection(Section):
    """What the service does about continuous integration after it has pushed."""

    enabled: bool = Field(
        default=False,
        strict=True,
        description="Watch the pushed commit's continuous integration, say how it ended, and try again where "
        "the change broke it; needs a forge that tells of it.",
    )


class RepoConfig(Section):
    """What a repository says about itself. It can never raise a budget or allow a protected path."""

    labels: dict[LabelName, CategoryName] = Field(
        default_factory=dict,
        max_length=50,
        description="More labels that ask for work, and the category of each: bug, docs, chore, or one of "
        "`categories`. A label of the service's own may be given another category.",
    )
    categories: dict[CategoryName, CategoryRules] = Field(
        default_factory=dict,
        max_length=20,
        description="Kinds of work of this repository's own, by name, for `labels`.",
    )
    working_directory: Directory = Field(
        default="",
        description="Directory in which the set-up and the tests run and the agent begins, from the root; "
        "for one part of a monorepo. Absent: the root.",
    )
    test: TestSection = TestSection()
    setup: SetupSection = SetupSection()
    docs: DocsSection = DocsSection()
    approval: Literal["none", "plan", "publish", "both"] = Field(
        default="none",
        description="What waits for a maintainer's `/fixwright approve`: the work, on a plan "
        "(`plan`); the push, on the finished change (`publish`); `both`, or `none`.",
    )
    protected_paths: list[PathPattern] = Field(
        default_factory=list, description="More paths that must not be changed, as git wildcards."
    )
    protect_lockfiles: bool = Field(
        default=False, strict=True, description="Lockfiles of package clients are protected, too."
    )
    base_branch: BranchName | None = Field(
        default=None,
        description="Branch that work begins from and pull requests are for. Absent: the default branch. "
        "This file is read from the default branch in any case.",
    )
    branch_prefix: BranchPrefix = Field(
        default=DEFAULT_BRANCH_PREFIX,
        description="How the names of branches begin that are made for issues: `fixwright/` makes "
        "`fixwright/issue-7`.",
    )
    commit: CommitSection = CommitSection()
    pull_request: PullSection = PullSection()
    resume: ResumeSection = ResumeSection()
    ci_monitor: CiMonitorSection = CiMonitorSection()
    max_cost_per_task_usd: float | None = Field(
        default=None,
        ge=0,
        le=_LARGEST_CAP,
        strict=True,
        allow_inf_nan=False,
        description="A lower cap than the service's for tasks of this repository.",
    )
    max_iterations: int | None = Field(
        default=None, ge=0, le=_LARGEST_CAP, strict=True, description="A lower step cap than the service's."
    )
    max_minutes: int | None = Field(
        default=None,
        ge=1,
        le=_LARGEST_CAP,
        strict=True,
        description="A lower cap on the minutes that one attempt may take.",
    )
    max_attempts: int | None = Field(
        default=None,
        ge=1,
        le=_LARGEST_CAP,
        strict=True,
        description="A lower number of attempts at a task before a person is asked.",
    )
    max_daily_cost_usd: float | None = Field(
        default=None,
        ge=0,
        le=_LARGEST_CAP,
        strict=True,
        allow_inf_nan=False,
        description="A lower cap than the service's for this repository's UTC day.",
    )

    @property
    def plans_first(self) -> bool:
        """Tell whether a plan waits for an approval before the agent changes anything."""
        return self.approval in {"plan", "both"}

    @property
    def asks_before_publishing(self) -> bool:
        """Tell whether a finished change waits for an approval before anything is pushed."""
        return self.approval in {"publish", "both"}

    @property
    def max_cost(self) -> Decimal | None:
        """The cost cap in dollars, exactly as it is written."""
        cap = self.max_cost_per_task_usd
        return None if cap is None else Decimal(str(cap))

    @property
    def max_daily_cost(self) -> Decimal | None:
        """The daily cap in dollars, exactly as it is written."""
        cap = self.max_daily_cost_usd
        return None if cap is None else Decimal(str(cap))

    def kinds(self) -> dict[str, Category]:
        """Return the labels of the repository's own, as they are written, with whose rules each follows."""
        return {label: self.judged_as(name) for label, name in self.labels.items()}

    def category_of(self, label: str, otherwise: Category) -> str:
        """Return the category that a label stands for here, else the one that it was asked for as."""
        wanted = label.strip().casefold()
        named = (name for own, name in self.labels.items() if own.strip().casefold() == wanted)
        return next(named, str(otherwise))

    def judged_as(self, category: str) -> Category:
        """Return the kind of work whose rules a category follows."""
        rules = self.categories.get(category)
        return Category(category) if rules is None else rules.judged_as

    def commit_type(self, category: str) -> str:
        """Return a category's commit type in the conventional style."""
        rules = self.categories.get(category)
        return (rules.commit_type if rules else None) or CONVENTIONAL[self.judged_as(category)]


def parse_repo_config(source: bytes | None) -> RepoConfig:
    """Return the configuration in a file's bytes; an absent or empty file means the defaults.

    Raises:
        ConfigurationError: naming each problem with its line and column.
    """
    checked = check_repo_config(source)
    if isinstance(checked, RepoConfig):
        return checked
    lines = [str(problem) for problem in checked[:_MOST_PROBLEMS]]
    if len(checked) > _MOST_PROBLEMS:
        lines.append(f"{FILE_NAME}: and {len(checked) - _MOST_PROBLEMS} more")
    raise ConfigurationError("\n".join(lines))


def check_repo_config(source: bytes | None) -> RepoConfig | tuple[Problem, ...]:
    """Return the configuration in a file's bytes, or all that is wrong with them, in the file's order."""
    if source is None:
        return RepoConfig()
    if len(source) > LARGEST_FILE:
        return (Problem(0, 0, f"longer than {LARGEST_FILE // 1024} KiB"),)
    try:
        text = source.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return (Problem(0, 0, f"not UTF-8 text ({error.reason})"),)
    try:
        document = read_document(text)
    except Unreadable as unreadable:
        return unreadable.problems
    if document is None:
        return RepoConfig()
    node, value = document
    if not isinstance(value, dict):
        return (problem_at(node.start_mark, "must be a mapping such as `test: {command: pytest}`"),)
    try:
        config = RepoConfig.model_validate(value)
    except ValidationError as error:
        return _ordered(problems_of(error, node, RepoConfig))
    wrong = (
        *label_disagreements(config.labels, config.categories),
        *branch_disagreements(config.base_branch, config.branch_prefix),
    )
    problems = (
        problem_at(find(node, path)[0].start_mark, f"{'.'.join(path)}: {message}") for path, message in wrong
    )
    return _ordered(problems) or config


def _ordered(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(problems, key=lambda problem: (problem.line, problem.column)))
