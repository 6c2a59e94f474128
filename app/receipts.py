"""`fixwright receipt`: list, show and check the signed receipts, in a file or in the service's database."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from app.receipt_view import receipt_lines
from app.settings import data_directory_alone
from domain.envelope import BadReceipt, Opened, unwrap
from domain.errors import ConfigurationError, FixwrightError
from domain.receipt import Json, Receipt, text_at
from domain.text import one_line
from harness.receipt_chain import broken_links
from harness.receipt_key import ReceiptKey, check, key_id, public_pem, read_public
from store.receipts import read_receipts

SHORTEST = 8
"""Digits of a hash that name a receipt."""


class ReceiptDoesNotHold(FixwrightError):
    """A receipt was changed, is signed by somebody else, or is of another tree."""


def list_receipts(*, as_json: bool) -> str:
    """Return one line for each receipt, the newest first. Raises ConfigurationError, StoreUnavailable."""
    receipts = _kept()[::-1]
    if as_json:
        return json.dumps([_entry(each) for each in receipts], indent=2) + "\n"
    if not receipts:
        return "There are no receipts yet; each attempt ends in one.\n"
    return "".join(
        f"{each.sha256[:16]}  {each.at:%Y-%m-%d %H:%M:%S}  {each.outcome.value:<12} {_about(each)}\n"
        for each in receipts
    )


def show_receipt(name: str, *, as_json: bool, envelope: bool) -> str:
    """Return a receipt as lines, as its statement, or as the signed file. Raises ConfigurationError."""
    signed = _read(name)
    if envelope:
        return signed.decode("ascii", "replace")
    opened = _opened(name, signed)
    if as_json:
        return json.dumps(opened.statement, indent=2) + "\n"
    lines = [("receipt", opened.sha256), ("signed by key", opened.key_id), *receipt_lines(opened)]
    width = min(24, max(len(label) for label, _ in lines))
    return "".join(f"{one_line(label, 60):<{width}}  {one_line(value, 400)}\n" for label, value in lines)


def verify_receipts(name: str, *, key: Path | None, tree: str) -> str:
    """Return what was found right. Raises ReceiptDoesNotHold, ConfigurationError, StoreUnavailable."""
    public = read_public(key) if key else ReceiptKey(data_directory_alone()).public()
    if not name:
        if tree:
            raise ConfigurationError("--tree: name a receipt with it")
        return _verify_chain(_kept(), public)
    opened = _opened(name, _read(name))
    _check(name, opened, public)
    if tree:
        _check_tree(name, opened, tree)
    lines = [f"The signature holds: receipt {opened.sha256}, key {key_id(public)}."]
    if tree:
        lines.append(f"It is of the tree {tree}, and says that it was verified.")
    elif opened.predicate.get("verified") is True:
        lines.append(f"It says that the tree {_tree(opened)} was verified.")
    else:
        lines.append("It does not say that a change was verified.")
    return "\n".join(lines) + "\n"


def public_key() -> str:
    """Return the public key as PEM text. Raises ConfigurationError."""
    return public_pem(ReceiptKey(data_directory_alone()).public()).decode("ascii")


def _verify_chain(receipts: Sequence[Receipt], public: Ed25519PublicKey) -> str:
    for problem in broken_links(receipts, public):
        raise ReceiptDoesNotHold(problem)
    return (
        f"{len(receipts)} receipts, each signed with key {key_id(public)}, each naming the one before it.\n"
    )


def _check(name: str, opened: Opened, public: Ed25519PublicKey) -> None:
    try:
        check(opened, public)
    except BadReceipt as error:
        raise ReceiptDoesNotHold(f"receipt {name}: {error}") from None


def _check_tree(name: str, opened: Opened, tree: str) -> None:
    if opened.predicate.get("verified") is not True:
        raise ReceiptDoesNotHold(f"receipt {name}: it does not say that a change was verified")
    if _tree(opened) != tree:
        raise ReceiptDoesNotHold(f"receipt {name}: it is of the tree {_tree(opened) or '(none)'}, not {tree}")


def _tree(opened: Opened) -> str:
    subjects: Json = opened.statement.get("subject")
    for subject in subjects if isinstance(subjects, list) else []:
        if isinstance(subject, dict) and subject.get("name") == "tree":
            return text_at(subject, "digest", "gitTree")
    return ""


def _opened(name: str, envelope: bytes) -> Opened:
    try:
        return unwrap(envelope)
    except BadReceipt as error:
        raise ReceiptDoesNotHold(f"receipt {name}: {error}") from None


def _read(name: str) -> bytes:
    """Return the signed bytes of a receipt in a file, or else of one that the service keeps."""
    path = Path(name)
    if path.is_file():
        return path.read_bytes()
    begins = name.lower()
    found = [each for each in _kept() if each.sha256.startswith(begins)] if len(begins) >= SHORTEST else []
    if len(found) != 1:
        raise ConfigurationError(
            f"{name}: neither a file nor the hash of one receipt of this service; `fixwright receipt list` "
            "shows them"
        )
    return found[0].envelope


def _kept() -> list[Receipt]:
    return read_receipts(data_directory_alone() / "fixwright.sqlite3")


def _entry(receipt: Receipt) -> dict[str, str]:
    return {
        "sha256": receipt.sha256,
        "at": receipt.at.isoformat(),
        "outcome": receipt.outcome.value,
        "tree": receipt.tree,
        "about": _about(receipt),
    }


def _about(receipt: Receipt) -> str:
    issue = unwrap(receipt.envelope).predicate.get("issue")
    if not isinstance(issue, dict):
        return ""
    return one_line(
        f"{text_at(issue, 'forge')}:{text_at(issue, 'repository')} #{issue.get('number', '?')}", 120
    )
