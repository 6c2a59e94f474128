"""HMAC-SHA256 over the exact bytes of a delivery: making a signature, and checking one in constant time."""

from __future__ import annotations

import hmac
import re
from collections.abc import Sequence

from domain.hashing import feed

_CLAIM = re.compile(rb"sha256=([0-9a-f]{64})")
_NO_CLAIM = b"\0" * 32


def _digest(body: bytes, secret: bytes) -> bytes:
    """Return the HMAC. A web process has a writer's thread beside the one that this runs in."""
    code = hmac.new(secret, None, "sha256")
    feed(code, body)
    return code.digest()


def sign(body: bytes, secret: bytes) -> str:
    """Return the header value for a body: `sha256=` and 64 lower-case hexadecimal digits."""
    return "sha256=" + hmac.digest(secret, body, "sha256").hex()


def is_signed(body: bytes, claims: Sequence[bytes], secrets: Sequence[bytes]) -> bool:
    """Tell whether the body is signed with one of the secrets. Never raises for what a sender can send.

    `claims` are all values of the signature header; exactly one is allowed, as `sign` writes it. Upper-case
    digits are refused: every forge writes lower case, and one spelling leaves nothing to argue about.
    Every secret is tried, and the digest is computed even for a claim that cannot be right, so that the
    time taken says nothing. An empty secret matches nothing.
    """
    match = _CLAIM.fullmatch(claims[0]) if len(claims) == 1 else None
    claimed = bytes.fromhex(match[1].decode("ascii")) if match else _NO_CLAIM
    good = False
    for secret in secrets:
        expected = _digest(body, secret or b"\0")
        good |= hmac.compare_digest(expected, claimed) and secret != b""
    return good and match is not None
