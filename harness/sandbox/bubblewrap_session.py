"""A session whose every command runs in a bubblewrap of its own, in the same directories."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from domain.errors import SandboxError
from domain.ports import SandboxPolicy
from harness.sandbox.capture import OutputCapture
from harness.sandbox.cgroup import Group
from harness.sandbox.egress import relay_files
from harness.sandbox.environment import ACCOUNT_FILES
from harness.sandbox.identity import Identity
from harness.sandbox.launch import Launched, in_memory
from harness.sandbox.mountpoints import MountPoints
from harness.sandbox.profile import EGRESS_GATE, INNER_GATE, SHELL_READY, Profile, bubblewrap_arguments
from harness.sandbox.session import CommandSession
from harness.sandbox.supervise import Ending, Watch

_SETUP_OUTPUT_BYTES = 2**14


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """All that a session needs and that does not change between its commands."""

    bwrap: Path
    identity: Identity
    policy: SandboxPolicy
    profile: Profile
    seccomp: bytes
    mountpoints: MountPoints
    group: Group | None
    yield_processor: bool


class BubblewrapSession(CommandSession):
    """Commands see the profile and nothing else of the host."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(
            setting.policy, setting.identity, group=setting.group, yield_processor=setting.yield_processor
        )
        self._setting = setting

    def _start(self, command: str) -> Launched:
        setting = self._setting
        setting.mountpoints.clear_the_way()
        with ExitStack() as ours:
            info, their_info = os.pipe2(os.O_CLOEXEC)
            ours.callback(os.close, their_info)
            seccomp = _passed(ours, setting.seccomp, "seccomp")
            egress = setting.profile.egress is not None
            texts = {**ACCOUNT_FILES, **(relay_files() if egress else {})}
            files = {path: _passed(ours, text.encode(), "file") for path, text in texts.items()}
            arguments = bubblewrap_arguments(
                setting.profile, seccomp_fd=seccomp, info_fd=their_info, files=files
            )
            packed = b"".join(os.fsencode(argument) + b"\0" for argument in arguments)
            options = _passed(ours, packed, "arguments")
            program = [str(setting.bwrap), "--args", str(options), "--", "/bin/sh", "-c"]
            gate = EGRESS_GATE if egress else INNER_GATE
            return self.launch(
                [*program, gate, "sh", command],
                inherited=(seccomp, their_info, options, *files.values()),
                info=info,
            )

    def _pass_gates(self, launched: Launched, watch: Watch, capture: OutputCapture) -> Ending | None:
        """Give bubblewrap leave, take hold of its init, and only then give the command leave."""
        launched.let_pass()
        descriptors = [launched.output] if launched.info is None else [launched.info, launched.output]
        if ending := _wait_for(watch, *descriptors):
            return ending
        launched.learn_init()
        said = b""
        while SHELL_READY not in said:
            if ending := _wait_for(watch, launched.output):
                return ending
            chunk = _read_now(launched.output)
            said += chunk
            if not chunk or len(said) > _SETUP_OUTPUT_BYTES:
                reason = said.decode("utf-8", "replace").strip() or "it ended without a word"
                raise SandboxError(f"bubblewrap could not set up the sandbox: {reason}")
        if launched.init_pid is None:
            raise SandboxError(f"{self._setting.bwrap} did not announce its process: it is not bubblewrap")
        capture.feed(said.partition(SHELL_READY)[2])
        launched.let_pass()
        return None

    def _release(self) -> None:
        self._setting.mountpoints.remove()


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
