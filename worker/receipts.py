"""Writes the receipt of an attempt, before anything of it is published."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import structlog

from domain.model import Attempt, Task
from domain.ports import Clock, Ledger, ReceiptLog, Signer
from domain.receipt import Receipt, ReceiptFacts, TranscriptMark, hash_of, payload_of
from domain.text import Redactor
from harness.attempt import AttemptResult

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptClerk:
    """Gathers what is known of an attempt, has it signed, and keeps it in the chain."""

    receipts: ReceiptLog
    signer: Callable[[], Signer]
    ledger: Ledger
    clock: Clock
    redact: Redactor
    model: str
    version: str
    isolation: Callable[[], str]
    transcript: Callable[[Attempt], Path]
    pages: str = ""
    """The address under which people reach the console, or "" where nobody has said it."""

    def write(self, task: Task, attempt: Attempt, result: AttemptResult) -> Receipt:
        """Return the receipt of how this attempt ended; written once for each outcome and tree.

        Raises StaleWrite, StoreUnavailable, ConfigurationError (the key cannot be used).
        """
        facts = self._facts(task, attempt, result)
        signer = self.signer()  # before the transaction: its library takes a while to load

        def write(previous: str) -> tuple[str, bytes]:
            payload = payload_of(facts, previous, self.redact)
            return hash_of(payload), signer.seal(payload)

        receipt = self.receipts.append(attempt, facts.outcome, facts.tree, write)
        log.info("receipt written", task=task.id, attempt=attempt.id, receipt=receipt.sha256)
        return receipt

    def url_of(self, receipt: Receipt) -> str:
        """Return where people can read a receipt, or ""."""
        return f"{self.pages.rstrip('/')}/console/receipts/{receipt.sha256}" if self.pages else ""

    def _facts(self, task: Task, attempt: Attempt, result: AttemptResult) -> ReceiptFacts:
        return ReceiptFacts(
            version=self.version,
            task=task,
            attempt=attempt,
            outcome=result.outcome,
            reason=result.reason,
            verdict=result.verdict,
            suspects=result.suspects,
            model=self.model,
            calls=self.ledger.calls_on_attempt(attempt.id),
            cost=self.ledger.spent_on_attempt(attempt.id),
            issue_cost=self.ledger.spent_on_task(task.id),
            isolation=self.isolation(),
            transcript=_mark(self.transcript(attempt)),
            at=self.clock.now(),
            allowances=result.words,
            claimed=tuple(result.claim.test_commands) if result.claim else (),
        )


def _mark(path: Path) -> TranscriptMark:
    """Return the hash of a transcript as it is now; an attempt that ended before its agent has none."""
    try:
        with path.open("rb") as file:
            return TranscriptMark(sha256=hashlib.file_digest(file, "sha256").hexdigest(), size=file.tell())
    except FileNotFoundError:
        return TranscriptMark()
