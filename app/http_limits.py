"""The HTTP server's protocol with limits that uvicorn leaves out: time for a request, length of its head."""

from __future__ import annotations

import asyncio

import structlog
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

log = structlog.get_logger(__name__)

REQUEST_SECONDS = 15.0
"""From a connection's start, or a request's first byte, until the request has come in whole."""

LONGEST_HEAD = 64 * 2**10
"""Bytes of request line and headers, counted in whole reads: one more read may come in before the refusal."""


class PunctualHttp(HttpToolsProtocol):
    """Closes connections that dribble a request in, or send one without an end to its headers.

    Without this, a connection that never finishes its headers is held for ever, and a few hundred of them
    shut everybody else out. The body has its own, shorter limit in the door, so that a slow sender is told.
    """

    _deadline: asyncio.TimerHandle | None = None
    _in_head = True
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock with the connection. (The parent narrows the argument in the same way.)"""
        super().connection_made(transport)
        self._start_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop_clock()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Feed the parser, unless the head has no end."""
        was_in_head = self._in_head
        super().data_received(data)
        if was_in_head and self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > LONGEST_HEAD:
                self._close("request head too long")

    def on_message_begin(self) -> None:
        """Start the clock with the first byte of a request."""
        super().on_message_begin()
        self._in_head = True
        self._head_bytes = 0
        self._start_clock()

    def on_headers_complete(self) -> None:
        """Stop counting the head."""
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Stop the clock: the request is here."""
        self._stop_clock()
        super().on_message_complete()

    def _start_clock(self) -> None:
        self._stop_clock()
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self._close, "request too slow")

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _close(self, why: str) -> None:
        if self.transport is not None and not self.transport.is_closing():
            peer = self.client[0] if self.client else "?"
            log.warning("connection closed", why=why, peer=peer)
            self.transport.close()
