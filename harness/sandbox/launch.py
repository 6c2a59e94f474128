"""Starts one command in bubblewrap so that at any instant all of it can be ended, and ends it."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, cast

import structlog

from domain.errors import SandboxError
from harness.sandbox.identity import Identity

_log = structlog.get_logger(__name__)
_CHILD_PID = re.compile(rb'"child-pid": (\d+)[^\d]')
_OUTER_GATE = """\
read -r go && echo 1000 >/proc/self/oom_score_adj || exit
while [ "$1" != -- ]; do ulimit "$1" "$2" && shift 2 || exit; done
shift
exec "$@"
"""
"""Waits for leave; makes itself, and so all that it becomes, limited and the first to go without memory."""
_GATE = ("/bin/bash", "--noprofile", "--norc", "-c", _OUTER_GATE, "gate")
_SETPRIV = Path("/usr/bin/setpriv")
_CHILD_PID_PATIENCE_SECONDS = 1.0
_DEATH_PATIENCE_SECONDS = 1.5


@dataclass(slots=True)
class Launched:
    """A started bubblewrap that waits at its gate. `output` and `info` are our ends of pipes.

    Nothing is executed until `let_pass` was called once (for bubblewrap) and again (for the command).
    """

    process: subprocess.Popen[bytes]
    ended: int
    output: int
    info: int | None
    _init: int | None = field(default=None)
    init_pid: int | None = None

    def let_pass(self) -> None:
        """Open the next gate. If whoever waits there is dead, that shows elsewhere."""
        with suppress(BrokenPipeError):
            cast(BinaryIO, self.process.stdin).write(b"\n")

    def learn_init(self) -> None:
        """Read the pid of the sandbox's init, which bubblewrap has announced, and take hold of it."""
        if self._init is not None or self.info is None:
            return
        if not _readable(self.info, 0):
            return
        announced = b""
        while (found := _CHILD_PID.search(announced)) is None:
            part = os.read(self.info, 4096)
            if not part:
                return
            announced += part
        pid = int(found[1])
        with suppress(ProcessLookupError):
            self._init = os.pidfd_open(pid)
            self.init_pid = pid
            if _parent_of(pid) != self.process.pid:  # it has died, and the number is somebody else's now
                os.close(self._init)
                self._init = self.init_pid = None

    def end(self) -> int:
        """Kill all of it and wait until nothing is left; return bubblewrap's exit status, as a shell's.

        The sandbox's init goes first: when bubblewrap alone is killed early, its init survives it. An init
        is not reported dead before every process of its namespace is.
        """
        if self._init is None and self.info is not None:
            with suppress(OSError):
                if _readable(self.info, _CHILD_PID_PATIENCE_SECONDS):
                    self.learn_init()
        if self._init is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._init, signal.SIGKILL)
        if self._init is None or not _readable(self.ended, 0):
            self.process.kill()
        if self._init is not None and not _readable(self._init, _DEATH_PATIENCE_SECONDS):
            _log.warning("sandbox_outlives_kill", pid=self.init_pid)
        try:
            status = self.process.wait(_DEATH_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            _log.warning("bubblewrap_outlives_kill", pid=self.process.pid)
            return 128 + signal.SIGKILL
        return status if status >= 0 else 128 - status

    def close(self) -> None:
        """Give the descriptors back."""
        with suppress(BrokenPipeError):
            cast(BinaryIO, self.process.stdin).close()
        for descriptor in (self.ended, self.output, self.info, self._init):
            if descriptor is not None:
                os.close(descriptor)


def launch(
    command: Sequence[str],
    *,
    identity: Identity,
    limits: Mapping[str, int],
    inherited: Sequence[int] = (),
    info: int | None = None,
) -> Launched:
    """Start `command` behind a gate, with an empty environment and no descriptor but those `inherited`.

    `limits` are options of bash's `ulimit`. `info` is our end of the pipe on which bubblewrap announces its
    init; it is closed with the result.
    Raises SandboxError if nothing can be started.
    """
    output, theirs = os.pipe2(os.O_CLOEXEC)
    os.set_blocking(output, False)
    options = [word for option, ceiling in limits.items() for word in (option, str(ceiling))]
    become = _becoming(identity)
    user = identity if identity.separate and not become else None
    try:
        process = subprocess.Popen(
            [*become, *_GATE, *options, "--", *command],
            stdin=subprocess.PIPE, stdout=theirs, stderr=theirs, bufsize=0,
            env={}, cwd="/", umask=0o022, start_new_session=True,
            close_fds=True, pass_fds=inherited,
            user=user.uid if user else None,
            group=user.gid if user else None,
            extra_groups=[] if user else None,
        )  # fmt: skip
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        for descriptor in (output, info):
            if descriptor is not None:
                os.close(descriptor)
        raise SandboxError(f"nothing could be started as user id {identity.uid}: {error}") from error
    finally:
        os.close(theirs)
    return Launched(process=process, ended=os.pidfd_open(process.pid), output=output, info=info)


def _becoming(identity: Identity) -> list[str]:
    """Return words before a command that make it the other user's, where the machine has a program for that.

    Python itself could do it, but only in a copy of its own process, which costs milliseconds a command.
    """
    if not identity.separate or not os.access(_SETPRIV, os.X_OK) or _SETPRIV.resolve().name == "busybox":
        return []
    return [str(_SETPRIV), f"--reuid={identity.uid}", f"--regid={identity.gid}", "--clear-groups", "--"]


def in_memory(content: bytes, name: str) -> int:
    """Return a descriptor from which `content` can be read, with no file behind it."""
    descriptor = os.memfd_create(name)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _readable(descriptor: int, seconds: float) -> bool:
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(seconds * 1000))


def _parent_of(pid: int) -> int | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    return int(text.rpartition(")")[2].split()[1])
