"""Whether a receipt's signature holds, by the service's own public key; what is needed is loaded late."""

from __future__ import annotations

from pathlib import Path

from domain.envelope import BadReceipt, signed_bytes, unwrap
from domain.receipt import Receipt

PUBLIC_KEY = "receipt-key.pub"


def verify_words(receipt: Receipt, data_dir: Path | None) -> tuple[bool, str]:
    """Tell whether a receipt holds, and say it in words."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        opened = unwrap(receipt.envelope)
    except BadReceipt as error:
        return False, f"It cannot be read: {error}."
    if opened.sha256 != receipt.sha256:
        return False, "It is not the one that it is kept as: its content was changed."
    try:
        key = load_pem_public_key(((data_dir or Path()) / PUBLIC_KEY).read_bytes())
    except (OSError, ValueError):
        return False, "Not checked: the service's public key is not in its data directory."
    if not isinstance(key, Ed25519PublicKey):
        return False, "Not checked: the service's public key is of another kind."
    try:
        key.verify(opened.signature, signed_bytes(opened.payload))
    except InvalidSignature:
        return False, "The signature does not fit: the content or the signature was changed."
    return True, "The signature holds, by this service's key."
