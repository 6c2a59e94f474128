"""A sandbox that can be told to stop: running commands die, and nothing new is started."""

from __future__ import annotations

import threading
from collections.abc import Callable

from domain.errors import Stopped
from domain.model import CommandResult
from domain.ports import Sandbox, SandboxPolicy, SandboxSession


class InterruptibleSandbox:
    """Wraps a sandbox for one attempt, so that a shutdown or a cancel ends whatever runs in it."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        # A signal handler runs in the very thread that may hold the lock: it must be able to take it again.
        self._lock = threading.RLock()
        self._open: set[SandboxSession] = set()
        self._stopped = threading.Event()

    @property
    def isolation(self) -> str:
        """Pass on what the wrapped sandbox achieves."""
        return self._sandbox.isolation

    def self_test(self) -> None:
        """Pass the test on."""
        self._sandbox.self_test()

    def open(self, policy: SandboxPolicy) -> SandboxSession:
        """Return a session that `interrupt` ends. Raises Stopped, SandboxError."""
        if self._stopped.is_set():
            raise Stopped("asked to stop")
        session = self._sandbox.open(policy)
        with self._lock:
            self._open.add(session)
        return _Session(session, self._stopped, self._forget)

    def interrupt(self) -> None:
        """Kill running commands, from any thread. May be called again."""
        self._stopped.set()
        with self._lock:
            sessions = list(self._open)
        for session in sessions:
            session.stop()

    def _forget(self, session: SandboxSession) -> None:
        with self._lock:
            self._open.discard(session)


class _Session:
    def __init__(
        self, inner: SandboxSession, stopped: threading.Event, forget: Callable[[SandboxSession], None]
    ) -> None:
        self._inner = inner
        self._stopped = stopped
        self._forget = forget

    def run(self, command: str, deadline_seconds: float) -> CommandResult:
        """Run a command; one that was killed by `interrupt` has no result worth reading."""
        if self._stopped.is_set():
            raise Stopped("asked to stop")
        result = self._inner.run(command, deadline_seconds)
        if self._stopped.is_set():
            raise Stopped("asked to stop")
        return result

    def stop(self) -> None:
        """Kill the running command."""
        self._inner.stop()

    def close(self) -> None:
        """End the session."""
        self._forget(self._inner)
        self._inner.close()
