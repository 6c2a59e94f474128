"""What every session does alike: one command at a time, watched, ended, and told about."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable

from domain.errors import SandboxError
from domain.model import CommandResult
from domain.ports import SandboxPolicy
from harness.sandbox.capture import OutputCapture
from harness.sandbox.cgroup import Group
from harness.sandbox.disk import DiskWatch, remove_tree
from harness.sandbox.family import exceeds_memory
from harness.sandbox.identity import Identity
from harness.sandbox.launch import Launched
from harness.sandbox.results import result_of, unsendable
from harness.sandbox.supervise import Check, Ending, Watch, drain
from harness.stopping import StopSignal


class CommandSession(ABC):
    """Implements `domain.ports.SandboxSession`. Commands run one at a time; any thread may call `stop`."""

    def __init__(self, policy: SandboxPolicy, identity: Identity, *, group: Group | None) -> None:
        self.policy = policy
        self.identity = identity
        self._group = group
        shown = [each.source for each in policy.shown if each.writable]
        self._disk = DiskWatch([policy.writable, policy.scratch, *shown], policy.disk_bytes)
        self._turn = threading.Lock()
        self._stop = StopSignal()
        self._closed = False

    @abstractmethod
    def _start(self, command: str) -> Launched:
        """Start a command up to its first gate. Raises SandboxError."""

    @abstractmethod
    def _pass_gates(self, launched: Launched, watch: Watch, capture: OutputCapture) -> Ending | None:
        """Let a command with its limits begin; return an ending if one came first. Raises SandboxError."""

    def _clock_start(self, called: float) -> float:
        """Return the moment from which a command's time counts, when it stands at its first gate."""
        return called

    def _sweep(self, status: int) -> None:  # noqa: B027 - most back ends have nothing more to kill
        """Kill what `Launched.end` cannot reach. `status` is what that found."""

    def _get_ready(self) -> None:  # noqa: B027 - nor anything to prepare
        """Prepare the next command, now that nothing of the last one is left. Must not take long."""

    def _release(self) -> None:  # noqa: B027 - nor anything more to undo
        """Undo what was prepared outside of the scratch directory."""

    def run(self, command: str, deadline_seconds: float) -> CommandResult:
        """Run a shell command in the worktree; return within `deadline_seconds` + 2 s, with its output.

        Background processes end with the command. Raises SandboxError if the sandbox cannot be set up;
        never for what the command does.
        """
        began = time.monotonic()
        refusal = unsendable(command)
        if refusal is not None:
            return refusal
        with self._turn:
            if self._closed:
                raise SandboxError("the sandbox session is closed")
            capture = OutputCapture(self.policy.output_head, self.policy.output_tail)
            if self._stop.requested:
                return result_of(command, 0, capture, Ending.STOPPED, seconds=0.0)
            kills_before = self._memory_kills()
            launched = self._start(command)
            deadline = self._clock_start(began) + max(0.0, deadline_seconds)
            status, ending = self._run_watched(launched, deadline, capture)
            if ending is Ending.BY_ITSELF and status and self._memory_kills() > kills_before:
                ending = Ending.MEMORY
            if ending is Ending.BY_ITSELF and self._disk.exceeded():
                ending = Ending.DISK
            if not self._stop.requested:
                self._get_ready()
        return result_of(command, status, capture, ending, seconds=time.monotonic() - began)

    def stop(self) -> None:
        """Kill the running command, and refuse every later one. Returns at once; safe in a signal handler."""
        self._stop.request()

    def close(self) -> None:
        """End what runs, then remove the scratch directory and all else that was made for the session."""
        self._stop.request()
        with self._turn:
            if self._closed:
                return
            self._closed = True
            self._release()
            if self._group is not None:
                self._group.close()
            remove_tree(self.policy.scratch)

    def _run_watched(self, launched: Launched, deadline: float, capture: OutputCapture) -> tuple[int, Ending]:
        try:
            watch = Watch(output=launched.output, ended=launched.ended, stop=self._stop, deadline=deadline)
            ending = self._pass_gates(launched, watch, capture)
            if ending is None:
                limit = self.policy.output_kill
                ending = watch.until_ended(capture, output_limit=limit, checks=self._checks(launched))
        finally:
            status = launched.end()
            self._sweep(status)
            if self._group is not None:
                self._group.kill()
            drain(capture, launched.output)
            launched.close()
        return status, ending

    def _checks(self, launched: Launched) -> list[Check]:
        """Return what is asked five times a second while a command runs."""

        def disk() -> Ending:
            return Ending.DISK if self._disk.exceeded(self._pid_of(launched)) else Ending.BY_ITSELF

        def memory() -> Ending:
            over = exceeds_memory(self._pid_of(launched), self.policy.memory_bytes)
            return Ending.MEMORY if over else Ending.BY_ITSELF

        return [disk] if self._group is not None else [disk, memory]

    def _pid_of(self, launched: Launched) -> int:
        """Return the process from which all others of the command descend."""
        return launched.init_pid or launched.process.pid

    def _memory_kills(self) -> int:
        return self._group.memory_kills() if self._group is not None else 0


SessionMaker = Callable[[SandboxPolicy], CommandSession]
"""Opens a session on a policy."""
