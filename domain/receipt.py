"""The receipt of an attempt: what the harness saw and did, as an in-toto statement in one exact form.

Pure. Who signs it and who keeps it are ports. The bytes are canonical, so that equal facts have equal hashes:
JSON with sorted keys, no spaces, ASCII only, no floating-point numbers (times are whole milliseconds, money
is decimal text). Sources: the in-toto attestation framework's Statement v1 and its digest names.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from domain.allowing import Allowance
from domain.budget import QUANTUM
from domain.model import (
    Attempt,
    Check,
    Finding,
    Money,
    Outcome,
    Reason,
    RunStatus,
    Suspect,
    Task,
    TestRun,
    Verdict,
)

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:fixwright:attempt-receipt:v1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"

MOST_CLAIMS = 20

Json = str | int | bool | None | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """A receipt as it is kept. `sha256` is of the payload, `envelope` the signed document that holds it."""

    sha256: str
    attempt_id: int
    outcome: Outcome
    tree: str
    envelope: bytes
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptMark:
    """What the transcript was when the receipt was written: its hash and bytes, "" and 0 without one."""

    sha256: str = ""
    size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptFacts:
    """All that a receipt tells. `issue_cost` is over all attempts; both are dollars, open reservations in."""

    version: str
    task: Task
    attempt: Attempt
    outcome: Outcome
    reason: Reason | None
    verdict: Verdict | None
    suspects: tuple[Suspect, ...]
    model: str
    calls: int
    cost: Money
    issue_cost: Money
    isolation: str
    transcript: TranscriptMark
    at: datetime
    allowances: tuple[Allowance, ...] = ()
    claimed: tuple[str, ...] = ()
    """Commands of tests that the agent says it ran: claims, which nothing rests on."""

    @property
    def tree(self) -> str:
        """The tree that was judged, or "" where none was."""
        return self.verdict.tree if self.verdict else ""


def payload_of(facts: ReceiptFacts, previous: str, redact: Callable[[str], str]) -> bytes:
    """Return the statement's canonical bytes. `previous` is the hash of the receipt before it, or "".

    Every text goes through `redact` first.
    """
    statement: Json = {
        "_type": STATEMENT_TYPE,
        "subject": list(_subjects(facts)),
        "predicateType": PREDICATE_TYPE,
        "predicate": _predicate(facts, previous),
    }
    return canonical(_cleaned(statement, redact))


def canonical(value: Json) -> bytes:
    """Return a JSON value in its one form."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    ).encode("ascii")


def hash_of(payload: bytes) -> str:
    """Return the hash by which a receipt is named: SHA-256 of its payload, 64 hexadecimal digits."""
    return hashlib.sha256(payload).hexdigest()


def issue_snapshot_hash(task: Task) -> str:
    """Return the hash of the issue's text as it was when the task began: title, two line ends, body."""
    return hashlib.sha256(f"{task.title}\n\n{task.body}".encode("utf-8", "backslashreplace")).hexdigest()


def _subjects(facts: ReceiptFacts) -> Iterable[Json]:
    if facts.tree:
        yield {"name": "tree", "digest": {"gitTree": facts.tree}}
    base = facts.verdict.base_sha if facts.verdict else facts.attempt.base_sha
    if base:
        yield {"name": "base", "digest": {"gitCommit": base}}
    yield {"name": "issue", "digest": {"sha256": issue_snapshot_hash(facts.task)}}


def _predicate(facts: ReceiptFacts, previous: str) -> Json:
    verdict = facts.verdict
    return {
        "service": {"name": "fixwright", "version": facts.version},
        "issue": _issue(facts.task),
        "attempt": {
            "number": facts.attempt.number,
            "startedAt": _moment(facts.attempt.started_at),
            "receiptAt": _moment(facts.at),
            "outcome": facts.outcome.value,
            "reason": facts.reason.value if facts.reason else "",
        },
        "verified": bool(verdict and verdict.verified),
        "summary": verdict.summary if verdict else "",
        "runs": [_run(run) for run in verdict.runs] if verdict else [],
        "checks": [_check(check) for check in verdict.checks] if verdict else [],
        "claims": [
            {"command": command, "status": RunStatus.CLAIMED.value} for command in facts.claimed[:MOST_CLAIMS]
        ],
        "turnedGreen": list(verdict.turned_green) if verdict else [],
        "broken": list(verdict.broken) if verdict else [],
        "findings": [_finding(finding) for finding in verdict.findings] if verdict else [],
        "allowances": [_allowance(word) for word in facts.allowances],
        "suspects": [_suspect(suspect) for suspect in facts.suspects],
        "isolation": verdict.isolation if verdict else facts.isolation,
        "model": {"name": facts.model, "calls": facts.calls},
        "spend": {"attemptUsd": _amount(facts.cost), "issueUsd": _amount(facts.issue_cost)},
        "transcript": {"sha256": facts.transcript.sha256, "bytes": facts.transcript.size},
        "previous": previous,
    }


def _issue(task: Task) -> Json:
    return {
        "forge": task.issue.forge,
        "repositoryId": task.issue.repository_id,
        "repository": task.repository_name,
        "number": task.issue.number,
        "category": task.category.value,
        "requestedBy": {"id": task.requested_by.id, "login": task.requested_by.login},
        "task": task.id,
    }


def _run(run: TestRun) -> Json:
    """Tell one run. Test ids can be many thousands, so the receipt carries their hashes only."""
    return {
        "name": run.name,
        "command": run.command,
        "tree": run.tree,
        "status": run.status.value,
        "exitCode": run.exit_code,
        "milliseconds": round(run.seconds * 1000),
        "passed": run.passed,
        "failed": run.failed,
        "skipped": run.skipped,
        "passedIdsSha256": _ids_hash(run.passed_ids),
        "failedIdsSha256": _ids_hash(run.failed_ids),
        "note": run.note,
        "timedOut": run.timed_out,
        "isolation": run.isolation,
        "startedAt": _moment(run.at) if run.at else None,
        "reused": run.reused,
    }


def _check(check: Check) -> Json:
    return {"name": check.name, "status": check.status.value, "what": check.what}


def _ids_hash(ids: Iterable[str]) -> str:
    """Return the hash of sorted test ids, one on each line; "" where none are known."""
    lines = sorted(ids)
    text = "".join(f"{line}\n" for line in lines)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest() if lines else ""


def _finding(finding: Finding) -> Json:
    return {
        "rule": finding.rule,
        "path": finding.path,
        "line": finding.line,
        "severity": finding.severity.value,
        "what": finding.what,
        "id": finding.id,
        "allowedBy": finding.allowed_by,
    }


def _allowance(word: Allowance) -> Json:
    return {
        "name": word.change,
        "by": {"id": word.by.id, "login": word.by.login},
        "comment": word.comment_id,
        "at": _moment(word.at),
    }


def _suspect(suspect: Suspect) -> Json:
    return {"path": suspect.path, "symbol": suspect.symbol, "lines": [suspect.first_line, suspect.last_line]}


def _amount(dollars: Money) -> str:
    return f"{dollars.quantize(QUANTUM):f}"


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _cleaned(value: Json, redact: Callable[[str], str]) -> Json:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [_cleaned(each, redact) for each in value]
    if isinstance(value, dict):
        return {name: _cleaned(each, redact) for name, each in value.items()}
    return value


def text_at(document: Mapping[str, Json], *path: str) -> str:
    """Return the text at a path of keys in a document from outside, or "" where there is none."""
    value: Json = dict(document)
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""
