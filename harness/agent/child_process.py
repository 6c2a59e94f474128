"""One child process with a line-JSON conversation on its pipes: start, send, receive, end for certain."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from domain.errors import AgentFailure
from domain.text import plain
from harness.agent.protocol import LONGEST_LINE, BadMessage, Message, decode, encode

STDERR_TAIL = 4096


class ChildProcess:
    """A process of ours in its own session. It ends when its standard input does, and with this process."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        redact: Callable[[str], str],
    ) -> None:
        try:
            self._process = subprocess.Popen(
                command,
                env=dict(env),
                cwd=cwd,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise AgentFailure(f"the agent's process cannot be started: {error}") from None
        self._redact = redact
        self._lines: list[bytes] = []
        self._partial = bytearray()
        self._tail = bytearray()
        self._drain = threading.Thread(target=self._drain_stderr, name="agent-stderr", daemon=True)
        self._drain.start()

    @property
    def pid(self) -> int:
        """Return the process id, which is its process group as well."""
        return self._process.pid

    def send(self, message: Mapping[str, object]) -> None:
        """Write a message. Raises AgentFailure when the child is gone."""
        rest = memoryview(encode(message))
        try:
            while rest:
                rest = rest[_pipe(self._process.stdin).write(rest) :]
        except OSError:
            raise self._failure() from None

    def receive(self, wait_seconds: float) -> Message | None:
        """Return the child's next message, or None when none comes in time.

        Raises AgentFailure when the child is gone or sends what is not a message.
        """
        deadline = time.monotonic() + wait_seconds
        while not self._lines:
            readable = select.poll()  # select() takes no descriptor above 1023
            readable.register(_pipe(self._process.stdout), select.POLLIN)
            if not readable.poll(max(0.0, deadline - time.monotonic()) * 1000):
                return None
            self._read()
        try:
            return decode(self._lines.pop(0))
        except BadMessage as error:
            raise AgentFailure(f"the agent's process sent a malformed message: {error}") from None

    def _read(self) -> None:
        chunk = os.read(_pipe(self._process.stdout).fileno(), 2**16)
        if not chunk:
            raise self._failure()
        *whole, rest = chunk.split(b"\n")
        for part in whole:
            self._lines.append(bytes(self._partial) + part)
            self._partial.clear()
        self._partial += rest
        if len(self._partial) > LONGEST_LINE:
            raise AgentFailure("the agent's process sent an endless message")

    def _drain_stderr(self) -> None:
        """Keep the end of what the child complains of, so that a full pipe never stops it."""
        stderr = _pipe(self._process.stderr)
        while chunk := os.read(stderr.fileno(), 2**16):
            self._tail += chunk
            del self._tail[:-STDERR_TAIL]

    def _failure(self) -> AgentFailure:
        """Describe the death of the child with the end of its standard error, without secrets."""
        self.kill()
        status = self._process.returncode
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"exited with {status}"
        said = self._redact(plain(self._tail.decode("utf-8", "replace"))).strip()
        return AgentFailure(f"the agent's process {how}" + (f": …{said[-1500:]}" if said else ""))

    def wait(self, seconds: float) -> None:
        """Close the child's standard input and give it a moment to end by itself."""
        _pipe(self._process.stdin).close()
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End the whole process group and wait for it. May be called again."""
        if self._process.poll() is None:
            # A child that has just been asked to end deserves its real exit status in the report.
            try:
                self._process.wait(0.05)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
        self._drain.join(1.0)

    def close(self) -> None:
        """End the process and give the pipes back."""
        self.kill()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            _pipe(stream).close()


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise AssertionError("the process was started with pipes")
    return stream
