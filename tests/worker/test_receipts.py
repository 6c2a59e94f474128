"""Each attempt that is judged ends in one signed receipt, and nothing is published without it."""

from __future__ import annotations

import hashlib

import pytest

from domain.envelope import unwrap
from domain.model import Outcome, Reason
from domain.receipt import Receipt
from domain.states import State
from harness.receipt_chain import broken_links
from harness.receipt_key import PRIVATE_NAME, ReceiptKey
from store.receipts import read_receipts
from tests.worker.conftest import BuildTown
from tests.worker.town import CHEAT, CLEAR, FIX, PYTEST_CALC, PYTEST_SHOW, SHOW, WRONG_FIX, Town, caps, plays


def _chain(town: Town) -> list[Receipt]:
    kept = read_receipts(town.database_path)
    assert list(broken_links(kept, ReceiptKey(town.root).public())) == []
    return kept


def test_the_pull_request_names_the_receipt_of_the_tree_on_its_branch(build: BuildTown) -> None:
    calc = build(PYTEST_CALC)
    calc.issue()

    calc.loop(plays(FIX, PYTEST_SHOW, said=CLEAR)).turn()

    (pull,) = calc.world.pulls(calc.repository.id)
    (receipt,) = _chain(calc)
    assert receipt.sha256 in pull.body
    assert receipt.tree == calc.world.git.tree(calc.repository.id, pull.head_branch)
    predicate = unwrap(receipt.envelope).predicate
    assert predicate["verified"] is True and predicate["turnedGreen"]
    transcript = (calc.root / "transcripts" / f"attempt-{receipt.attempt_id}.jsonl").read_bytes()
    assert predicate["transcript"] == {
        "sha256": hashlib.sha256(transcript).hexdigest(),
        "bytes": len(transcript),
    }


@pytest.mark.long
def test_a_refused_change_has_a_receipt_with_the_finding(calc: Town) -> None:
    calc.issue()

    calc.loop(plays(CHEAT), caps=caps(max_attempts=1)).turn()

    (receipt,) = _chain(calc)
    predicate = unwrap(receipt.envelope).predicate
    assert receipt.outcome is Outcome.REFUSED
    assert predicate["verified"] is False and predicate["findings"]


@pytest.mark.long
def test_attempts_that_follow_one_another_stand_in_one_chain(calc: Town) -> None:
    calc.issue()
    loop = calc.loop(plays(WRONG_FIX, SHOW), plays(FIX, SHOW))

    loop.turn()
    loop.turn()

    assert [receipt.outcome for receipt in _chain(calc)] == [Outcome.UNVERIFIED, Outcome.VERIFIED]


@pytest.mark.long
def test_without_a_usable_key_nothing_is_published(calc: Town) -> None:
    issue = calc.issue()
    (calc.root / PRIVATE_NAME).write_text("torn")

    calc.loop(plays(FIX, SHOW, said=CLEAR)).turn()

    assert calc.stands == (State.BLOCKED, Reason.INTERNAL_ERROR)
    assert not calc.world.pulls(calc.repository.id) and not calc.branches
    assert "receipt" in calc.task.detail and PRIVATE_NAME in calc.task.detail
    assert calc.text(issue)
