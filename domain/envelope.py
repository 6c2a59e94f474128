"""The envelope of a receipt: DSSE, an in-toto payload with its Ed25519 signature. Reads what others hand in.

Source of the form: the Dead Simple Signing Envelope protocol, version 1 (pre-authentication encoding).
"""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass

from domain.receipt import PAYLOAD_TYPE, PREDICATE_TYPE, STATEMENT_TYPE, Json, canonical, hash_of

LARGEST = 4 * 2**20
"""Bytes of an envelope that is read. A receipt of a large suite has some ten kilobytes."""


class BadReceipt(ValueError):
    """A file is no receipt of ours, or its signature does not hold; the text says what is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What an envelope holds, before anything of it is believed."""

    payload: bytes
    statement: dict[str, Json]
    key_id: str
    signature: bytes

    @property
    def sha256(self) -> str:
        """The hash by which the receipt is named."""
        return hash_of(self.payload)

    @property
    def predicate(self) -> dict[str, Json]:
        """What the receipt tells."""
        predicate = self.statement.get("predicate")
        return predicate if isinstance(predicate, dict) else {}


def signed_bytes(payload: bytes) -> bytes:
    """Return what is signed: type and payload, each with its length, so that neither passes for the other."""
    kind = PAYLOAD_TYPE.encode("ascii")
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def wrap(payload: bytes, *, key_id: str, signature: bytes) -> bytes:
    """Return the envelope as JSON bytes with a final line end."""
    envelope: Json = {
        "payloadType": PAYLOAD_TYPE,
        "payload": base64.b64encode(payload).decode("ascii"),
        "signatures": [{"keyid": key_id, "sig": base64.b64encode(signature).decode("ascii")}],
    }
    return json.dumps(envelope, indent=1).encode("ascii") + b"\n"


def unwrap(envelope: bytes) -> Opened:
    """Return what an envelope holds; nothing is checked but its form. Raises BadReceipt."""
    if len(envelope) > LARGEST:
        raise BadReceipt(f"longer than {LARGEST // 2**20} MiB: not a receipt")
    document = _object(envelope, "the envelope")
    if document.get("payloadType") != PAYLOAD_TYPE:
        raise BadReceipt(f"not an envelope of type {PAYLOAD_TYPE}")
    signatures = document.get("signatures")
    if not isinstance(signatures, list) or len(signatures) != 1 or not isinstance(signatures[0], dict):
        raise BadReceipt("an envelope of ours carries exactly one signature")
    payload = _decoded(document.get("payload"), "the payload")
    statement = _object(payload, "the payload")
    if statement.get("_type") != STATEMENT_TYPE or statement.get("predicateType") != PREDICATE_TYPE:
        raise BadReceipt(f"the payload is not a statement of type {PREDICATE_TYPE}")
    if canonical(statement) != payload:
        raise BadReceipt("the payload is not in canonical form: it was rewritten")
    key_id = signatures[0].get("keyid")
    return Opened(
        payload=payload,
        statement=statement,
        key_id=key_id if isinstance(key_id, str) else "",
        signature=_decoded(signatures[0].get("sig"), "the signature"),
    )


def _object(data: bytes, what: str) -> dict[str, Json]:
    try:
        value = json.loads(data, object_pairs_hook=_without_twins)
    except (ValueError, RecursionError) as error:
        raise BadReceipt(f"{what} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise BadReceipt(f"{what} is not a JSON object")
    return value


def _without_twins(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """Refuse a key that is there twice: readers differ in which one they show."""
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key is there twice")
    return value


def _decoded(value: Json, what: str) -> bytes:
    if not isinstance(value, str):
        raise BadReceipt(f"{what} is missing")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise BadReceipt(f"{what} is not base64") from None
