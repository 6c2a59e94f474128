"""A fuse in every lead out of the worker: at the n-th call to store, forge or git, the worker is dead.

What comes after that (every `finally` included) reaches nothing any more, as after a kill.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

from domain.model import CloneAccess
from harness.git import GitRunner
from harness.git.runner import DEFAULT_LIMITS, Completed, Limits, Place

LOOKING = frozenset(
    {
        "attempts",
        "calls_on_attempt",
        "next_due",
        "orphans",
        "phases",
        "publications",
        "report",
        "signals",
        "spent_on_attempt",
        "spent_on_day",
        "spent_on_task",
        "task",
        "tasks",
        "unfinished_publications",
        "verdict",
    }
)
"""Methods of the store that change nothing."""

CHANGING = frozenset(
    {
        "checkout-index",
        "commit-tree",
        "fetch",
        "init",
        "pack-objects",
        "push",
        "read-tree",
        "update-index",
        "update-ref",
        "write-tree",
    }
)
"""Verbs of git that write something, if only an index."""


class Killed(BaseException):
    """The worker's death; nothing that catches errors catches this."""


class Fuse:
    """Counts calls and blows before call `at` (0: never). `calls` are the names of those that were made.

    With `really` the process kills itself, else Killed is raised. Without `every`, calls that change nothing
    are not counted.
    """

    def __init__(self, at: int = 0, *, really: bool = False, every: bool = True) -> None:
        self.at, self.really, self.every = at, really, every
        self.calls: list[str] = []
        self.blown = False

    def burn(self, name: str) -> None:
        """Count a call, or die instead of making it."""
        if not self.every and not self.blown and _is_harmless(name):
            return
        if self.blown or len(self.calls) + 1 == self.at:
            self.blown = True
            if self.really:
                os.kill(os.getpid(), signal.SIGKILL)
            raise Killed(name)
        self.calls.append(name)


def _is_harmless(name: str) -> bool:
    verb = name.removeprefix("git ")
    return name in LOOKING or (verb != name and verb not in CHANGING)


class Fused:
    """Any port, with the fuse before each call."""

    def __init__(self, inner: object, fuse: Fuse) -> None:
        self._inner, self._fuse = inner, fuse

    def __getattr__(self, name: str) -> object:
        found: object = getattr(self._inner, name)
        return self._guarded(name, found) if callable(found) else found

    def _guarded(self, name: str, method: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object, **named: object) -> object:
            self._fuse.burn(name)
            return method(*arguments, **named)

        return call


class FusedGit(GitRunner):
    """The only git runner, with the fuse before each command."""

    def __init__(self, home: Path, *, fuse: Fuse, redact: Callable[[str], str] = str) -> None:
        super().__init__(home, redact=redact)
        self._fuse = fuse

    def call(
        self,
        place: Place,
        verb: str,
        *arguments: str,
        stdin: bytes = b"",
        limits: Limits = DEFAULT_LIMITS,
        access: CloneAccess | None = None,
        people: Mapping[str, str] | None = None,
    ) -> Completed:
        """Run one verb, if the worker lives to do it."""
        self._fuse.burn(f"git {verb}")
        return super().call(place, verb, *arguments, stdin=stdin, limits=limits, access=access, people=people)
