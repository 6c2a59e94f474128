"""What verification makes of tests that were edited, do not load, hang, or were known to fail."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from domain.allowing import Allowance, asked_about
from domain.model import Actor, Category, RunStatus, Severity, TestRun
from harness.guard.tolerance import FAILS_AS_IT_WAS
from harness.testing.cases import Case, CaseOutcome, Observed
from harness.testing.compare import turned_green
from harness.testing.diagnosis import ProblemKind
from harness.verify import VerifiedChange
from tests.harness.test_verify import BASE, BUGGY, FIXED, NEW_TEST, OLD_TESTS, Bench

TWO_OF_TWO = "import pytest\nfrom calc import double\n\n\ndef test_double():\n    assert double(2) == 4\n"


@pytest.mark.long
def test_an_edited_test_is_fine_where_its_original_text_passes_with_the_fix_too(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"calc.py": BUGGY, "tests/test_calc.py": TWO_OF_TWO})

    verdict = bench.verified(
        {"calc.py": FIXED, "tests/test_calc.py": TWO_OF_TWO.replace("double(2) == 4", "double(7) == 14")}
    )

    assert verdict.turned_green == ("tests/test_calc.py::test_double",)
    (finding,) = verdict.findings
    assert (finding.rule, finding.severity) == ("RH002", Severity.WARNING)
    assert "as it was, it passes" in finding.what


@pytest.mark.long
def test_an_edited_test_is_refused_where_the_fix_needs_the_edit(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"calc.py": BUGGY, "tests/test_calc.py": TWO_OF_TWO})

    verdict = bench.refused(
        {
            "calc.py": BUGGY.replace("x + 2", "x * 3"),
            "tests/test_calc.py": TWO_OF_TWO.replace("double(2) == 4", "double(2) == 6"),
        }
    )

    assert verdict.findings[0].severity is Severity.CRITICAL


@pytest.mark.long
def test_an_edited_test_that_failed_before_stays_refused(tmp_path: Path) -> None:
    failing = OLD_TESTS.replace("triple(2) == 6", "triple(2) == 8")
    bench = Bench(tmp_path, {"calc.py": BUGGY, "tests/test_calc.py": failing})

    verdict = bench.refused(
        {"calc.py": FIXED, "tests/test_calc.py": OLD_TESTS, "tests/test_more.py": NEW_TEST}
    )

    assert verdict.findings[0].severity is Severity.CRITICAL


@pytest.mark.long
def test_a_dropped_expectation_is_refused_though_its_original_text_passes(tmp_path: Path) -> None:
    """Nothing came in its place, and the edited test does not show the fault: it need not ask for less."""
    two = TWO_OF_TWO.replace("def test", "@pytest.mark.parametrize('x', [2, 0])\ndef test").replace(
        "()", "(x)"
    )
    two = two.replace("double(2) == 4", "double(x) >= 2 * x")
    bench = Bench(tmp_path, {"calc.py": BUGGY, "tests/test_calc.py": two})

    verdict = bench.refused(
        {"calc.py": FIXED, "tests/test_calc.py": two.replace("[2, 0]", "[2]"), "tests/test_more.py": NEW_TEST}
    )

    assert "it need not ask for less" in verdict.findings[0].what


THREE = (
    "import pytest\nfrom calc import double, triple\n\n\ndef test_both():\n"
    "    assert double(2) == 4\n    assert triple(1) == 3\n    assert triple(2) == 6\n"
)


@pytest.mark.long
def test_a_test_that_was_rewritten_to_show_the_fault_may_assert_less_often(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"calc.py": BUGGY, "tests/test_calc.py": THREE})
    rewritten = (
        THREE[: THREE.index("    assert")] + "    assert (double(5), triple(1), triple(2)) == (10, 3, 6)\n"
    )

    verdict = bench.verified({"calc.py": FIXED, "tests/test_calc.py": rewritten})

    assert verdict.turned_green == ("tests/test_calc.py::test_both",)
    assert {finding.severity for finding in verdict.findings} == {Severity.WARNING}
    assert any("it shows the fault now" in finding.what for finding in verdict.findings)


@pytest.mark.long
def test_a_test_that_was_rewritten_to_hide_a_regression_is_refused(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"calc.py": BUGGY, "tests/test_calc.py": THREE})
    rewritten = THREE[: THREE.index("    assert")] + "    assert double(5) == 10\n"

    verdict = bench.refused({"calc.py": FIXED.replace("x * 3", "x * 4"), "tests/test_calc.py": rewritten})

    assert verdict.findings[0].severity is Severity.CRITICAL
    assert FAILS_AS_IT_WAS in verdict.summary


@pytest.mark.long
def test_a_weakening_beside_a_proper_fix_is_refused(tmp_path: Path) -> None:
    """The fault is shown by another test, so nothing calls for this one to assert less often."""
    bench = Bench(tmp_path, {"calc.py": BUGGY, "tests/test_calc.py": THREE})
    weaker = THREE.replace("    assert triple(2) == 6\n", "")

    verdict = bench.refused({"calc.py": FIXED, "tests/test_calc.py": weaker, "tests/test_more.py": NEW_TEST})

    assert "it need not ask for less" in verdict.summary


@pytest.mark.long
@pytest.mark.parametrize(
    ("fix", "said"),
    [(FIXED, "it can stay"), (FIXED.replace("x * 3", "x * 4"), FAILS_AS_IT_WAS)],
)
def test_a_test_that_was_removed_is_refused_and_it_is_said_how_it_does(
    tmp_path: Path, fix: str, said: str
) -> None:
    bench = Bench(tmp_path, BASE)
    without = OLD_TESTS[: OLD_TESTS.index("def test_triple")] + NEW_TEST[NEW_TEST.index("def") :]

    verdict = bench.refused({"calc.py": fix, "tests/test_calc.py": without})

    assert "the test `test_triple` is removed" in verdict.summary and said in verdict.summary


@pytest.mark.long
def test_a_corrected_expectation_is_verified_once_a_maintainer_allows_it(tmp_path: Path) -> None:
    wrong = THREE.replace("double(2) == 4", "double(5) == 7")
    bench = Bench(tmp_path, {"calc.py": BUGGY, "tests/test_calc.py": wrong})
    changed: dict[str, str | None] = {
        "calc.py": FIXED,
        "tests/test_calc.py": wrong.replace("double(5) == 7", "double(5) == 10"),
    }

    asking = bench.refused(changed)
    assert FAILS_AS_IT_WAS in asking.summary
    word = partial(Allowance, by=Actor(id="1", login="maintainer"), comment_id="1", at=datetime.now(UTC))
    change = replace(bench.change(changed), words=tuple(word(change=name) for name in asked_about(asking)))
    allowed = bench.verifier.verify(change, bench.baseline, Category.BUG)

    assert isinstance(allowed, VerifiedChange)
    assert [finding.allowed_by for finding in allowed.verdict.findings] == ["maintainer"]


@pytest.mark.long
def test_a_test_file_that_never_loads_here_is_the_environment_s_fault(tmp_path: Path) -> None:
    lacking = "import not_installed_here\n" + NEW_TEST
    bench = Bench(tmp_path, {**BASE, "tests/test_more.py": lacking})
    assert bench.baseline.problem is None

    verdict = bench.refused(
        {
            "calc.py": FIXED,
            "tests/test_more.py": lacking + "\n\ndef test_six():\n    assert double(6) == 12\n",
        }
    )

    assert verdict.environment
    assert "tests/test_more.py" in verdict.summary and "`not_installed_here`" in verdict.summary


@pytest.mark.long
def test_a_new_test_file_that_does_not_load_is_the_change_s_fault(tmp_path: Path) -> None:
    bench = Bench(tmp_path, BASE)

    verdict = bench.refused(
        {"calc.py": FIXED, "tests/test_more.py": "import not_installed_here\n" + NEW_TEST}
    )

    assert not verdict.environment


@pytest.mark.long
def test_most_test_files_that_do_not_load_are_a_broken_environment(tmp_path: Path) -> None:
    lacking = {f"tests/test_{name}.py": "import not_installed_here\n" + NEW_TEST for name in ("a", "b")}
    bench = Bench(tmp_path, {**BASE, **lacking})

    assert bench.baseline.problem is not None
    assert bench.baseline.problem.kind is ProblemKind.IMPORT
    assert "2 of 3 test files" in bench.baseline.problem.what
    assert "`not_installed_here`" in bench.baseline.problem.what


@pytest.mark.long
def test_a_test_that_was_expected_to_fail_may_go_with_the_fault(tmp_path: Path) -> None:
    known = TWO_OF_TWO + "\n\n@pytest.mark.xfail\ndef test_known_fault():\n    assert double(5) == 10\n"
    bench = Bench(tmp_path, {"calc.py": BUGGY, "tests/test_calc.py": known})
    mended = (
        TWO_OF_TWO + "\n\n@pytest.mark.parametrize('x', [3, 5])\ndef test_all(x):\n    total = [x, x]\n"
        "    total.append(0)\n    assert sum(total) == double(x)\n"
    )

    verdict = bench.verified({"calc.py": FIXED, "tests/test_calc.py": mended})

    assert [finding.severity for finding in verdict.findings] == [Severity.WARNING]


def _made(directory: Path) -> Path:
    directory.mkdir()
    return directory


@pytest.mark.long
def test_a_new_test_that_passes_by_chance_is_no_proof(tmp_path: Path) -> None:
    """It fails the first time that it is run and passes ever after, whatever the code does."""
    mark = tmp_path / "mark"
    chance = (
        "from pathlib import Path\n\n\ndef test_chance():\n"
        f"    mark = Path({str(mark)!r})\n    seen = mark.exists()\n    mark.touch()\n    assert seen\n"
    )

    verdict = Bench(_made(tmp_path / "bench"), BASE).refused(
        {"calc.py": FIXED, "tests/test_chance.py": chance}
    )

    assert "Flaky" in verdict.summary and "test_chance" in verdict.summary


@pytest.mark.long
def test_a_test_that_only_sees_what_is_new_shows_no_fault(tmp_path: Path) -> None:
    verdict = Bench(tmp_path, BASE).refused(
        {
            "calc.py": BUGGY + "\n\nANSWER = 42\n",
            "tests/test_calc.py": OLD_TESTS
            + "\n\ndef test_answer():\n    import calc\n\n    assert calc.ANSWER == 42\n",
        }
    )

    assert "for want of `ANSWER`" in verdict.summary


# -- hangs ------------------------------------------------------------------------------------------


def observed(status: RunStatus, seconds: float, *passed: str) -> Observed:
    """Return a run in which these tests of tests/test_a.py passed, and no other was reported."""
    cases = {
        f"tests/test_a.py::{name}": Case(
            id=f"tests/test_a.py::{name}", file="tests/test_a.py", name=name, outcome=CaseOutcome.PASSED
        )
        for name in passed
    }
    run = TestRun(
        name="x",
        command="x",
        tree="x",
        status=status,
        exit_code=0,
        seconds=seconds,
        passed=len(cases),
        failed=0,
        skipped=0,
        passed_ids=frozenset(cases),
    )
    return Observed(run=run, cases=cases, output="")


def test_a_hang_on_the_base_shows_the_fault() -> None:
    base, hung = observed(RunStatus.PASSED, 1, "test_old"), observed(RunStatus.TIMED_OUT, 20)
    fixed = observed(RunStatus.PASSED, 1, "test_old", "test_new")

    greened = turned_green(baseline=base, with_tests=hung, fixed=fixed, touched=["tests/test_a.py"])

    assert greened.tests == ("tests/test_a.py::test_new",)
    assert greened.unfinished


def test_slowness_is_no_hang() -> None:
    base, hung = observed(RunStatus.PASSED, 15, "test_old"), observed(RunStatus.TIMED_OUT, 20)
    fixed = observed(RunStatus.PASSED, 15, "test_old", "test_new")

    greened = turned_green(baseline=base, with_tests=hung, fixed=fixed, touched=["tests/test_a.py"])

    assert greened.tests == ()


def test_tests_elsewhere_were_not_shown_by_a_hang() -> None:
    base, hung = observed(RunStatus.PASSED, 1, "test_old"), observed(RunStatus.TIMED_OUT, 20)
    fixed = observed(RunStatus.PASSED, 1, "test_old", "test_new")

    greened = turned_green(baseline=base, with_tests=hung, fixed=fixed, touched=["tests/test_b.py"])

    assert greened.tests == () and not greened.unfinished
