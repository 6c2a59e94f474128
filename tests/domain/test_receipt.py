"""Receipts as bytes: one form for equal facts, every fact in its place, no secret in any."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.model import Outcome, Reason
from domain.receipt import Json, TranscriptMark, canonical, hash_of, issue_snapshot_hash, payload_of, text_at
from domain.text import Redactor
from tests.domain.receipts import BASE, RUN, TASK, TREE, VERDICT, facts

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def _statement(**changes: object) -> dict[str, Json]:
    statement: dict[str, Json] = json.loads(payload_of(facts(**changes), "", str))
    return statement


def test_a_receipt_is_an_in_toto_statement_about_tree_base_and_issue() -> None:
    statement = _statement()

    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["subject"] == [
        {"name": "tree", "digest": {"gitTree": TREE}},
        {"name": "base", "digest": {"gitCommit": BASE}},
        {"name": "issue", "digest": {"sha256": issue_snapshot_hash(TASK)}},
    ]


def test_every_fact_is_in_it() -> None:
    predicate = _statement()["predicate"]

    assert predicate == {
        "service": {"name": "fixwright", "version": "1.0"},
        "issue": {
            "forge": "local",
            "repositoryId": "42",
            "repository": "acme/shop",
            "number": 3,
            "category": "bug",
            "requestedBy": {"id": "9", "login": "mia"},
            "task": 7,
        },
        "attempt": {
            "number": 2,
            "startedAt": "2026-03-01T12:00:00.000Z",
            "receiptAt": "2026-03-01T12:00:00.000Z",
            "outcome": "verified",
            "reason": "",
        },
        "verified": True,
        "summary": "1 failing before and passing now.",
        "runs": [
            {
                "name": "fixed",
                "command": "pytest -q",
                "tree": TREE,
                "status": "passed",
                "exitCode": 0,
                "milliseconds": 1234,
                "passed": 2,
                "failed": 0,
                "skipped": 0,
                "passedIdsSha256": hashlib.sha256(b"t.py::a\nt.py::b\n").hexdigest(),
                "failedIdsSha256": "",
                "note": "",
                "timedOut": False,
                "isolation": "",
                "startedAt": None,
                "reused": False,
            }
        ],
        "checks": [{"name": "links", "status": "passed", "what": "of 1 document"}],
        "claims": [{"command": "make test", "status": "claimed by the agent"}],
        "turnedGreen": ["t.py::a"],
        "broken": [],
        "findings": [
            {
                "rule": "RH007",
                "path": "a.py",
                "line": 3,
                "severity": "warning",
                "what": "many",
                "id": "",
                "allowedBy": "",
            }
        ],
        "allowances": [],
        "suspects": [{"path": "a.py", "symbol": "total", "lines": [3, 9]}],
        "isolation": "bubblewrap, separate uid",
        "model": {"name": "openai/scripted", "calls": 4},
        "spend": {"attemptUsd": "0.123000000", "issueUsd": "0.500000000"},
        "transcript": {"sha256": "c" * 64, "bytes": 120},
        "previous": "",
    }


def test_an_attempt_that_judged_nothing_has_a_receipt_too() -> None:
    statement = _statement(
        verdict=None,
        outcome=Outcome.TASK_LIMIT,
        reason=Reason.TASK_LIMIT,
        transcript=TranscriptMark(),
        isolation="process, not sandboxed",
    )
    predicate = statement["predicate"]

    assert [each["name"] for each in statement["subject"]] == ["base", "issue"]  # type: ignore[index,union-attr]
    assert isinstance(predicate, dict)
    assert (predicate["verified"], predicate["runs"]) == (False, [])
    assert predicate["isolation"] == "process, not sandboxed"
    assert text_at(predicate, "attempt", "reason") == "task_limit"


@pytest.mark.parametrize(
    "changes",
    [
        {"verdict": replace(VERDICT, tree="d" * 40)},
        {"verdict": replace(VERDICT, verified=False)},
        {"verdict": replace(VERDICT, runs=(replace(RUN, exit_code=1),))},
        {"verdict": replace(VERDICT, runs=(replace(RUN, passed_ids=frozenset({"t.py::a"})),))},
        {"verdict": replace(VERDICT, findings=())},
        {"cost": Decimal("0.124")},
        {"model": "openai/other"},
        {"task": replace(TASK, body="Seen in 2.2")},
        {"transcript": TranscriptMark(sha256="d" * 64, size=120)},
        {"outcome": Outcome.UNVERIFIED},
    ],
)
def test_a_fact_that_differs_makes_another_hash(changes: dict[str, object]) -> None:
    assert hash_of(payload_of(facts(**changes), "", str)) != hash_of(payload_of(facts(), "", str))


def test_equal_facts_make_equal_bytes_and_the_receipt_before_counts() -> None:
    assert payload_of(facts(), "", str) == payload_of(facts(), "", str)
    assert payload_of(facts(), "e" * 64, str) != payload_of(facts(), "", str)


def test_no_live_secret_is_in_a_receipt() -> None:
    secret = "canary-0123456789-abcdef"
    leaky = replace(
        VERDICT,
        summary=f"failed with {secret}",
        runs=(replace(RUN, command=f"TOKEN={secret} pytest", note=secret),),
        turned_green=(f"t.py::test[{secret}]",),
    )

    payload = payload_of(
        facts(verdict=leaky, task=replace(TASK, repository_name=secret)), "", Redactor([secret])
    )

    assert secret.encode() not in payload


def test_text_that_is_no_unicode_does_no_harm() -> None:
    odd = replace(TASK, title="half \ud800", body="\udfff")

    payload = payload_of(facts(task=odd, verdict=replace(VERDICT, summary="\ud800")), "", str)

    assert payload.isascii() and len(issue_snapshot_hash(odd)) == 64


@given(JSON)
def test_the_canonical_form_is_read_back_and_made_again(value: Json) -> None:
    assert canonical(json.loads(canonical(value))) == canonical(value)
    assert canonical(value).isascii()


def test_a_number_that_differs_between_machines_is_not_written() -> None:
    with pytest.raises(ValueError, match="Out of range"):
        canonical(float("nan"))  # type: ignore[arg-type]
