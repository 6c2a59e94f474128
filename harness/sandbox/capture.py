"""Keeps the head and the tail of a command's output in bounded memory, and makes text of it."""

from __future__ import annotations


class OutputCapture:
    """A sink for bytes: counts all of them, keeps the first `head` and the last `tail` bytes."""

    def __init__(self, head: int, tail: int) -> None:
        self.seen = 0
        """How many bytes were fed, kept or not."""
        self._head_limit = head
        self._tail_limit = tail
        self._head = bytearray()
        self._tail = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes. Memory stays below head + 2 × tail + one chunk."""
        self.seen += len(chunk)
        missing = self._head_limit - len(self._head)
        if missing > 0:
            self._head += chunk[:missing]
            chunk = chunk[missing:]
        if len(chunk) > self._tail_limit:
            chunk = chunk[len(chunk) - self._tail_limit :]
        self._tail += chunk
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: len(self._tail) - self._tail_limit]

    def text(self) -> str:
        """Return the output: invalid UTF-8 replaced, NUL removed, a note where bytes were left out."""
        tail = self._tail[max(0, len(self._tail) - self._tail_limit) :]
        left_out = self.seen - len(self._head) - len(tail)
        if not left_out:
            return _decoded(bytes(self._head + tail))
        note = f"\n[… {left_out} bytes of output left out …]\n"
        return _decoded(bytes(self._head)) + note + _decoded(bytes(tail))


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").replace("\x00", "")
