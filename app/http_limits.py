"""The HTTP server with limits that uvicorn leaves out: time for a request to come in, length of its head."""

from __future__ import annotations

import math
import socket
from types import FrameType

import structlog
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from app.one_send import GatheringTransport

log = structlog.get_logger(__name__)

REQUEST_SECONDS = 15.0
"""From a connection's start, or a request's first byte, until the request has come in whole."""

LONGEST_HEAD = 64 * 2**10
"""Bytes of request line and headers, counted in whole reads: one more read may come in before the refusal."""

_TICKS_PER_SWEEP = 5
"""uvicorn ticks ten times a second."""


class PunctualHttp(HttpToolsProtocol):
    """Knows since when it waits for a request, and ends one whose head has no end.

    Without this, a connection that never finishes its headers is held for ever, and a few hundred of them
    shut everybody else out. The body has its own, shorter limit in the door, so that a slow sender is told.
    """

    waiting_since = math.inf
    _in_head = True
    _head_bytes = 0

    def connection_made(self, transport) -> None:  # type: ignore[no-untyped-def] # as the parent has it
        """Start the clock with the connection."""
        super().connection_made(GatheringTransport(transport, self.loop))
        self.waiting_since = self.loop.time()

    def data_received(self, data: bytes) -> None:
        """Feed the parser, and count what comes while the head has not ended."""
        was_in_head = self._in_head
        super().data_received(data)
        if was_in_head and self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > LONGEST_HEAD:
                self.end("request head too long")

    def on_message_begin(self) -> None:
        """Start the clock with the first byte of a request."""
        super().on_message_begin()
        self._in_head = True
        self._head_bytes = 0
        self.waiting_since = self.loop.time()

    def on_headers_complete(self) -> None:
        """Stop counting the head."""
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Stop the clock: the request is here."""
        self.waiting_since = math.inf
        super().on_message_complete()

    def end(self, why: str) -> None:
        """Close the connection without an answer."""
        if not self.transport.is_closing():
            log.warning("connection closed", why=why, peer=self.client[0] if self.client else "?")
            self.transport.close()


class Ending:
    """Whether a server is to end. A signal's handler may ask: there is no lock in it."""

    is_asked = False
    by_signal = False

    def ask(self, number: int = 0, _: FrameType | None = None) -> None:
        """Ask for the end."""
        self.by_signal = self.by_signal or number != 0
        self.is_asked = True


class PunctualServer(uvicorn.Server):
    """Sweeps out connections that dribble a request in; one look at all costs less than a timer for each."""

    def __init__(
        self,
        config: uvicorn.Config,
        request_seconds: float = REQUEST_SECONDS,
        ending: Ending | None = None,
    ) -> None:
        """Serve until told to stop, or until `ending` was asked for: what is under way is answered first."""
        super().__init__(config)
        self._request_seconds = request_seconds
        self._ending = ending

    async def on_tick(self, counter: int) -> bool:
        """Look at the connections twice a second, besides what uvicorn does."""
        if counter % _TICKS_PER_SWEEP == 0:
            self._sweep()
        if self._ending is not None and self._ending.is_asked:
            self.should_exit = True
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Tell those who answer without an end of their own, then end as uvicorn does."""
        if self._ending is not None:
            self._ending.is_asked = True
        await super().shutdown(sockets)

    def _sweep(self) -> None:
        for connection in list(self.server_state.connections):
            if not isinstance(connection, PunctualHttp):
                continue
            if connection.loop.time() - connection.waiting_since > self._request_seconds:
                connection.end("request too slow")
