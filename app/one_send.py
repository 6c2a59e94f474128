"""A transport that sends what is written in one turn of the event loop in one piece.

The server writes an answer's head and its body apart. Sent apart, they cost two system calls, and each of
them hands the interpreter to the writer's thread and waits to get it back.
"""

from __future__ import annotations

import asyncio
from typing import Any

MOST_HELD = 64 * 2**10
"""Bytes. More is sent at once, so that a long answer meets the flow control of the transport beneath."""


class GatheringTransport(asyncio.Transport):
    """Stands before a connection's transport; everything but writing goes straight through."""

    def __init__(self, beneath: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._beneath = beneath
        self._loop = loop
        self._held = b""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Take data; it is sent before the event loop waits for anything again."""
        if not self._held and data:
            self._loop.call_soon(self._send)
        self._held += data
        if len(self._held) > MOST_HELD:
            self._send()

    def close(self) -> None:
        """Send what was written, then close."""
        self._send()
        self._beneath.close()

    def abort(self) -> None:
        """Close at once; what was not sent is dropped."""
        self._held = b""
        self._beneath.abort()

    def is_closing(self) -> bool:
        """Tell whether the connection is closed or about to be."""
        return self._beneath.is_closing()

    def pause_reading(self) -> None:
        """Take nothing more from the sender for now."""
        self._beneath.pause_reading()

    def resume_reading(self) -> None:
        """Take from the sender again."""
        self._beneath.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return what is known of the connection, such as `peername`."""
        return self._beneath.get_extra_info(name, default)

    def _send(self) -> None:
        if self._held:
            data, self._held = self._held, b""
            self._beneath.write(data)
