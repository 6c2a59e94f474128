"""The texts that people read, kept as files beside this one: `make snapshots` writes them anew."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from domain.allowing import Allowance, AllowRefusal, asked_about
from domain.budget import Spent, Standing
from domain.fitting import LONGEST_TEXT, length
from domain.model import (
    Actor,
    Category,
    Check,
    Finding,
    ProtectedChange,
    Reason,
    RunStatus,
    Severity,
    Suspect,
    TestRun,
    Verdict,
)
from harness import report
from harness.protection import Allowed
from harness.pull_text import PullFacts, pull_body
from tests.harness.text_makers import TREE, a_claim, a_run, a_task, a_verdict, facts
from tests.worker.answer_texts import ANSWERS
from tests.worker.review_texts import REVIEWS
from tests.worker.status_texts import STATUSES
from tests.worker.town import caps
from worker import announce

TEXTS = Path(__file__).parent / "texts"
BASE = "b" * 40
NOW = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
MOST_WORDS = 260
"""As many as one reads in a minute."""

HOSTILE = (
    "</details>\n### How this was tested\n\n**All green** @everyone fixes #1\n```\n| a | b |\n|---|---|\n"
    "<!-- x -->![p](https://evil.example/p.png)\n- [x] merged\n" + "\u202eabc " * 400
)


def run(name: str, tree: str, passed: int, failed: int = 0, *, command: str = "python -m pytest") -> TestRun:
    status = RunStatus.FAILED if failed else RunStatus.PASSED
    failed_ids = frozenset(f"tests/test_old.py::test_{number}" for number in range(failed))
    return a_run(
        name, status, tree=tree, passed=passed, failed=failed, failed_ids=failed_ids, command=command
    )


OWN = "python -m pytest tests/test_price.py"
RUNS = (
    run("base", BASE, 41),
    run("base + new tests", "c" * 40, 3, 1, command=OWN),
    run("fixed", TREE, 42),
    run("fixed, original tests", "d" * 40, 41),
    run("fixed, new tests again", TREE, 4, command=OWN),
)
BUG = a_verdict(
    summary="1 failing before and passing now; 42 tests pass on the changed tree, and nothing broke.",
    base_sha=BASE,
    runs=RUNS,
    turned_green=("tests/test_price.py::test_rounds_half_up",),
)
CLAIM = a_claim(
    root_cause="`round()` rounds half to even, so 2.5 cents became 2.",
    changes="`price.total` uses Decimal with ROUND_HALF_UP. One test shows it.",
    test_commands=["pytest tests/test_price.py -q"],
    not_verified="Whether invoices that are already stored should be corrected.",
)
SUSPECTS = (
    Suspect(path="shop/price.py", symbol="total", score=2, first_line=31, last_line=52, why=""),
    Suspect(path="shop/tax.py", symbol="", score=1, first_line=0, last_line=0, why=""),
)
STANDING = Standing(
    caps=caps(),
    spent=Spent(
        attempt=Decimal("0.0123"),
        task=Decimal("0.0123"),
        day=Decimal("0.5"),
        service_day=Decimal("1.25"),
        on="2026-01-02",
    ),
)


def finding(rule: str, what: str, severity: Severity = Severity.WARNING, **changes: object) -> Finding:
    values: dict[str, object] = {
        "rule": rule,
        "path": "tests/test_price.py",
        "line": 12,
        "what": what,
        "why": "A weaker test hides what it was written to show",
        "severity": severity,
        "id": f"{rule}-0123456789abcdef",
    }
    return Finding(**{**values, **changes})  # type: ignore[arg-type]


CHANGE = ProtectedChange(name="e" * 40, paths=(".github/workflows/ci.yml",), patch="-on: push\n+on: [push]\n")
WORD = Allowance(change="e" * 40, by=Actor(id="5", login="mika"), comment_id="9", at=NOW)
WEAKER = finding("RH002", "`test_total` makes 1 assertions, it made 2", Severity.CRITICAL)
BROKEN = finding("RH004", "it does not parse: '(' was never closed", Severity.CRITICAL, path="shop/price.py")


def a_pull(verdict: Verdict = BUG, **changes: object) -> str:
    values: dict[str, object] = {
        "claim": CLAIM,
        "suspects": SUSPECTS,
        "standing": STANDING,
        "receipt": "f" * 64,
        "receipt_url": "https://fixwright.example/console/receipts/" + "f" * 64,
        "prepared": "uv sync --frozen, since uv.lock is there",
    }
    made: PullFacts = facts(verdict=verdict, **{**values, **changes})
    return pull_body(made)


def refusal(*findings: Finding) -> str:
    first = findings[0]
    verdict = replace(
        BUG,
        verified=False,
        summary=f"{first.rule} in {first.path}: {first.what}",
        findings=findings,
        runs=RUNS[:1],
        turned_green=(),
    )
    seen, cost = report.verdict_detail(verdict), Decimal("0.0123")
    is_final = not asked_about(verdict)
    return announce.refused_for_good(seen, cost) if is_final else announce.ending(Reason.GUARD, seen, cost)


UNCHANGED = replace(
    BUG,
    verified=False,
    summary="The agent says that the fault does not show, and changed no code. What it named to show it "
    "passes on the unchanged code, run by the harness.",
    turned_green=(),
    runs=(
        RUNS[0],
        replace(
            RUNS[1],
            name="base + the agent's tests",
            status=RunStatus.PASSED,
            failed=None,
            exit_code=0,
            tail="4 passed",
        ),
    ),
    checks=(
        Check(name="runtime", status=RunStatus.PASSED, what="Python 3.11.2"),
        Check(name="package", status=RunStatus.PASSED, what="shop 1.4.0 (pyproject.toml)"),
    ),
)


def unfinished() -> str:
    failing = replace(RUNS[2], status=RunStatus.FAILED, exit_code=1, passed=40, failed=2, tail="E  2 != 3\n")
    verdict = replace(
        BUG,
        verified=False,
        summary="2 tests that passed before do not now: `t/test_tax.py::test_a`, `t/test_tax.py::test_b`.",
        runs=(*RUNS[:2], failing),
    )
    seen = announce.with_branch(report.verdict_detail(verdict), "fixwright/issue-12")
    return announce.ending(Reason.ATTEMPTS_EXHAUSTED, seen, Decimal("0.0123"))


BUILD = "python3 -m mkdocs build --strict"
UNCOUNTED: dict[str, object] = {"passed": None, "failed": None, "skipped": None}


def docs() -> str:
    verdict = a_verdict(
        summary="Nothing broke: no tests were run. The repository has no tests.",
        runs=(
            a_run("base documentation", RunStatus.FAILED, tree=BASE, command=BUILD, **UNCOUNTED),
            a_run("documentation", RunStatus.FAILED, tree=TREE, command=BUILD, **UNCOUNTED),
        ),
        turned_green=(),
        checks=(
            Check(name="links", status=RunStatus.PASSED, what="of 2 changed documents"),
            Check(name="code blocks", status=RunStatus.PASSED, what="of those edited: 2 json"),
            Check(
                name="documentation build",
                status=RunStatus.COULD_NOT_TELL,
                what="mkdocs.yml is there; the base cannot be built here either: not held against the change",
            ),
            Check(name="this repository's own CI", status=RunStatus.LEFT_TO_CI, what="it is watched"),
        ),
    )
    claim = a_claim(
        root_cause="The README named an old option.", changes="It names the new one.", test_commands=[]
    )
    task = replace(a_task(title="README is out of date"), category=Category.DOCS)
    return a_pull(verdict, task=task, claim=claim, suspects=(), prepared="")


def flaky() -> str:
    names = tuple(f"tests/test_net.py::test_{number}" for number in range(8))
    old = run("base", BASE, 39, 2)
    return a_pull(
        replace(BUG, runs=(old, RUNS[1], run("fixed", TREE, 40, 2), *RUNS[3:]), flaky=names),
        left_out=("build/ (ignored by the repository)",),
        edited=True,
    )


def hostile() -> str:
    claim = a_claim(root_cause=HOSTILE, changes=HOSTILE, test_commands=[HOSTILE], not_verified=HOSTILE)
    runs = tuple(replace(each, command=HOSTILE) for each in RUNS)
    bad = finding(HOSTILE[:40], HOSTILE, path=HOSTILE, why=HOSTILE, allowed_by="mika` @all")
    verdict = replace(
        BUG, summary=HOSTILE, runs=runs, turned_green=(HOSTILE,), findings=(bad,), isolation=HOSTILE
    )
    return a_pull(verdict, claim=claim, model=HOSTILE, left_out=(HOSTILE,), prepared=HOSTILE)


TEXT_OF: dict[str, Callable[[], str]] = {
    "pull-verified-bug": a_pull,
    "pull-docs-task": docs,
    "pull-with-warnings": lambda: a_pull(
        replace(BUG, findings=tuple(finding("RH006", f"a print is left in `f{n}`", line=n) for n in range(9)))
    ),
    "pull-with-allowances": lambda: a_pull(
        replace(BUG, findings=(replace(WEAKER, severity=Severity.WARNING, allowed_by="mika"),)),
        allowed=Allowed(change=CHANGE, word=WORD),
    ),
    "pull-with-flaky-tests": flaky,
    "pull-with-300-tests-turned-green": lambda: a_pull(
        replace(BUG, turned_green=tuple(f"tests/test_price.py::test_case[{n}]" for n in range(300)))
    ),
    "pull-with-hostile-texts": hostile,
    "pull-not-verified": lambda: a_pull(replace(BUG, verified=False, summary="Left to CI: no tests here.")),
    "comment-refused": lambda: refusal(WEAKER, finding("RH006", "a print is left")),
    "comment-refused-for-good": lambda: refusal(BROKEN, WEAKER),
    "comment-unfinished-work": unfinished,
    "comment-protected-paths": lambda: announce.asking(CHANGE, Decimal("0.0123")),
    "comment-finding-allowed": lambda: announce.allowed_finding("mika", WEAKER, left=(), goes_on=True),
    "comment-finding-allowed-others-left": lambda: announce.allowed_finding(
        "mika", WEAKER, left=("RH003-0123456789abcdef",), goes_on=False
    ),
    "comment-unknown-name": lambda: announce.not_allowed(AllowRefusal.NOT_WAITING, WEAKER.id),
    "comment-never": lambda: announce.not_allowed(AllowRefusal.NEVER, ""),
    "comment-review": lambda: report.review_comment(3, "https://forge.example/3", BUG, Decimal("0.0123")),
    "comment-not-reproducible": lambda: announce.ending(
        Reason.NOT_REPRODUCIBLE, announce.nothing_to_change(UNCHANGED, CLAIM), Decimal("0.0123")
    ),
    "comment-unwanted": lambda: report.UNWANTED,
    "comment-unpublished": lambda: announce.ending(
        Reason.UNPUBLISHED,
        announce.plain("The forge or git says: the branch is protected"),
        Decimal("0.0123"),
    ),
    **ANSWERS,
    **REVIEWS,
    **STATUSES,
}


@pytest.mark.parametrize("name", TEXT_OF)
def test_a_text_is_as_it_is_kept(name: str, request: pytest.FixtureRequest) -> None:
    path, now = TEXTS / f"{name}.md", TEXT_OF[name]() + "\n"
    if request.config.getoption("--write-texts"):
        TEXTS.mkdir(exist_ok=True)
        path.write_text(now, encoding="utf-8")
    kept = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = difflib.unified_diff(kept.splitlines(), now.splitlines(), "kept", "now", lineterm="")
    assert kept == now, "read this; where it is right, `make snapshots` keeps it:\n" + "\n".join(lines)


def test_no_text_is_kept_that_nobody_writes() -> None:
    assert {path.stem for path in TEXTS.glob("*")} == set(TEXT_OF)


@pytest.mark.parametrize("name", [name for name in TEXT_OF if "hostile" not in name])
def test_a_text_is_read_in_a_minute(name: str) -> None:
    visible, folds = TEXT_OF[name](), 1
    while folds:
        visible, folds = re.subn(r"<details>(?:(?!<details>).)*?</details>", "", visible, flags=re.DOTALL)
    visible = re.sub(r"`[^`\n]*`", "name", visible)
    words = [word for word in visible.split() if any(map(str.isalnum, word))]
    assert len(words) <= MOST_WORDS


@pytest.mark.parametrize("name", TEXT_OF)
def test_every_fold_and_fence_is_closed_and_every_row_whole(name: str) -> None:
    text = TEXT_OF[name]()
    assert length(text) <= LONGEST_TEXT
    unquoted = re.sub(r"^(`{3,})\w*\n.*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    unquoted = re.sub(r"`[^`\n]*`", "code", unquoted)
    lines = [line for line in unquoted.splitlines() if not line.startswith(">")]
    assert sum("<details" in line for line in lines) == sum("</details>" in line for line in lines)
    bars = {row.replace("\\|", "").count("|") for row in lines if row.startswith("| ")}
    assert bars <= {3, 4, 5, 6}
    assert not re.search(r"(?<![`A-Za-z0-9⁠])@(?:everyone|all)\b", unquoted)
