"""Envelopes from outside: what is no receipt of ours is refused with the reason, whatever it looks like."""

from __future__ import annotations

import base64
import json

import pytest

from domain.envelope import LARGEST, BadReceipt, signed_bytes, unwrap, wrap
from domain.receipt import PAYLOAD_TYPE, canonical, hash_of, payload_of
from tests.domain.receipts import facts

PAYLOAD = payload_of(facts(), "", str)
GOOD = wrap(PAYLOAD, key_id="k" * 64, signature=b"s" * 64)


def _changed(**fields: object) -> bytes:
    return json.dumps({**json.loads(GOOD), **fields}).encode()


def _about(payload: bytes) -> bytes:
    return _changed(payload=base64.b64encode(payload).decode())


def test_what_was_wrapped_comes_out_again() -> None:
    opened = unwrap(GOOD)

    assert (opened.payload, opened.key_id, opened.signature) == (PAYLOAD, "k" * 64, b"s" * 64)
    assert opened.sha256 == hash_of(PAYLOAD)
    assert opened.predicate["verified"] is True


def test_type_and_payload_are_signed_with_their_lengths() -> None:
    assert signed_bytes(b"{}") == b"DSSEv1 28 application/vnd.in-toto+json 2 {}"
    assert len(PAYLOAD_TYPE) == 28


@pytest.mark.parametrize(
    ("envelope", "said"),
    [
        (b"", "not JSON"),
        (b"\x00\xff", "not JSON"),
        (b"[]", "not a JSON object"),
        (b"[" * 100_000, "not JSON"),
        (b" " * (LARGEST + 1), "longer than"),
        (b'{"payloadType": "a", "payloadType": "b"}', "twice"),
        (_changed(payloadType="text/plain"), "not an envelope of type"),
        (_changed(signatures=[]), "exactly one signature"),
        (_changed(signatures=[{}, {}]), "exactly one signature"),
        (_changed(signatures=["x"]), "exactly one signature"),
        (_changed(signatures=[{"keyid": "k"}]), "the signature is missing"),
        (_changed(signatures=[{"keyid": "k", "sig": "?"}]), "the signature is not base64"),
        (_changed(payload=7), "the payload is missing"),
        (_changed(payload="%%"), "the payload is not base64"),
        (_about(b"{}"), "not a statement of type"),
        (_about(b"7"), "not a JSON object"),
        (_about(PAYLOAD.replace(b'"_type":', b'"_type": ')), "not in canonical form"),
        (_about(PAYLOAD[:-1] + b',"_type":"x"}'), "twice"),
        (_about(PAYLOAD.replace(b"receipt:v1", b"receipt:v9")), "not a statement of type"),
    ],
)
def test_what_is_no_receipt_is_refused_with_the_reason(envelope: bytes, said: str) -> None:
    with pytest.raises(BadReceipt, match=said):
        unwrap(envelope)


def test_another_true_statement_of_ours_is_read() -> None:
    statement = json.loads(PAYLOAD)
    statement["predicate"]["verified"] = False

    assert unwrap(_about(canonical(statement))).predicate["verified"] is False
