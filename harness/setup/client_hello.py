"""The host that a TLS client asks for, read from its first message (RFC 8446, RFC 6066)."""

from __future__ import annotations

import struct

MOST_BYTES = 2**16
_HANDSHAKE, _CLIENT_HELLO = 22, 1
_SERVER_NAME, _ENCRYPTED_HELLO = 0, 0xFE0D


class NotTls(ValueError):
    """The bytes are no ClientHello, or one that hides where it wants to go."""


def server_name(received: bytes) -> str | None:
    """Return the name in a ClientHello ("" where it names none), or None where more has to be read.

    Raises NotTls.
    """
    hello = _message(received)
    return None if hello is None else _named(hello)


def _message(received: bytes) -> bytes | None:
    """Return the first handshake message's body, put together from its records."""
    message, place = b"", 0
    while len(message) < 4 or len(message) < 4 + int.from_bytes(message[1:4], "big"):
        if len(received) < place + 5:
            if received[place : place + 1] not in {b"", bytes([_HANDSHAKE])}:
                raise NotTls("it does not speak TLS")
            _refuse_early(message)
            return None
        kind, major, length = (
            received[place],
            received[place + 1],
            struct.unpack_from(">H", received, place + 3)[0],
        )
        if kind != _HANDSHAKE or major != 3 or not 0 < length <= 2**14:
            raise NotTls("it does not speak TLS")
        if len(received) < place + 5 + length:
            _refuse_early(message + received[place + 5 :])
            return None
        message += received[place + 5 : place + 5 + length]
        place += 5 + length
    if message[0] != _CLIENT_HELLO:
        raise NotTls("its first message is no ClientHello")
    return message[4 : 4 + int.from_bytes(message[1:4], "big")]


def _refuse_early(message: bytes) -> None:
    """Do not wait for the rest of what is wrong already. Raises NotTls."""
    if message and message[0] != _CLIENT_HELLO:
        raise NotTls("its first message is no ClientHello")
    if len(message) > 3 and int.from_bytes(message[1:4], "big") > MOST_BYTES:
        raise NotTls("its ClientHello is too long")


class _Reader:
    """Takes a message apart, from front to back."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "big")

    def take(self, size: int) -> bytes:
        taken, self._data = self._data[:size], self._data[size:]
        if len(taken) != size:
            raise NotTls("its ClientHello is cut short")
        return taken

    def vector(self, size: int) -> bytes:
        return self.take(self.number(size))

    def __bool__(self) -> bool:
        return bool(self._data)


def _named(hello: bytes) -> str:
    reader = _Reader(hello)
    reader.take(2 + 32)
    for size in (1, 2, 1):  # session id, cipher suites, compression methods
        reader.vector(size)
    extensions = _Reader(reader.vector(2)) if reader else _Reader(b"")
    seen: dict[int, bytes] = {}
    while extensions:
        kind = extensions.number(2)
        if kind in seen:
            raise NotTls("its ClientHello says a thing twice")
        seen[kind] = extensions.vector(2)
    if _ENCRYPTED_HELLO in seen:
        raise NotTls("its ClientHello is encrypted")
    return _host(seen[_SERVER_NAME]) if _SERVER_NAME in seen else ""


def _host(extension: bytes) -> str:
    names = _Reader(_Reader(extension).vector(2))
    kind, name = names.number(1), names.vector(2)
    if kind != 0 or names:
        raise NotTls("its ClientHello names several hosts")
    try:
        return name.decode("ascii").lower()
    except UnicodeDecodeError:
        raise NotTls("its ClientHello names no host") from None
