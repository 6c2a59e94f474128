"""The signature check: right ones pass, everything else is False, and nothing raises."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from providers.webhooks import is_signed, sign

SECRET = b"s" * 32
BODY = b'{"action":"labeled"}'
GOOD = sign(BODY, SECRET).encode()


def test_the_signature_is_hmac_sha256_over_the_raw_bytes() -> None:
    expected = "sha256=" + hmac.new(SECRET, BODY, hashlib.sha256).hexdigest()
    assert sign(BODY, SECRET) == expected
    assert is_signed(BODY, [expected.encode()], [SECRET])


@pytest.mark.parametrize("position", [0, 1])
def test_every_secret_of_a_rotation_is_tried(position: int) -> None:
    secrets = [b"o" * 32, b"n" * 32]
    claim = sign(BODY, secrets[position]).encode()
    assert is_signed(BODY, [claim], secrets)


@pytest.mark.parametrize(
    "claims",
    [
        pytest.param([], id="absent"),
        pytest.param([b""], id="empty"),
        pytest.param([b"sha256="], id="prefix alone"),
        pytest.param([b"sha256=\xe9"], id="not ASCII"),
        pytest.param([b"sha256=" + b"\xe9" * 64], id="not ASCII, right length"),
        pytest.param([GOOD[:-1]], id="short"),
        pytest.param([GOOD + b"0"], id="long"),
        pytest.param([GOOD + b"\n"], id="line end"),
        pytest.param([b" " + GOOD], id="space before"),
        pytest.param([b"sha1=" + hmac.new(SECRET, BODY, "sha1").hexdigest().encode()], id="sha1"),
        pytest.param([b"SHA256=" + GOOD[7:]], id="upper-case prefix"),
        pytest.param([b"sha256=" + GOOD[7:].upper()], id="upper-case digits"),
        pytest.param([GOOD[7:]], id="bare digits, as other forges send"),
        pytest.param([b"a" * 10_000], id="ten thousand letters"),
        pytest.param([GOOD, GOOD], id="twice"),
        pytest.param([GOOD, b"sha256=" + b"0" * 64], id="a good and a bad one"),
        pytest.param([b"sha256=" + b"0" * 64], id="wrong digest"),
    ],
)
def test_anything_but_one_exact_header_is_refused(claims: list[bytes]) -> None:
    assert is_signed(BODY, claims, [SECRET]) is False


def test_one_changed_byte_breaks_it() -> None:
    assert not is_signed(BODY.replace(b"l", b"L", 1), [GOOD], [SECRET])


def test_no_secret_and_an_empty_secret_match_nothing() -> None:
    with_empty_key = sign(BODY, b"").encode()
    assert not is_signed(BODY, [with_empty_key], [])
    assert not is_signed(BODY, [with_empty_key], [b""])
    assert not is_signed(BODY, [sign(BODY, b"\0").encode()], [b""])


@given(
    st.binary(max_size=200), st.lists(st.binary(max_size=100), max_size=3), st.lists(st.binary(max_size=40))
)
def test_it_never_raises_and_never_takes_noise(
    body: bytes, claims: list[bytes], secrets: list[bytes]
) -> None:
    assert is_signed(body, claims, secrets) is False
