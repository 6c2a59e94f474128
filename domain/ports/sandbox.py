"""Where commands run, and within which limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from domain.model import (
    CommandResult,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A host directory or file that a session sees at a guest path, read-only unless `writable`."""

    source: Path
    target: str
    writable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxPolicy:
    """Limits of one session. Bytes and seconds; `writable` is mounted at /work.

    Of the host, nothing else is seen but `shown`. `path` goes before the system's directories on PATH.
    `egress` is the Unix socket of a proxy that the harness runs; without one, nothing leaves the sandbox.
    `private_repository` is what the forge says; only then may a back end that does not isolate be used.
    """

    writable: Path
    scratch: Path
    memory_bytes: int = 450 * 2**20
    processes: int = 128
    file_bytes: int = 64 * 2**20
    disk_bytes: int = 300 * 2**20
    output_head: int = 8 * 2**10
    output_tail: int = 24 * 2**10
    output_kill: int = 64 * 2**20
    env: Mapping[str, str] = field(default_factory=dict)
    shown: tuple[Shown, ...] = ()
    path: tuple[str, ...] = ()
    egress: Path | None = None
    private_repository: bool = False


class SandboxSession(Protocol):
    """A prepared place to run commands in. Nothing that a command starts outlives it."""

    def run(self, command: str, deadline_seconds: float) -> CommandResult:
        """Run a shell command in /work. Never raises for what the command does. Raises SandboxError."""

    def stop(self) -> None:
        """Kill the running command, from any thread; the session is not used after that."""

    def close(self) -> None:
        """Kill what is left and remove the session's scratch space."""


class Sandbox(Protocol):
    """A back end that isolates commands."""

    @property
    def isolation(self) -> str:
        """Say in one line what isolation is achieved; the pull request prints it."""

    def self_test(self) -> None:
        """Try the isolation for real. Raises SandboxError naming what does not hold and the way out."""

    def open(self, policy: SandboxPolicy) -> SandboxSession:
        """Return a session on a worktree. Raises SandboxError."""
