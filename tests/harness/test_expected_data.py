"""Expected values beside the tests: what was changed there has an id, and is judged once it is allowed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from domain.allowing import Allowance, asked_about
from domain.model import Actor, Category, Severity, Verdict
from harness.expected_data import expected_data
from harness.testing.cases import Case, CaseOutcome
from harness.verify import VerifiedChange
from tests.harness.guard.changes import change_of
from tests.harness.test_verify import Bench

SOURCE = "def double(x):\n    return x + 2\n"
FIXED = "def double(x):\n    return x * 2\n"
TESTS = (
    "import json, pathlib\nfrom calc import double\n\n"
    "KNOWN = json.loads((pathlib.Path(__file__).parent / 'known.json').read_text())\n\n\n"
    "def test_known():\n    assert double(3) == KNOWN['three']\n\n\n"
    "def test_two():\n    assert double(2) == 4\n"
)
NEW = "from calc import double\n\n\ndef test_five():\n    assert double(5) == 10\n"
BASE = {"calc.py": SOURCE, "tests/test_calc.py": TESTS, "tests/known.json": '{"three": 5}\n'}
FIX = {"calc.py": FIXED, "tests/test_more.py": NEW, "tests/known.json": '{"three": 6}\n'}
RED = Case(
    id="tests/test_calc.py::test_known",
    file="tests/test_calc.py",
    name="test_known",
    outcome=CaseOutcome.FAILED,
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("data"), BASE)


def judge(
    bench: Bench, changed: dict[str, str | None], *ids: str, issue: str = ""
) -> VerifiedChange | Verdict:
    by, at = Actor(id="1", login="maintainer"), datetime.now(UTC)
    words = tuple(Allowance(change=name, by=by, comment_id="1", at=at) for name in ids)
    change = replace(bench.change(changed), words=words)
    return bench.verifier.verify(change, bench.baseline, Category.BUG, issue)


@pytest.mark.long
def test_data_that_was_changed_is_refused_by_an_id_and_judged_once_it_is_allowed(bench: Bench) -> None:
    refused = judge(bench, FIX)
    assert isinstance(refused, Verdict)
    (finding,) = refused.findings
    assert finding.path == "tests/known.json" and finding.severity is Severity.CRITICAL
    assert "test_known" in finding.what and asked_about(refused) == (finding.id,)

    allowed = judge(bench, FIX, finding.id)

    assert isinstance(allowed, VerifiedChange), allowed
    assert [each.allowed_by for each in allowed.verdict.findings] == ["maintainer"]


@pytest.mark.long
def test_other_data_than_was_allowed_is_refused_again(bench: Bench) -> None:
    refused = judge(bench, FIX)
    assert isinstance(refused, Verdict)
    again = judge(bench, {**FIX, "tests/known.json": '{"three": 6, "more": 1}\n'}, refused.findings[0].id)

    assert isinstance(again, Verdict) and again.findings[0].id != refused.findings[0].id


@pytest.mark.long
def test_data_whose_values_the_issue_names_asks_nobody(bench: Bench) -> None:
    result = judge(bench, FIX, issue="double(3) is 5 now; it should be 6")

    assert isinstance(result, VerifiedChange)
    assert [each.severity for each in result.verdict.findings] == [Severity.WARNING]


@pytest.mark.long
def test_nobody_is_asked_where_the_runs_refuse_anyway(bench: Bench) -> None:
    refused = judge(bench, {**FIX, "tests/test_more.py": NEW.replace("== 10", "== 11")})
    assert isinstance(refused, Verdict) and not asked_about(refused)

    shown = judge(
        bench,
        {
            **FIX,
            "tests/test_more.py": NEW.replace("double(5) == 10", "double(2) == 4"),
            "tests/test_calc.py": TESTS.replace("== 4", "== 4  # two"),
        },
    )
    assert isinstance(shown, Verdict) and shown.findings and asked_about(shown)


def test_who_may_be_to_blame() -> None:
    old = {
        "tests/known.json": "1\n",
        "tests/helper.py": "A = 1\n",
        "tests/test_calc.py": "a\nb\n",
        "tests/test_b.py": "a\n",
    }
    new = {
        "tests/known.json": "2\n",
        "tests/helper.py": "A = 2\n",
        "tests/test_calc.py": "a\nb\nc\n",
        "tests/test_b.py": "b\n",
    }
    change = change_of(old, {**new, "tests/new.json": "3\n"})

    def blamed(**more: str) -> list[str]:
        now = change_of(
            old, {**new, **{path.replace("__", "/") + ".py": text for path, text in more.items()}}
        )
        return [each.path for each in expected_data(now, now.paths, [RED], "")]

    assert [each.path for each in expected_data(change, change.paths, [RED], "")] == [
        "tests/helper.py",
        "tests/known.json",
    ]
    assert blamed(tests__test_calc="a\nc\n") == ["tests/helper.py", "tests/known.json", "tests/test_calc.py"]
