"""The way out of a set-up: a CONNECT proxy on a Unix socket, for the hosts that the operator has allowed.

Of each connection it reads the request and the TLS client's first message, and nothing more: what is inside
is between the client and the registry. It can bound an upload, and not prevent one, which is why nothing that
has seen an issue's text ever gets it.
"""

from __future__ import annotations

import os
import select
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import structlog

from domain.hosts import Target
from harness.setup.client_hello import MOST_BYTES, NotTls, server_name
from harness.setup.rules import Refusal, Refused, parse_request
from harness.setup.upstream import Upstream

_log = structlog.get_logger(__name__)
_CHUNK = 2**16
SILENTLY = 0
"""Status of a refusal in the middle of a connection, where no answer can be understood."""
_MOST_REFUSALS = 20
_PATIENCE_SECONDS = 5.0
"""For a thread that is looking up a name, which nothing interrupts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyCaps:
    """Bounds of one set-up: bytes towards us and away from us, connections at once and in all, seconds."""

    down_bytes: int = 2 * 2**30
    up_bytes: int = 32 * 2**20
    at_once: int = 64
    connections: int = 5000
    head_bytes: int = 8192
    greeting_seconds: float = 20.0
    idle_seconds: float = 90.0


class SetupProxy:
    """Serves while it is entered. `refused` is what was not let through, in order, each once."""

    def __init__(
        self,
        path: Path,
        upstream: Upstream,
        *,
        owner: tuple[int, int] | None = None,
        caps: ProxyCaps | None = None,
    ) -> None:
        """Listen at `path`; the socket is for `owner` (uid, gid) alone, or for our own user."""
        self.path = path
        self.connections = 0
        self._upstream = upstream
        self._owner = owner
        self._caps = caps or ProxyCaps()
        self._refused: dict[Refusal, None] = {}
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._threads: set[threading.Thread] = set()
        self._bytes = {"down": 0, "up": 0}
        self._closed = False
        self._listener = socket.socket(socket.AF_UNIX)

    @property
    def refused(self) -> tuple[Refusal, ...]:
        """What was refused so far."""
        with self._lock:
            return tuple(self._refused)

    def __enter__(self) -> Self:
        self._listener.bind(os.fspath(self.path))
        self.path.chmod(0o600)
        if self._owner is not None:
            os.chown(self.path, *self._owner)
        self._listener.listen(128)
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._closed = True
            sides = [self._listener, *self._open]
        for side in sides:
            with suppress(OSError):
                side.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in list(self._threads):
            thread.join(_PATIENCE_SECONDS)
        self.path.unlink(missing_ok=True)

    def _start(self, work: Callable[..., None], *arguments: socket.socket) -> None:
        thread = threading.Thread(target=work, args=arguments, name="set-up proxy", daemon=True)
        self._threads.add(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            with self._lock:
                full = len(self._open) >= 2 * self._caps.at_once or self.connections > self._caps.connections
                if not full and not self._closed:
                    self._open.add(client)
            if full:
                refusal = Refusal("the set-up", f"it made more than {self._caps.at_once} connections at once")
                self._refuse(client, Refused(refusal, 429))
            if full or self._closed:
                client.close()
            else:
                self._start(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        server: socket.socket | None = None
        try:
            client.settimeout(self._caps.greeting_seconds)
            target, rest = self._target(client)
            server = self._upstream.connect(target)
            self._hold(server)
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            hello = self._hello(client, target, rest)
            self._count("up", len(hello))
            server.settimeout(self._caps.idle_seconds)
            client.settimeout(self._caps.idle_seconds)
            server.sendall(hello)
            self._carry(client, server)
        except Refused as refused:
            self._refuse(client, refused)
        except OSError as error:
            _log.debug("set-up connection ended", error=str(error))
        finally:
            for side in (client, server):
                self._let_go(side)
            self._threads.discard(threading.current_thread())

    def _target(self, client: socket.socket) -> tuple[Target, bytes]:
        """Read the request's head; return where it wants to go, and what came after it. Raises Refused."""
        head = b""
        while b"\r\n\r\n" not in head:
            part = client.recv(_CHUNK)
            head += part
            if len(head.partition(b"\r\n\r\n")[0]) > self._caps.head_bytes:
                raise Refused(Refusal("a request", "its head is too long"), 431)
            if not part:
                raise OSError("the client went away")
        head, _, rest = head.partition(b"\r\n\r\n")
        return parse_request(head + b"\r\n"), rest

    def _hello(self, client: socket.socket, target: Target, received: bytes) -> bytes:
        """Return the client's first message, if it asks for the very host. Raises Refused."""
        try:
            while (name := server_name(received)) is None:
                part = client.recv(_CHUNK)
                received += part
                if not part or len(received) > 2 * MOST_BYTES:
                    raise NotTls("it ended before it had said hello")
        except NotTls as error:
            raise Refused(Refusal(str(target), f"a connection to it was cut: {error}"), SILENTLY) from None
        if name != target.host:
            shown = name if name else "no host"
            raise Refused(Refusal(str(target), f"behind its name, {shown[:100]!a} was asked for"), SILENTLY)
        return received

    def _carry(self, client: socket.socket, server: socket.socket) -> None:
        """Copy in both directions until both have ended, or nothing comes for too long."""
        peers = {client.fileno(): (client, server, "up"), server.fileno(): (server, client, "down")}
        poller = select.poll()
        for descriptor in peers:
            poller.register(descriptor, select.POLLIN)
        left = len(peers)
        while left:
            ready = poller.poll(self._caps.idle_seconds * 1000)
            if not ready:
                return
            for descriptor, _ in ready:
                side, other, direction = peers[descriptor]
                chunk = side.recv(_CHUNK)
                self._count(direction, len(chunk))
                if chunk:
                    other.sendall(chunk)
                    continue
                poller.unregister(descriptor)
                left -= 1
                with suppress(OSError):
                    other.shutdown(socket.SHUT_WR)

    def _count(self, direction: str, size: int) -> None:
        most = self._caps.up_bytes if direction == "up" else self._caps.down_bytes
        with self._lock:
            self._bytes[direction] += size
            over = self._bytes[direction] > most
        if over:
            towards = "sent" if direction == "up" else "received"
            raise Refused(Refusal("the set-up", f"more than {most // 2**20} MiB were {towards}"), SILENTLY)

    def _refuse(self, client: socket.socket, refused: Refused) -> None:
        with self._lock:
            if len(self._refused) < _MOST_REFUSALS:
                self._refused[refused.refusal] = None
        _log.warning("set-up connection refused", what=refused.refusal.what, why=refused.refusal.why)
        if refused.status == SILENTLY:
            return
        body = f"{refused}\n".encode("utf-8", "replace")
        head = (
            f"HTTP/1.1 {refused.status} Refused by Fixwright\r\nContent-Type: text/plain; charset=utf-8\r\n"
        )
        with suppress(OSError):
            client.sendall(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)

    def _hold(self, side: socket.socket) -> None:
        with self._lock:
            self._open.add(side)
            if self._closed:
                raise OSError("the proxy is closed")

    def _let_go(self, side: socket.socket | None) -> None:
        if side is None:
            return
        with self._lock:
            self._open.discard(side)
        side.close()
