"""A session whose every command runs in a bubblewrap of its own, in the same directories.

Before each bubblewrap stands a gate, a process that has become the user, taken on the limits and joined the
control group. All of that is the same for each command, so the gate of the next one is made as soon as the
last one is over, by a thread of the session's own. Nothing of a sandbox exists before the command is known.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from domain.errors import SandboxError
from domain.ports import SandboxPolicy
from harness.sandbox.becoming import Becoming
from harness.sandbox.capture import OutputCapture
from harness.sandbox.cgroup import Group
from harness.sandbox.launch import Launched, in_memory, launch
from harness.sandbox.limits import IDLE_PRIORITY, limit_options, threads_of
from harness.sandbox.mountpoints import MountPoints
from harness.sandbox.profile import EGRESS_GATE, INNER_GATE, SHELL_READY, Profile, bubblewrap_arguments
from harness.sandbox.session import CommandSession
from harness.sandbox.supervise import Ending, Watch

_SETUP_OUTPUT_BYTES = 2**14


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """All that a session needs and that does not change between its commands.

    `files` are written for the sandbox: guest path → content.
    """

    bwrap: Path
    user: Becoming
    policy: SandboxPolicy
    profile: Profile
    files: Mapping[str, bytes]
    seccomp: bytes
    mountpoints: MountPoints
    group: Group | None
    yield_processor: bool


class BubblewrapSession(CommandSession):
    """Commands see the profile and nothing else of the host."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting.policy, setting.user.identity, group=setting.group)
        self._setting = setting
        self._limits = limit_options(setting.policy, processes_before=threads_of(self.identity.uid))
        # The kernel ends a sandbox when the *thread* that started it ends, so it is one that lasts.
        self._gatekeeper = ThreadPoolExecutor(1, thread_name_prefix="sandbox-gate")
        self._ahead: Future[Launched] | None = None
        self._get_ready()

    def _start(self, command: str) -> Launched:
        self._setting.mountpoints.clear_the_way()
        launched = self._gate()
        launched.give(command)
        return launched

    def _get_ready(self) -> None:
        self._ahead = self._gatekeeper.submit(self._make_gate)

    def _gate(self) -> Launched:
        """Return the gate that was made ahead, or a new one if that has died. Raises SandboxError."""
        ahead, self._ahead = self._ahead, None
        launched = ahead.result() if ahead is not None else None
        if launched is not None and launched.is_over():
            launched.discard()
            launched = None
        return launched or self._gatekeeper.submit(self._make_gate).result()

    def _make_gate(self) -> Launched:
        setting = self._setting
        with ExitStack() as ours:
            info, their_info = os.pipe2(os.O_CLOEXEC)
            ours.callback(os.close, their_info)
            seccomp = _passed(ours, setting.seccomp, "seccomp")
            files = {path: _passed(ours, content, "file") for path, content in setting.files.items()}
            arguments = bubblewrap_arguments(
                setting.profile, seccomp_fd=seccomp, info_fd=their_info, files=files
            )
            packed = b"".join(os.fsencode(argument) + b"\0" for argument in arguments)
            options = _passed(ours, packed, "arguments")
            program = [str(setting.bwrap), "--args", str(options), "--", "/bin/sh", "-c"]
            gate = EGRESS_GATE if setting.profile.egress is not None else INNER_GATE
            launched = launch(
                [*program, gate, "sh"],
                user=setting.user,
                limits=self._limits,
                inherited=(seccomp, their_info, options, *files.values()),
                info=info,
                before=IDLE_PRIORITY if setting.yield_processor else (),
            )
        self._admit(launched)
        return launched

    def _admit(self, launched: Launched) -> None:
        if self._group is None:
            return
        try:
            self._group.admit(launched.process.pid)
        except OSError as error:
            launched.discard()
            raise SandboxError(f"a command could not be put into its control group: {error}") from error

    def _pass_gates(self, launched: Launched, watch: Watch, capture: OutputCapture) -> Ending | None:
        """Take hold of bubblewrap's init, and only then give the command leave."""
        descriptors = [launched.output] if launched.info is None else [launched.info, launched.output]
        if ending := _wait_for(watch, *descriptors):
            return ending
        launched.learn_init()
        if early := launched.init_pid is not None:
            launched.let_pass()
        said = b""
        while SHELL_READY not in said:
            if ending := _wait_for(watch, launched.output):
                return ending
            chunk = _read_now(launched.output)
            said += chunk
            if SHELL_READY not in said and (not chunk or len(said) > _SETUP_OUTPUT_BYTES):
                reason = said.decode("utf-8", "replace").strip() or "it ended without a word"
                raise SandboxError(f"bubblewrap could not set up the sandbox: {reason}")
        launched.learn_init()
        if launched.init_pid is None:
            raise SandboxError(f"{self._setting.bwrap} did not announce its process: it is not bubblewrap")
        capture.feed(said.partition(SHELL_READY)[2])
        if not early:
            launched.let_pass()
        return None

    def _sweep(self, status: int) -> None:
        """Take the mount points away between commands: whoever looks at the worktree must not see them."""
        self._setting.mountpoints.remove()

    def _release(self) -> None:
        self._setting.mountpoints.remove()
        if self._ahead is not None:
            with suppress(SandboxError, OSError):  # it could not be made, and nobody needs it any more
                self._ahead.result().discard()
        self._gatekeeper.shutdown()


def _passed(ours: ExitStack, content: bytes, name: str) -> int:
    """Return a descriptor with this content, closed on our side when `ours` ends."""
    descriptor = in_memory(content, name)
    ours.callback(os.close, descriptor)
    return descriptor


def _wait_for(watch: Watch, *descriptors: int) -> Ending | None:
    """Wait until something can be read; return an ending if a stop or the deadline came first."""
    ready = watch.wait(*descriptors)
    if ready & {*descriptors, watch.ended}:
        return None
    return Ending.STOPPED if watch.stop.fileno() in ready else Ending.TIMEOUT


def _read_now(output: int) -> bytes:
    """Read what is there; nothing if whoever could write has ended, though an orphan may hold the pipe."""
    try:
        return os.read(output, _SETUP_OUTPUT_BYTES)
    except BlockingIOError:
        return b""
