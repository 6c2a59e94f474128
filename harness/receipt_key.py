"""The service's Ed25519 key: made at the first receipt, kept in a file that only the service can read."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from domain.envelope import BadReceipt, Opened, signed_bytes, wrap
from domain.errors import ConfigurationError

PRIVATE_NAME, PUBLIC_NAME = "receipt-key.pem", "receipt-key.pub"


class ReceiptKey:
    """Implements `domain.ports.Signer` with a key file in a directory."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def seal(self, payload: bytes) -> bytes:
        """Return the signed envelope of a payload. Raises ConfigurationError if the key cannot be used."""
        key = self._private()
        return wrap(payload, key_id=key_id(key.public_key()), signature=key.sign(signed_bytes(payload)))

    def public(self) -> Ed25519PublicKey:
        """Return the public half. Raises ConfigurationError where there is none."""
        path = self._directory / PUBLIC_NAME
        if not path.exists():
            raise ConfigurationError(f"{path}: no such key yet; it is made with the first receipt")
        return read_public(path)

    def _private(self) -> Ed25519PrivateKey:
        path = self._directory / PRIVATE_NAME
        if not path.exists():
            self._make(path)
        try:
            key = serialization.load_pem_private_key(path.read_bytes(), password=None)
        except (ValueError, TypeError, OSError) as error:
            raise _unusable(path, str(error)) from None
        if not isinstance(key, Ed25519PrivateKey):
            raise _unusable(path, "not an Ed25519 key")
        self._publish(key)
        return key

    def _make(self, path: Path) -> None:
        """Make the key; of two processes that try, one wins, and both use its key."""
        fresh = Ed25519PrivateKey.generate().private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        try:
            beside = _written(path, fresh, 0o600)
            try:
                os.link(beside, path)
            except FileExistsError:
                return
            finally:
                beside.unlink()
        except OSError as error:
            raise _unusable(path, str(error)) from None

    def _publish(self, key: Ed25519PrivateKey) -> None:
        path = self._directory / PUBLIC_NAME
        text = public_pem(key.public_key())
        if path.exists() and path.read_bytes() == text:
            return
        _written(path, text, 0o644).replace(path)


def public_pem(key: Ed25519PublicKey) -> bytes:
    """Return a public key as PEM, which openssl and others read."""
    return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def key_id(key: Ed25519PublicKey) -> str:
    """Return the name of a key: SHA-256 of its 32 raw bytes, in hexadecimal."""
    raw = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return hashlib.sha256(raw).hexdigest()


def read_public(path: Path) -> Ed25519PublicKey:
    """Return the public key in a PEM file. Raises ConfigurationError."""
    try:
        key = serialization.load_pem_public_key(path.read_bytes())
    except (ValueError, OSError) as error:
        raise ConfigurationError(f"{path}: no public key can be read from it ({error})") from None
    if not isinstance(key, Ed25519PublicKey):
        raise ConfigurationError(f"{path}: not an Ed25519 key")
    return key


def check(opened: Opened, key: Ed25519PublicKey) -> None:
    """Return if the signature is by this key, over exactly this payload. Raises BadReceipt."""
    if opened.key_id != key_id(key):
        raise BadReceipt(f"signed with another key: {opened.key_id[:16] or 'none named'}…")
    try:
        key.verify(opened.signature, signed_bytes(opened.payload))
    except InvalidSignature:
        raise BadReceipt("the signature does not fit: the content or the signature was changed") from None


def _written(path: Path, content: bytes, mode: int) -> Path:
    """Return a new file beside `path` with this content, on disk."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    with os.fdopen(descriptor, "wb") as file:
        os.fchmod(descriptor, mode)
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    return Path(name)


def _unusable(path: Path, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"{path}: the key for receipts cannot be used ({why}); put it back from a backup, or move it away "
        "and a new one is made"
    )
