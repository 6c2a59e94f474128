"""Output is clipped by bytes, counted in full, and always decodable."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.sandbox.capture import OutputCapture


@given(st.lists(st.binary(max_size=40), max_size=30), st.integers(1, 30), st.integers(1, 30))
def test_head_and_tail_are_the_outputs_own(chunks: list[bytes], head: int, tail: int) -> None:
    chunks = [bytes(byte % 26 + 97 for byte in chunk) for chunk in chunks]
    capture = OutputCapture(head, tail)
    for chunk in chunks:
        capture.feed(chunk)
    whole = b"".join(chunks).decode()
    assert capture.seen == len(whole)
    if len(whole) <= head + tail:
        assert capture.text() == whole
    else:
        text = capture.text()
        assert text.startswith(whole[:head] + "\n[…") and text.endswith("…]\n" + whole[-tail:])
        assert f"{len(whole) - head - tail} bytes" in text


@pytest.mark.parametrize("raw", [b"\xff\xfe\x00a", b"\xed\xa0\x80", "é".encode()[:1], b"\x00" * 50])
def test_any_bytes_become_storable_text(raw: bytes) -> None:
    capture = OutputCapture(8, 8)
    capture.feed(raw)
    capture.text().encode("utf-8")
    assert "\x00" not in capture.text()
