"""A receipt as the console shows it, and as plain lines for the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from domain.envelope import Opened, unwrap
from domain.receipt import Json, Receipt, text_at


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptView:
    """What a page shows of a receipt: its hash, who signed, (label, value) lines, and all of it as JSON."""

    sha256: str
    key_id: str
    lines: tuple[tuple[str, str], ...]
    statement: str


def read_receipt(receipt: Receipt) -> ReceiptView:
    """Return the view of a receipt that we keep. Raises BadReceipt."""
    opened = unwrap(receipt.envelope)
    return ReceiptView(
        sha256=opened.sha256,
        key_id=opened.key_id,
        lines=tuple(receipt_lines(opened)),
        statement=json.dumps(opened.statement, indent=2, ensure_ascii=False),
    )


def receipt_lines(opened: Opened) -> Iterator[tuple[str, str]]:
    """Yield the facts of a receipt, each with its label, in the order in which one asks for them."""
    predicate = opened.predicate
    issue = _part(predicate, "issue")
    yield "issue", f"{text_at(issue, 'forge')}:{text_at(issue, 'repository')} #{issue.get('number', '?')}"
    yield "asked for by", text_at(issue, "requestedBy", "login")
    attempt = _part(predicate, "attempt")
    yield "attempt", f"{attempt.get('number', '?')}, ended {text_at(attempt, 'outcome').replace('_', ' ')}"
    yield "verified", "yes" if predicate.get("verified") is True else "no"
    yield "summary", text_at(predicate, "summary") or "no change was judged"
    for subject in _list(opened.statement.get("subject")):
        digest = subject.get("digest")
        hashes = digest if isinstance(digest, dict) else {}
        yield (
            _subject_label(text_at(subject, "name")),
            " ".join(f"{kind}:{value}" for kind, value in hashes.items()),
        )
    for run in _list(predicate.get("runs")):
        yield f"run “{text_at(run, 'name')}”", _run(run)
    for finding in _list(predicate.get("findings")):
        where = f"{text_at(finding, 'path')}:{finding.get('line', 0)}"
        by = text_at(finding, "allowedBy")
        allowed = f", allowed by {by}" if by else ""
        yield "finding", f"{text_at(finding, 'rule')} {text_at(finding, 'severity')} {where}{allowed}"
    yield "isolation", text_at(predicate, "isolation")
    model = _part(predicate, "model")
    yield "model", f"{text_at(model, 'name')}, {model.get('calls', 0)} calls"
    yield "spent", f"${_short(text_at(predicate, 'spend', 'attemptUsd'))} on this attempt"
    yield "transcript", text_at(predicate, "transcript", "sha256") or "none"
    yield "receipt before", text_at(predicate, "previous") or "none, this is the first"


def _run(run: dict[str, Json]) -> str:
    counts = ", ".join(
        f"{run[name]} {name}" for name in ("passed", "failed", "skipped") if isinstance(run.get(name), int)
    )
    ending = ", ".join(filter(None, [f"exit {run.get('exitCode', '?')}", counts]))
    return (
        f"{text_at(run, 'status')} ({ending}) on tree {text_at(run, 'tree')[:12]}: {text_at(run, 'command')}"
    )


def _subject_label(name: str) -> str:
    """Return a subject's label; what the issue said is not to be taken for which issue it is."""
    return "issue's text" if name == "issue" else name


def _short(amount: str) -> str:
    """Return decimal text without the zeros at its end."""
    return amount.rstrip("0").rstrip(".") if "." in amount else amount


def _part(document: dict[str, Json], name: str) -> dict[str, Json]:
    value = document.get(name)
    return value if isinstance(value, dict) else {}


def _list(value: Json) -> list[dict[str, Json]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
