"""A request's body under limits: bytes of one, bytes of all at once, and seconds."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from starlette.types import Receive

from app.refusal import Headers, Refused, SenderGone

READ_SECONDS = 10.0
"""How long a sender may take for its body; forges need milliseconds."""

MOST_BYTES_HELD = 32 * 2**20
"""Bytes of unfinished bodies over all connections, so that many slow large ones fit in memory."""


class BodyReader:
    """Reads bodies for one process; counts what it holds of unfinished ones."""

    def __init__(
        self, max_bytes: int, *, seconds: float = READ_SECONDS, most_held: int = MOST_BYTES_HELD
    ) -> None:
        self._max_bytes = max_bytes
        self._seconds = seconds
        self._most_held = most_held
        self._held = 0

    async def read(self, headers: Headers, receive: Receive) -> bytes:
        """Return the whole body.

        Raises:
            Refused: 413 by the announced length or by counting, 408 when too slow, 503 when too many
                unfinished bodies are held.
            SenderGone: the connection ended.
        """
        if _announced(headers) > self._max_bytes:
            raise self._too_large()
        try:
            async with asyncio.timeout(self._seconds):
                return await self._collect(receive)
        except TimeoutError:
            close = ((b"connection", b"close"),)
            raise Refused(HTTPStatus.REQUEST_TIMEOUT, "the body took too long", close) from None

    async def _collect(self, receive: Receive) -> bytes:
        chunk, more = await _next(receive)
        if len(chunk) > self._max_bytes:
            raise self._too_large()
        if not more:
            return chunk
        body = bytearray(chunk)
        self._held += len(chunk)
        try:
            while more:
                chunk, more = await _next(receive)
                body += chunk
                self._held += len(chunk)
                self._check(body)
            return bytes(body)
        finally:
            self._held -= len(body)

    def _check(self, body: bytearray) -> None:
        if len(body) > self._max_bytes:
            raise self._too_large()
        if self._held > self._most_held:
            later = ((b"retry-after", b"10"),)
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, "too many unfinished bodies", later)

    def _too_large(self) -> Refused:
        return Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"more than {self._max_bytes} bytes")


async def _next(receive: Receive) -> tuple[bytes, bool]:
    message = await receive()
    if message["type"] != "http.request":
        raise SenderGone
    chunk: bytes = message.get("body", b"")
    return chunk, bool(message.get("more_body", False))


def _announced(headers: Headers) -> int:
    """Return the content-length, or 0; the server has refused requests where it is no number."""
    for name, value in headers:
        if name == b"content-length" and value.isdigit():
            return int(value[:20])
    return 0
