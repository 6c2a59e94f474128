"""A fuse in every lead out of the worker: at the n-th call to store, forge or git, the worker is dead.

What comes after that (every `finally` included) reaches nothing any more, as after a kill.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

from harness.git import GitRunner
from harness.git.runner import Completed


class Killed(BaseException):
    """The worker's death; nothing that catches errors catches this."""


class Fuse:
    """Counts calls and blows before call `at` (0: never). `calls` are the names of those that were made."""

    def __init__(self, at: int = 0, *, really: bool = False) -> None:
        self.at, self.really = at, really
        self.calls: list[str] = []
        self.blown = False

    def burn(self, name: str) -> None:
        """Count a call, or die instead of making it."""
        if self.blown or len(self.calls) + 1 == self.at:
            self.blown = True
            if self.really:
                os.kill(os.getpid(), signal.SIGKILL)
            raise Killed(name)
        self.calls.append(name)


class Fused:
    """Any port, with the fuse before each call."""

    def __init__(self, inner: object, fuse: Fuse) -> None:
        self._inner, self._fuse = inner, fuse

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return self._guarded(name, found) if callable(found) else found

    def _guarded(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self._fuse.burn(name)
            return method(*arguments, **named)

        return call


class FusedGit(GitRunner):
    """The only git runner, with the fuse before each command."""

    def __init__(self, *arguments: Any, fuse: Fuse, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._fuse = fuse

    def call(self, *arguments: Any, **named: Any) -> Completed:
        self._fuse.burn(f"git {arguments[1]}")
        return super().call(*arguments, **named)
