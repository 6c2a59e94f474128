"""Fed in pieces, a hash is the same, and no piece is long enough to give up the interpreter's lock."""

from __future__ import annotations

import hashlib
import hmac

import pytest

from domain.hashing import KEPT_BYTES, feed


@pytest.mark.parametrize("size", [0, 1, KEPT_BYTES - 1, KEPT_BYTES, KEPT_BYTES + 1, 19_000, 2**20])
def test_the_hash_is_the_same(size: int) -> None:
    data = bytes(range(251)) * (size // 251 + 1)
    data = data[:size]
    plain, code = hashlib.sha256(), hmac.new(b"secret", None, "sha256")
    feed(plain, data)
    feed(code, data)
    assert plain.digest() == hashlib.sha256(data).digest()
    assert code.digest() == hmac.digest(b"secret", data, "sha256")


def test_no_piece_is_long() -> None:
    class Sizes(list[int]):
        def update(self, data: memoryview, /) -> None:
            self.append(len(data))

    sizes = Sizes()
    feed(sizes, b"x" * 19_000)
    assert sum(sizes) == 19_000
    assert max(sizes) == KEPT_BYTES < 2048
