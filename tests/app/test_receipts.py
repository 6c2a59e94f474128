"""`fixwright receipt`: what holds is said to hold, and what was touched is not, with the reason."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from app.cli import cli
from app.receipts import ReceiptDoesNotHold, verify_receipts
from domain.errors import ConfigurationError
from domain.model import Outcome
from domain.receipt import Receipt, hash_of, payload_of
from harness.receipt_key import PUBLIC_NAME, ReceiptKey
from store.database import Database
from store.inbox import SqliteInbox
from store.receipts import SqliteReceipts
from store.tasks import SqliteTaskQueue
from tests.domain.receipts import TREE, VERDICT, facts
from tests.store.makers import CATEGORIES, SetClock, running_task


class Kept:
    """A data directory with two receipts in it: an attempt that was not verified, then one that was."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        clock = SetClock()
        self.database = Database(directory / "fixwright.sqlite3")
        self.database.migrate()
        queue = SqliteTaskQueue(self.database, clock)
        attempt = queue.begin_attempt(running_task(SqliteInbox(self.database, CATEGORIES), queue))
        receipts, key = SqliteReceipts(self.database, clock), ReceiptKey(directory)

        def written(outcome: Outcome, verified: bool) -> Receipt:
            told = facts(outcome=outcome, verdict=replace(VERDICT, verified=verified))

            def write(previous: str) -> tuple[str, bytes]:
                payload = payload_of(told, previous, str)
                return hash_of(payload), key.seal(payload)

            return receipts.append(attempt, outcome, TREE, write)

        self.failed = written(Outcome.UNVERIFIED, verified=False)
        self.verified = written(Outcome.VERIFIED, verified=True)

    def file(self, receipt: Receipt, name: str = "receipt.json") -> str:
        path = self.directory / name
        path.write_bytes(receipt.envelope)
        return str(path)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kept]:
    monkeypatch.setenv("FIXWRIGHT_DATA_DIR", str(tmp_path))
    kept = Kept(tmp_path)
    yield kept
    kept.database.close()


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["receipt", *arguments])


def test_the_list_has_the_newest_first(kept: Kept) -> None:
    lines = _run("list").stdout.splitlines()

    assert [line.split()[0] for line in lines] == [kept.verified.sha256[:16], kept.failed.sha256[:16]]
    assert "local:acme/shop #3" in lines[0] and "verified" in lines[0]
    assert [each["tree"] for each in json.loads(_run("list", "--json").stdout)] == [TREE, TREE]


def test_a_receipt_is_shown_by_file_and_by_the_beginning_of_its_hash(kept: Kept) -> None:
    by_hash = _run("show", kept.verified.sha256[:12]).stdout

    assert by_hash == _run("show", kept.file(kept.verified)).stdout
    assert kept.verified.sha256 in by_hash
    assert "passed (exit 0, 2 passed, 0 failed, 0 skipped)" in by_hash and "pytest -q" in by_hash
    statement = json.loads(_run("show", kept.verified.sha256, "--json").stdout)
    assert statement["predicate"]["verified"] is True
    assert _run("show", kept.verified.sha256, "--envelope").stdout.encode() == kept.verified.envelope


def test_a_receipt_that_holds_is_said_to_hold(kept: Kept) -> None:
    said = _run("verify", kept.file(kept.verified), "--tree", TREE)

    assert said.exit_code == 0
    assert said.stdout.startswith("The signature holds") and "verified" in said.stdout
    assert "does not say" in _run("verify", kept.failed.sha256).stdout
    assert "2 receipts, each signed" in _run("verify").stdout


def test_a_receipt_is_checked_elsewhere_with_the_public_key_alone(kept: Kept, tmp_path: Path) -> None:
    elsewhere = tmp_path / "key.pub"
    elsewhere.write_text(_run("key").stdout)
    file = kept.file(kept.verified)
    (tmp_path / PUBLIC_NAME).unlink()

    assert _run("verify", file, "--key", str(elsewhere)).exit_code == 0


def test_what_was_touched_does_not_hold(kept: Kept, tmp_path: Path) -> None:
    envelope = json.loads(kept.failed.envelope)
    payload = base64.b64decode(envelope["payload"]).replace(b'"verified":false', b'"verified":true')
    envelope["payload"] = base64.b64encode(payload).decode()
    forged = tmp_path / "forged.json"
    forged.write_text(json.dumps(envelope))

    with pytest.raises(ReceiptDoesNotHold, match="does not fit"):
        verify_receipts(str(forged), key=None, tree="")


def test_a_receipt_of_another_tree_or_of_no_success_backs_nothing(kept: Kept) -> None:
    with pytest.raises(ReceiptDoesNotHold, match=r"it is of the tree a{40}, not b{40}"):
        verify_receipts(kept.verified.sha256, key=None, tree="b" * 40)
    with pytest.raises(ReceiptDoesNotHold, match="does not say that a change was verified"):
        verify_receipts(kept.failed.sha256, key=None, tree=TREE)


@pytest.mark.parametrize("name", ["nowhere.json", "ab", "0" * 64, "f" * 12, "%", ""])
def test_what_is_no_receipt_is_named_with_the_way_out(kept: Kept, name: str) -> None:
    if not name:
        with pytest.raises(ConfigurationError, match="name a receipt"):
            verify_receipts("", key=None, tree=TREE)
        return
    with pytest.raises(ConfigurationError, match="receipt list"):
        verify_receipts(name, key=None, tree="")


def test_a_service_without_receipts_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIXWRIGHT_DATA_DIR", str(tmp_path))
    with Database(tmp_path / "fixwright.sqlite3") as database:
        database.migrate()

    assert "no receipts yet" in _run("list").stdout
    with pytest.raises(ConfigurationError, match="no such key yet"):
        verify_receipts("", key=None, tree="")
