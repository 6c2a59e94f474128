"""Starts one command behind a gate so that at any instant all of it can be ended, and ends it."""

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
from harness.sandbox.becoming import Becoming

_log = structlog.get_logger(__name__)
_CHILD_PID = re.compile(rb'"child-pid": (\d+)[^\d]')
_OUTER_GATE = """\
echo 1000 >/proc/self/oom_score_adj || exit
from=$1
shift
while [ "$1" != -- ]; do ulimit "$1" "$2" && shift 2 || exit; done
shift
read -r go || exit
IFS= read -r -d '' last <&"$from"
exec {from}<&-
exec "$@" "$last"
"""
"""Makes itself, and so all that it becomes, limited and the first to go without memory; then waits for leave.

The last word of what it becomes is read only then, from a file in memory: the gate stands before the command
is known. End of file instead of leave means that the worker died.
"""
_GATE = ("/bin/bash", "--noprofile", "--norc", "-c", _OUTER_GATE, "gate")
_CHILD_PID_PATIENCE_SECONDS = 1.0
_DEATH_PATIENCE_SECONDS = 1.5


@dataclass(slots=True)
class Launched:
    """A gate, or the bubblewrap that it became. `output`, `info` and `word` are our ends.

    Nothing is executed until `give` named the last word; `let_pass` then opens the gate inside.
    """

    process: subprocess.Popen[bytes]
    ended: int
    output: int
    info: int | None = None
    word: int | None = None
    _init: int | None = field(default=None)
    init_pid: int | None = None

    def give(self, word: str) -> None:
        """Name the last word, and open the first gate."""
        if self.word is not None:
            os.pwrite(self.word, os.fsencode(word), 0)  # whoever reads it shares our place in it
            os.close(self.word)
            self.word = None
        self.let_pass()

    def let_pass(self) -> None:
        """Open the next gate. If whoever waits there is dead, that shows elsewhere."""
        with suppress(BrokenPipeError):
            cast(BinaryIO, self.process.stdin).write(b"\n")

    def is_over(self) -> bool:
        """Tell whether the process has ended."""
        return _readable(self.ended, 0)

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
        if self._init is None or not self.is_over():
            self.process.kill()
        if self._init is not None and not _readable(self._init, _DEATH_PATIENCE_SECONDS):
            _log.warning("sandbox_outlives_kill", pid=self.init_pid)
        return self._reaped()

    def discard(self) -> None:
        """End a gate that was never given leave, and give everything back: nothing stands behind it."""
        self.process.kill()
        self._reaped()
        self.close()

    def close(self) -> None:
        """Give the descriptors back."""
        with suppress(BrokenPipeError):
            cast(BinaryIO, self.process.stdin).close()
        for descriptor in (self.ended, self.output, self.info, self.word, self._init):
            if descriptor is not None:
                os.close(descriptor)

    def _reaped(self) -> int:
        if not _readable(self.ended, _DEATH_PATIENCE_SECONDS):
            _log.warning("bubblewrap_outlives_kill", pid=self.process.pid)
            return 128 + signal.SIGKILL
        status = self.process.wait()
        return status if status >= 0 else 128 - status


def launch(
    command: Sequence[str],
    *,
    user: Becoming,
    limits: Mapping[str, int],
    inherited: Sequence[int] = (),
    info: int | None = None,
    before: Sequence[str] = (),
) -> Launched:
    """Make a gate that will become `command` and one more word, which is given with the leave to pass.

    It has an empty environment and no descriptor but those `inherited`. `limits` are options of bash's
    `ulimit`. `info` is our end of the pipe on which bubblewrap announces its init; it is closed with the
    result. `before` are words that start the gate itself. Raises SandboxError if nothing can be started.
    """
    word = os.memfd_create("word")
    output, theirs = os.pipe2(os.O_CLOEXEC)
    os.set_blocking(output, False)
    options = [text for option, ceiling in limits.items() for text in (option, str(ceiling))]
    become = user.identity if user.by_copy else None
    try:
        process = subprocess.Popen(
            [*user.words, *before, *_GATE, str(word), *options, "--", *command],
            stdin=subprocess.PIPE, stdout=theirs, stderr=theirs, bufsize=0,
            env={}, cwd="/", umask=0o022, start_new_session=True,
            close_fds=True, pass_fds=(word, *inherited),
            user=become.uid if become else None,
            group=become.gid if become else None,
            extra_groups=[] if become else None,
        )  # fmt: skip
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        for descriptor in (output, word, info):
            if descriptor is not None:
                os.close(descriptor)
        raise SandboxError(f"nothing could be started as user id {user.identity.uid}: {error}") from error
    finally:
        os.close(theirs)
    return Launched(process=process, ended=os.pidfd_open(process.pid), output=output, info=info, word=word)


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
