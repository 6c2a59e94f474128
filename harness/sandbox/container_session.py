"""A session whose every command runs in a container of its own, in the same directories."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from domain.errors import SandboxError
from domain.ports import SandboxPolicy
from harness.sandbox.capture import OutputCapture
from harness.sandbox.container_arguments import Box, create_arguments
from harness.sandbox.container_engine import Engine, client_environment
from harness.sandbox.container_files import read_pid_file
from harness.sandbox.container_memory import MemoryWitness
from harness.sandbox.container_owner import remove_container
from harness.sandbox.launch import Launched
from harness.sandbox.profile import SHELL_READY
from harness.sandbox.session import CommandSession
from harness.sandbox.supervise import Ending, Watch

_START_SECONDS = 30.0
_SAID_BYTES = 2**14
_REMOVALS = 3
_CONTAINER_ID = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """All that a session needs and that does not change between its commands.

    `box` makes the description of a container anew for each command: some limits count what runs just then.
    `state` is a directory of ours for the moment between a container's start and its command's.
    `prepare` is called before each command, `release` after the last.
    """

    engine: Engine
    policy: SandboxPolicy
    state: Path
    box: Callable[[], Box]
    prepare: Callable[[], None]
    release: Callable[[], None]


class ContainerSession(CommandSession):
    """One container per command: its first process is ours, and with that the kernel ends all the others."""

    def __init__(self, setting: Setting) -> None:
        identity = setting.box().identity
        super().__init__(setting.policy, identity, group=None)
        self._setting = setting
        self._container = ""
        self._pid_file: Path | None = None
        self._root_pid = 0
        self._memory: MemoryWitness | None = None
        self._memory_endings = 0

    def _start(self, command: str) -> Launched:
        """Make a container and bring it to its gate. A stop meanwhile is seen at the gate."""
        self._setting.prepare()
        self._container = self._create(command)
        launched: Launched | None = None
        try:
            launched = self._attach()
            self._expect_ready(launched)
            self._root_pid = self._find_root()
            self._memory = MemoryWitness(self._root_pid) if self._root_pid else None
        except BaseException:
            if launched is not None:
                launched.end()
                launched.close()
            self._remove()
            raise
        return launched

    def _clock_start(self, called: float) -> float:
        """Count a command's time from here: an engine takes its time to set up a container."""
        return time.monotonic()

    def _pass_gates(self, launched: Launched, watch: Watch, capture: OutputCapture) -> Ending | None:
        if self._stop.requested:
            return Ending.STOPPED
        launched.let_pass()
        return None

    def _sweep(self, status: int) -> None:
        """Remove the container with all that runs in it; then it is known whether memory ran out."""
        self._remove()
        if self._memory is not None and self._memory.saw_a_kill():
            self._memory_endings += 1

    def _release(self) -> None:
        self._setting.release()

    def _memory_kills(self) -> int:
        return self._memory_endings

    def _pid_of(self, launched: Launched) -> int:
        """Return the container's first process as the host sees it, or the client where that is hidden."""
        return self._root_pid or launched.process.pid

    def _create(self, command: str) -> str:
        engine, name = self._setting.engine, f"fixwright-{os.getpid()}-{secrets.token_hex(8)}"
        self._pid_file = self._setting.state / f"{name}.pid" if engine.writes_pid_files else None
        try:
            said = engine.call(
                *create_arguments(
                    engine, self._setting.box(), name=name, command=command, pid_file=self._pid_file
                )
            ).split()
            if not said or not _CONTAINER_ID.fullmatch(said[-1]):
                raise SandboxError(f"{engine.name} create did not answer with a container's id: {said[-1:]}")
        except SandboxError:
            remove_container(engine, name)  # it may have come into being all the same
            raise
        return said[-1]

    def _attach(self) -> Launched:
        output, theirs = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(output, False)
        program = os.fspath(self._setting.engine.program)
        try:
            process = subprocess.Popen(
                [program, "start", "--attach", "--interactive", self._container],
                stdin=subprocess.PIPE, stdout=theirs, stderr=theirs, bufsize=0,
                env=client_environment(), cwd="/", start_new_session=True, close_fds=True,
            )  # fmt: skip
        except OSError as error:
            os.close(output)
            raise SandboxError(f"{program} cannot be run: {error.strerror}") from error
        finally:
            os.close(theirs)
        return Launched(process=process, ended=os.pidfd_open(process.pid), output=output)

    def _expect_ready(self, launched: Launched) -> None:
        """Wait for the gate's own first byte. Raises SandboxError with what was said instead."""
        watch = Watch(
            output=launched.output,
            ended=launched.ended,
            stop=self._stop,
            deadline=time.monotonic() + _START_SECONDS,
        )
        said = b""
        while SHELL_READY not in said:
            ready = watch.wait(launched.output)
            if not ready or watch.stop.fileno() in ready:
                if self._stop.requested:
                    return
                raise SandboxError(f"the container did not start within {_START_SECONDS:.0f} seconds")
            chunk = _read_now(launched.output) if launched.output in ready else b""
            said += chunk
            if not chunk or len(said) > _SAID_BYTES:
                reason = said.decode("utf-8", "replace").strip() or "it ended without a word"
                raise SandboxError(f"{self._setting.engine.name} could not start the container: {reason}")

    def _find_root(self) -> int:
        """Return the pid of the container's first process here, or 0 where the engine is in another world."""
        engine = self._setting.engine
        try:
            text = read_pid_file(self._pid_file) or engine.call(
                "container", "inspect", "--format", "{{.State.Pid}}", self._container
            )
            pid = int(text)
            belongs = Path(f"/proc/{pid}/cgroup").read_text()
        except (SandboxError, ValueError, OSError):  # it has just ended
            return 0
        return pid if engine.is_podman or self._container in belongs else 0

    def _remove(self) -> None:
        """Remove the container; nothing of it may live on. Raises SandboxError if it does."""
        container, self._container = self._container, ""
        for attempt in range(_REMOVALS):
            try:
                if container:
                    remove_container(self._setting.engine, container)
                return
            except SandboxError:
                if attempt == _REMOVALS - 1:
                    raise


def _read_now(output: int) -> bytes:
    try:
        return os.read(output, _SAID_BYTES)
    except BlockingIOError:
        return b""
