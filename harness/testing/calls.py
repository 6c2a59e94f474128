"""One call of a program: what is left of a simple command without assignments, wrappers and launchers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from harness.testing.shell import Chain, Simple, Word

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=.*", re.DOTALL)
_DURATION = re.compile(r"-?\d+(?:\.\d+)?[smhd]?")
_PYTHON = re.compile(r"(?:.*/)?(?:python|pypy)[\d.]*")
_SIMPLE_WRAPPERS = frozenset(
    {"env", "nice", "time", "exec", "command", "timeout", "nohup", "stdbuf", "cross-env"}
)
_WRAPPERS_WITH_VALUES = {
    "xvfb-run": frozenset({"-s", "-n", "-e", "-f", "-p", "-w"}),
    "timeout": frozenset({"-s", "-k", "--signal", "--kill-after"}),
    "nice": frozenset({"-n"}),
    "env": frozenset({"-u", "-C", "-S"}),
    "stdbuf": frozenset({"-i", "-o", "-e"}),
    "dotenv": frozenset({"-e", "-f"}),
}
_RUNNERS = frozenset({"uv", "poetry", "pdm", "hatch", "pipenv", "rye", "pixi"})
_EXECUTORS = frozenset(
    {("bundle", "exec"), ("npm", "exec"), ("pnpm", "exec"), ("pnpm", "dlx"), ("yarn", "exec")}
)
_DIRECT_BINARIES = frozenset({"jest", "vitest", "mocha", "c8", "nyc"})
_COVERAGE = frozenset({"c8", "nyc"})


@dataclass(frozen=True, slots=True)
class Call:
    """A program with its arguments. `name` has no directory; `head` ends where the program's own word ends.

    `assignments` are the variables set in front of it, as `NAME=value`.
    """

    words: tuple[Word, ...]
    name: str
    head: int
    assignments: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The program and its arguments as text; the program by its bare name."""
        return (self.name, *(word.text for word in self.words[1:]))

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments as text."""
        return self.texts[1:]

    @property
    def end(self) -> int:
        """Where the call ends in the command line."""
        return self.words[-1].end


def call_of(command: Simple) -> Call | None:
    """Return the call behind assignments, wrappers, launchers and `python -m`, or None where none is left."""
    words, assignments = command.words, []
    while words:
        before = words
        if _ASSIGNMENT.fullmatch(words[0].text):
            assignments.append(words[0].text)
            words = words[1:]
        else:
            words = _inner(words)
        if words is before or len(words) == len(before):
            break
    if not words:
        return None
    return Call(words, words[0].text.rsplit("/", 1)[-1], words[0].end, tuple(assignments))


def _inner(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Take one wrapper off the front, if there is one."""
    name = words[0].text.rsplit("/", 1)[-1]
    second = words[1].text if len(words) > 1 else ""
    if name in _SIMPLE_WRAPPERS or name in _WRAPPERS_WITH_VALUES:
        return _without_options(words[1:], _WRAPPERS_WITH_VALUES.get(name, frozenset()))
    if name in {"npx", "bunx"} or (name, second) in _EXECUTORS:
        rest = words[1:] if name in {"npx", "bunx"} else words[2:]
        return _without_options(rest, frozenset({"-p", "--package", "--prefix"}))
    if name in _RUNNERS and second == "run" and [word.text for word in words[2:3]] == ["test"]:
        return words  # a script of that name, and not the shell's own `test`
    if name in _RUNNERS and second == "run":
        return _without_options(
            words[2:], frozenset({"--with", "--extra", "--group", "-p", "--python", "-e"})
        )
    if name in {"sh", "bash"} and second.rsplit("/", 1)[-1] in {"mvnw", "gradlew"}:
        return words[1:]
    if name == "yarn" and second in _DIRECT_BINARIES:
        return words[1:]
    if _PYTHON.fullmatch(words[0].text):
        return _module(words)
    if name == "coverage" and second == "run":
        return _covered(words)
    if name in _COVERAGE:
        return _without_options(words[1:], frozenset({"--reporter", "-r", "-x", "-n"}))
    return words


def _without_options(words: tuple[Word, ...], with_values: frozenset[str]) -> tuple[Word, ...]:
    while words and (words[0].text.startswith("-") or _DURATION.fullmatch(words[0].text)):
        words = words[2:] if words[0].text in with_values else words[1:]
    return words


def _module(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """Return what `python -m NAME` runs; other calls of Python stay as they are."""
    for position, word in enumerate(words[1:], 1):
        if word.text == "-m":
            return words[position + 1 :] or words
        if word.text in {"-W", "-X"} or words[position - 1].text in {"-W", "-X"}:
            continue
        if not word.text.startswith("-") or "c" in word.text[1:]:
            break
    return words


def _covered(words: tuple[Word, ...]) -> tuple[Word, ...]:
    for position, word in enumerate(words):
        if word.text == "-m" and position + 1 < len(words):
            return words[position + 1 :]
    return words


def directories(chains: tuple[Chain, ...]) -> str:
    """Return the directory, relative to the root, that `cd` statements at the front of a line lead to."""
    place = ""
    for chain in chains:
        for _, pipeline in chain.links:
            part = pipeline.parts[0]
            if isinstance(part, Simple) and part.texts[:1] == ("cd",) and len(part.texts) == 2:
                place = joined(place, part.texts[1])
    return place


def joined(place: str, directory: str) -> str:
    """Join two relative directories; what leads out of the tree, or is no plain path, gives ".."."""
    if directory.startswith(("/", "~", "$", "-")) or place == "..":
        return ".."
    parts: list[str] = [part for part in place.split("/") if part]
    for part in directory.split("/"):
        if part == "..":
            if not parts:
                return ".."
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts)
