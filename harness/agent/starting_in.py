"""A session whose commands begin in one directory of the worktree, for one part of a monorepo."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace

from domain.model import CommandResult
from domain.ports import SandboxSession


@dataclass(frozen=True, slots=True)
class StartingIn:
    """Implements `domain.ports.SandboxSession`. Where the directory is gone, commands begin in /work."""

    inner: SandboxSession
    directory: str

    def run(self, command: str, deadline_seconds: float) -> CommandResult:
        """Run a command there; the result names it as it was given. Raises SandboxError."""
        placed = f"cd {shlex.quote(self.directory)} 2>/dev/null; {command}"
        return replace(self.inner.run(placed, deadline_seconds), command=command)

    def stop(self) -> None:
        """Kill the running command."""
        self.inner.stop()

    def close(self) -> None:
        """End the session."""
        self.inner.close()
