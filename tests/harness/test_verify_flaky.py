"""Tests that vary on the same code, and a place that stops working: no proof for or against a change."""

from __future__ import annotations

from pathlib import Path

import pytest

from domain.model import Category, Verdict
from domain.repo_config import RepoConfig, TestSection
from tests.harness.test_verify import BASE, FIXED, NEW_TEST, Bench


def varying(counter: Path, fails: str, name: str = "test_varies") -> str:
    """Return a test that fails where `fails`, an expression over how often it ran before, holds."""
    return (
        f"from pathlib import Path\nfrom calc import double\n\n\ndef {name}():\n"
        f"    counter = Path({str(counter)!r})\n"
        "    count = int(counter.read_text()) if counter.exists() else 0\n"
        "    counter.write_text(str(count + 1))\n"
        f"    assert not ({fails})\n"
    )


@pytest.mark.long
def test_a_new_test_that_varies_on_the_base_declines_the_job(tmp_path: Path) -> None:
    bench = Bench(tmp_path, BASE)
    test = varying(tmp_path / "count", "count in (0, 2)")

    verdict = bench.refused({"calc.py": FIXED, "tests/test_more.py": test})

    assert verdict.flaky_baseline
    assert verdict.flaky == ("tests/test_more.py::test_varies",)
    assert "very same base" in verdict.summary
    again = [run for run in verdict.runs if run.name == "base + new tests, again"]
    assert len(again) == 2


@pytest.mark.long
def test_a_new_test_that_varies_on_the_fix_alone_is_the_changes_own(tmp_path: Path) -> None:
    bench = Bench(tmp_path, BASE)
    test = varying(tmp_path / "count", "double(5) != 10 or count == 5")

    verdict = bench.refused({"calc.py": FIXED, "tests/test_more.py": test})

    assert not verdict.flaky_baseline
    assert "same fixed code" in verdict.summary


@pytest.mark.long
def test_a_steady_test_beside_a_varying_one_is_enough(tmp_path: Path) -> None:
    bench = Bench(tmp_path, BASE)
    both = varying(tmp_path / "count", "count in (0, 2)") + NEW_TEST.split("\n", 1)[1]

    verdict = bench.verified({"calc.py": FIXED, "tests/test_more.py": both})

    assert verdict.turned_green == ("tests/test_more.py::test_double_of_five",)
    assert verdict.flaky == ("tests/test_more.py::test_varies",)
    assert "left out" in verdict.summary


@pytest.mark.long
def test_a_baseline_test_that_varies_is_no_proof_either(tmp_path: Path) -> None:
    flaky = varying(tmp_path / "count", "count in (0, 2)")
    bench = Bench(tmp_path, {**BASE, "tests/test_old.py": flaky})

    verdict = bench.refused({"calc.py": FIXED.replace("x * 2", "x + 2  # ")})

    assert verdict.flaky_baseline and verdict.flaky == ("tests/test_old.py::test_varies",)


@pytest.mark.long
def test_what_the_repository_lists_as_flaky_decides_nothing(tmp_path: Path) -> None:
    config = RepoConfig(test=TestSection(flaky=["tests/test_old.py::*"]))
    flaky = varying(tmp_path / "count", "count == 1")
    bench = Bench(tmp_path, {**BASE, "tests/test_old.py": flaky}, config)

    verdict = bench.verified({"calc.py": FIXED, "tests/test_more.py": NEW_TEST})
    assert verdict.flaky == ("tests/test_old.py::test_varies",)
    assert "base, again" not in {run.name for run in verdict.runs}

    config = RepoConfig(test=TestSection(flaky=["*test_more*"]))
    bench = Bench(tmp_path / "second", BASE, config)
    verdict = bench.refused({"calc.py": FIXED, "tests/test_more.py": NEW_TEST})
    assert "do not fail without the fix" in verdict.summary


@pytest.mark.long
def test_a_failure_that_is_steady_is_blamed_after_three_looks_at_the_base(tmp_path: Path) -> None:
    bench = Bench(tmp_path, BASE)

    verdict = bench.refused({"calc.py": FIXED.replace("x * 3", "x * 4"), "tests/test_more.py": NEW_TEST})

    assert verdict.broken == ("tests/test_calc.py::test_triple",)
    again = [run for run in verdict.runs if run.name == "base, again"]
    assert len(again) == 2 and all("tests/test_calc.py" in run.command for run in again)


@pytest.mark.parametrize("breaks", [True, False])
def test_a_place_that_stops_working_is_told_from_a_change_that_breaks_it(
    tmp_path: Path, breaks: bool
) -> None:
    (tmp_path / "place").mkdir()
    marker = tmp_path / "place" / "full"
    script = f"if [ -e {marker} ] || [ -e broken ]; then echo 'write: No space left on device'; exit 1; fi\n"
    base = {**BASE, "t.sh": script + "echo 'Tests: 4 passed, 4 total'\n"}
    bench = Bench(tmp_path, base, RepoConfig(test=TestSection(command="bash t.sh")))
    assert bench.baseline.problem is None
    if not breaks:
        marker.write_text("")

    verdict = bench.judge({"calc.py": FIXED, **({"broken": "x"} if breaks else {})}, Category.CHORE)

    assert isinstance(verdict, Verdict)
    assert verdict.environment is not breaks
    assert ("does no better" in verdict.summary) is not breaks


@pytest.mark.long
def test_a_run_says_when_it_began_and_how_it_was_isolated(tmp_path: Path) -> None:
    run = Bench(tmp_path, BASE).baseline.run

    assert run is not None and run.at is not None and run.at.tzinfo is not None
    assert run.isolation == "none (test double)"
    assert not run.timed_out and not run.reused
