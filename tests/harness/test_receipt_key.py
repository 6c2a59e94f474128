"""The service's key: made once, readable by the service alone, and nobody else's signature passes."""

from __future__ import annotations

import shutil
import subprocess
import threading
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

from domain.envelope import BadReceipt, signed_bytes, unwrap, wrap
from domain.errors import ConfigurationError
from domain.model import Outcome
from domain.receipt import Receipt, hash_of, payload_of
from harness.receipt_chain import broken_links
from harness.receipt_key import PRIVATE_NAME, PUBLIC_NAME, ReceiptKey, check, key_id, read_public
from tests.domain.receipts import NOON, TREE, facts

PAYLOAD = payload_of(facts(), "", str)


@pytest.fixture
def key(tmp_path: Path) -> ReceiptKey:
    return ReceiptKey(tmp_path)


def test_a_sealed_receipt_holds_and_names_its_key(key: ReceiptKey) -> None:
    opened = unwrap(key.seal(PAYLOAD))

    check(opened, key.public())

    assert opened.key_id == key_id(key.public())


def test_the_key_is_made_once_and_only_the_service_reads_it(key: ReceiptKey, tmp_path: Path) -> None:
    first = key.seal(PAYLOAD)

    assert ReceiptKey(tmp_path).seal(PAYLOAD) == first
    assert (tmp_path / PRIVATE_NAME).stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == [PRIVATE_NAME, PUBLIC_NAME]


def test_of_two_processes_that_make_the_key_at_once_both_use_the_same(tmp_path: Path) -> None:
    gate = threading.Barrier(8)
    seals: list[bytes] = []

    def seal() -> None:
        gate.wait()
        seals.append(ReceiptKey(tmp_path).seal(PAYLOAD))

    threads = [threading.Thread(target=seal) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(seals) == 8 and len(set(seals)) == 1


def test_a_public_key_that_was_lost_comes_back(key: ReceiptKey, tmp_path: Path) -> None:
    key.seal(PAYLOAD)
    (tmp_path / PUBLIC_NAME).unlink()

    key.seal(PAYLOAD)

    check(unwrap(key.seal(PAYLOAD)), key.public())


@pytest.mark.parametrize("place", ["payload", "signature"])
def test_one_changed_bit_is_noticed(key: ReceiptKey, place: str) -> None:
    opened = unwrap(key.seal(PAYLOAD))
    payload, signature = opened.payload, opened.signature
    if place == "payload":
        payload = payload.replace(b'"verified":true', b'"verified":null')
    else:
        signature = bytes([signature[0] ^ 1]) + signature[1:]
    forged = unwrap(wrap(payload, key_id=opened.key_id, signature=signature))

    with pytest.raises(BadReceipt, match="does not fit"):
        check(forged, key.public())


def test_somebody_elses_receipt_is_not_ours(key: ReceiptKey, tmp_path: Path) -> None:
    key.seal(PAYLOAD)
    (tmp_path / "other").mkdir()
    theirs = unwrap(ReceiptKey(tmp_path / "other").seal(PAYLOAD))

    with pytest.raises(BadReceipt, match="another key"):
        check(theirs, key.public())
    renamed = unwrap(wrap(PAYLOAD, key_id=key_id(key.public()), signature=theirs.signature))
    with pytest.raises(BadReceipt, match="does not fit"):
        check(renamed, key.public())


def test_a_key_file_that_is_none_is_named_with_the_way_out(key: ReceiptKey, tmp_path: Path) -> None:
    (tmp_path / PRIVATE_NAME).write_text("not a key")
    with pytest.raises(ConfigurationError, match=r"receipt-key\.pem: the key .* move it away"):
        key.seal(PAYLOAD)

    other = generate_private_key(SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / PRIVATE_NAME).write_bytes(other)
    with pytest.raises(ConfigurationError, match="not an Ed25519 key"):
        key.seal(PAYLOAD)


def test_without_a_key_there_is_nothing_to_check_with(key: ReceiptKey, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no such key yet"):
        key.public()
    (tmp_path / PUBLIC_NAME).write_text("x")
    with pytest.raises(ConfigurationError, match="no public key"):
        read_public(tmp_path / PUBLIC_NAME)


def test_a_chain_is_whole_or_says_where_it_is_not(key: ReceiptKey) -> None:
    first = _receipt(key, "")
    second = _receipt(key, first.sha256)
    third = _receipt(key, second.sha256)
    public = key.public()

    assert list(broken_links([first, second, third], public)) == []
    assert "the one before it is missing" in next(broken_links([first, third], public))
    assert "the one before it is missing" in next(broken_links([second, third], public))
    swapped = [first, Receipt(**{**_fields(second), "sha256": "0" * 64}), third]
    assert any("another hash" in problem for problem in broken_links(swapped, public))
    torn = [first, Receipt(**{**_fields(second), "envelope": b"{}"}), third]
    assert any("not an envelope" in problem for problem in broken_links(torn, public))


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_openssl_agrees(key: ReceiptKey, tmp_path: Path) -> None:
    opened = unwrap(key.seal(PAYLOAD))
    (tmp_path / "signed").write_bytes(signed_bytes(opened.payload))
    (tmp_path / "signature").write_bytes(opened.signature)

    command = ["openssl", "pkeyutl", "-verify", "-pubin", "-rawin", "-inkey", PUBLIC_NAME]
    said = subprocess.run(
        [*command, "-in", "signed", "-sigfile", "signature"], cwd=tmp_path, capture_output=True, text=True
    )

    assert "Successfully" in said.stdout, said


def _receipt(key: ReceiptKey, previous: str) -> Receipt:
    payload = payload_of(facts(), previous, str)
    return Receipt(
        sha256=hash_of(payload),
        attempt_id=11,
        outcome=Outcome.VERIFIED,
        tree=TREE,
        envelope=key.seal(payload),
        at=NOON,
    )


def _fields(receipt: Receipt) -> dict[str, object]:
    return {name: getattr(receipt, name) for name in Receipt.__slots__}
