"""What an adapter of a test runner is: the base that each ecosystem's own small file fills in."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from harness.testing.calls import Call
from harness.testing.cases import Case, CaseOutcome, Reading
from harness.testing.output_lines import read_output
from harness.testing.plan import Runner

SCRATCH = "/tmp"
"""Where a session's scratch directory is mounted in the sandbox."""

WORK = "/work"
"""Where a checkout is mounted in the sandbox."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """What is added to a run so that it reports. Options are shell text; they go to the end of the call.

    `head` options go right behind the first `behind` words of the call. `env` is set always, `env_behind`
    only where the call itself cannot be reached. `files` are put into the scratch directory. `report` is the
    name of the one report there, `reports` are patterns of files below the checkout.
    """

    options: str = ""
    head: str = ""
    behind: int = 1
    env: Mapping[str, str] = field(default_factory=dict)
    env_behind: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    report: str = ""
    reports: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a finished run left: its reports, its plain output, and what is known of the checkout.

    `paths` are the checkout's files; `roots` are the absolute places by which its files may be named;
    `directory` is where the runner was started, below the root.
    """

    reports: tuple[bytes, ...]
    output: str
    paths: Callable[[], frozenset[str]] = frozenset
    roots: tuple[str, ...] = (WORK,)
    directory: str = ""

    def relative(self, path: str) -> str:
        """Return a file's path below the checkout's root, as far as that can be told."""
        for root in self.roots:
            if path.startswith(root + "/"):
                return path[len(root) + 1 :]
        path = path.removeprefix("file://").removeprefix("./")
        if path.startswith("/") or not self.directory:
            return path
        return f"{self.directory}/{path}"

    def find(self, ending: str) -> str:
        """Return the one file whose path ends in `ending`, or "" where there is none or more than one."""
        found = [path for path in self.paths() if path == ending or path.endswith("/" + ending)]
        return found[0] if len(found) == 1 else ""


@dataclass(frozen=True, slots=True)
class Planted:
    """A file of a checkout as it has to be for a test of ours to run beside the others."""

    path: str
    text: str

    @classmethod
    def at(cls, path: str, text: str) -> Planted | None:
        """Return a planted file, or None for a text that could not be made."""
        return cls(path, text) if text else None


class Adapter:
    """How one test runner is dealt with. The base serves any command whose output counts its tests."""

    runner: ClassVar[Runner] = Runner.OUTPUT
    captures: ClassVar[bool] = True
    """Whether the whole output is kept in a file, because results may have to be read from it."""
    strict: ClassVar[bool] = False
    """Whether a missing report means that nothing can be told, whatever the output says."""
    by_environment: ClassVar[bool] = True
    """Whether the runner reports even where its call cannot be changed."""
    places: ClassVar[bool] = False
    """Whether reading needs to know the checkout's files."""

    def recognises(self, call: Call) -> bool:
        """Tell whether a call starts this runner."""
        return False

    def silent(self, call: Call) -> str:
        """Return why a call of this runner would run no tests, or hide that they fail; "" if it does not."""
        return ""

    def extension(self, arguments: Sequence[str] = ()) -> Extension:
        """Return what makes the runner report. `arguments` are those of its call, where they are known."""
        return Extension()

    def narrowed(self, arguments: Sequence[str], paths: Sequence[str]) -> str:
        """Return what is added to a call so that only the tests in `paths` run, "" if there is no way."""
        return ""

    def planted(self, path: str, text: str, name: str) -> Planted | None:
        """Return a test file with a test in it that must fail, and whose id will hold `name` in some case.

        None where that cannot be had; `name` is a word of small letters.
        """
        return None

    def read(self, evidence: Evidence) -> Reading | None:
        """Return what a run's report says, or None if there is none that can be read."""
        return read_output(evidence.output)

    def shown_output(self, output: str) -> str:
        """Return the output as a person reads it."""
        return output


def case_id(file: str, name: str) -> str:
    """Return the stable name of a test: its file, two colons, its own name."""
    return f"{file}::{name}" if file and name else file or name


def unloaded(file: str, message: str, seconds: float = 0.0) -> Case:
    """Return the case that stands for a test file that could not be loaded."""
    return Case(
        id=file,
        file=file,
        name="",
        outcome=CaseOutcome.FAILED,
        message=message,
        collection=True,
        seconds=seconds,
    )


def asks(call: Call, questions: frozenset[str]) -> str:
    """Return why a call that only asks runs no tests, or "". Variables in front are looked at, too."""
    inside = [word for assignment in call.assignments for word in assignment.partition("=")[2].split()]
    for word in (*call.arguments, *inside):
        option, _, value = word.partition("=")
        if option in questions and value.lower() not in {"false", "0", "no"}:
            return f"`{call.name} {word}` only asks for information or pretends; no test runs"
    return ""


def quoted_paths(paths: Iterable[str]) -> str:
    """Return paths as one piece of shell text, each made safe and none looking like an option."""
    return " ".join(shlex.quote(f"./{path}") for path in paths)


def positional(arguments: Sequence[str], with_values: frozenset[str] = frozenset()) -> list[str]:
    """Return the arguments that are neither options nor the values of options that are known to take one."""
    return [
        word
        for position, word in enumerate(arguments)
        if not word.startswith("-") and (position == 0 or arguments[position - 1] not in with_values)
    ]
