"""Verification on real git trees and real pytest runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from domain.model import Category, RunStatus, Verdict
from domain.repo_config import RepoConfig, TestSection
from harness.guard.change import Change
from harness.testing.diagnosis import ProblemKind
from harness.verify import VerifiedChange, Verifier
from tests.harness.testing.doubles import GitTrees, PlainSandbox

BUGGY = "def double(x):\n    return x + 2\n\n\ndef triple(x):\n    return x * 3\n"
FIXED = "def double(x):\n    return x * 2\n\n\ndef triple(x):\n    return x * 3\n"
OLD_TESTS = (
    "from calc import double, triple\n\n\n"
    "def test_double_of_two():\n    assert double(2) == 4\n\n\n"
    "def test_triple():\n    assert triple(2) == 6\n"
)
NEW_TEST = "from calc import double\n\n\ndef test_double_of_five():\n    assert double(5) == 10\n"
BASE = {"calc.py": BUGGY, "tests/test_calc.py": OLD_TESTS}


class Bench:
    """A verifier over a base, and the judgement of what an agent made of it."""

    def __init__(
        self,
        directory: Path,
        base: dict[str, str],
        config: RepoConfig | None = None,
        *,
        sandbox: PlainSandbox | None = None,
    ) -> None:
        self.trees = GitTrees(directory)
        self.sandbox = sandbox or PlainSandbox()
        self.verifier = Verifier(self.sandbox, self.trees, self.trees)
        self.base = base
        self.commit = self.trees.commit(base)
        self.baseline = self.verifier.baseline(self.commit, config or RepoConfig())

    def judge(
        self,
        changed: dict[str, str | None],
        category: Category = Category.BUG,
        issue_text: str = "",
    ) -> VerifiedChange | Verdict:
        return self.verifier.verify(self.change(changed), self.baseline, category, issue_text)

    def change(self, changed: dict[str, str | None]) -> Change:
        files = {**self.base, **{path: text for path, text in changed.items() if text is not None}}
        for path, text in changed.items():
            if text is None:
                del files[path]
        return self.verifier.read_change(self.commit, self.trees.tree(files))

    def refused(self, changed: dict[str, str | None], category: Category = Category.BUG) -> Verdict:
        verdict = self.judge(changed, category)
        assert isinstance(verdict, Verdict), verdict.verdict.summary
        assert not verdict.verified
        return verdict

    def verified(
        self, changed: dict[str, str | None], category: Category = Category.BUG, issue_text: str = ""
    ) -> Verdict:
        result = self.judge(changed, category, issue_text)
        assert isinstance(result, VerifiedChange), result
        assert result.change.tree == result.verdict.tree
        return result.verdict


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("bench"), BASE)


def test_a_fix_with_a_red_to_green_test_is_verified(bench: Bench) -> None:
    verdict = bench.verified({"calc.py": FIXED, "tests/test_more.py": NEW_TEST})

    assert verdict.turned_green == ("tests/test_more.py::test_double_of_five",)
    base, red, fixed, *again = verdict.runs
    assert [run.name for run in verdict.runs[:3]] == ["base", "base + new tests", "fixed"]
    assert [run.status for run in verdict.runs[:3]] == [RunStatus.PASSED, RunStatus.FAILED, RunStatus.PASSED]
    assert [run.status for run in again] == [RunStatus.FAILED] * 2 + [RunStatus.PASSED] * 2
    assert (base.passed, red.failed, fixed.passed) == (2, 1, 3)
    assert fixed.tree == verdict.tree and base.tree == bench.baseline.tree
    assert "test_more.py" in red.command
    assert verdict.isolation == "none (test double)"


@pytest.mark.long
def test_nothing_is_left_behind(bench: Bench) -> None:
    bench.verified({"calc.py": FIXED, "tests/test_more.py": NEW_TEST})

    assert bench.sandbox.opened
    assert not any(policy.writable.exists() for policy in bench.sandbox.opened)
    assert not any(policy.scratch.exists() for policy in bench.sandbox.opened)


@pytest.mark.long
def test_a_fix_without_any_test_that_saw_the_fault_is_not_verified(bench: Bench) -> None:
    verdict = bench.refused({"calc.py": FIXED})

    assert "No test fails without the fix" in verdict.summary


@pytest.mark.long
def test_a_new_test_that_passes_on_the_base_proves_nothing(bench: Bench) -> None:
    verdict = bench.refused({"calc.py": FIXED, "tests/test_more.py": NEW_TEST.replace("5) == 10", "2) == 4")})

    assert "do not fail without the fix" in verdict.summary


@pytest.mark.long
def test_a_new_test_that_still_fails_is_not_verified(bench: Bench) -> None:
    verdict = bench.refused({"calc.py": BUGGY + "\n", "tests/test_more.py": NEW_TEST})

    assert "tests/test_more.py::test_double_of_five" in verdict.broken


def test_what_passed_before_may_not_break(bench: Bench) -> None:
    verdict = bench.refused({"calc.py": FIXED.replace("x * 3", "x * 4"), "tests/test_more.py": NEW_TEST})

    assert verdict.broken == ("tests/test_calc.py::test_triple",)


@pytest.mark.long
def test_a_test_red_at_the_base_that_turns_green_is_enough(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {**BASE, "tests/test_more.py": NEW_TEST})
    assert bench.baseline.problem is None
    assert "test_double_of_five" in bench.baseline.failing_output

    verdict = bench.verified({"calc.py": FIXED})

    assert verdict.turned_green == ("tests/test_more.py::test_double_of_five",)


@pytest.mark.long
def test_failures_that_were_there_before_are_listed_and_not_blamed(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {**BASE, "tests/test_old.py": "def test_old():\n    assert 1 == 2\n"})

    verdict = bench.verified({"calc.py": FIXED, "tests/test_more.py": NEW_TEST})

    assert "1 tests fail now that failed before" in verdict.summary


@pytest.mark.long
def test_a_test_of_a_new_function_counts_as_red_and_is_noted(bench: Bench) -> None:
    change: dict[str, str | None] = {
        "calc.py": FIXED + "\n\ndef half(x):\n    return x / 2\n",
        "tests/test_half.py": "from calc import half\n\n\ndef test_half():\n    assert half(4) == 2\n",
    }
    assert "for want of `half`" in bench.refused(change).summary

    verdict = bench.verified(change, issue_text="There is no half() beside double().")

    assert verdict.turned_green == ("tests/test_half.py::test_half",)
    assert "could not even be loaded" in verdict.summary


@pytest.mark.long
def test_a_weakened_test_is_refused_and_it_is_said_what_the_runs_showed(bench: Bench) -> None:
    verdict = bench.refused({"tests/test_calc.py": OLD_TESTS.replace("triple(2) == 6", "triple(2)")})

    assert verdict.findings and "RH002" in verdict.summary and "Besides: The new tests" in verdict.summary


@pytest.mark.long
def test_original_tests_are_run_on_the_fix_when_tests_were_edited(bench: Bench) -> None:
    edited = OLD_TESTS + "\n\ndef test_double_of_five():\n    assert double(5) == 10\n"

    verdict = bench.verified({"calc.py": FIXED, "tests/test_calc.py": edited})

    original = next(run for run in verdict.runs if run.name == "fixed, original tests")
    assert original.passed == 2


@pytest.mark.long
def test_a_renamed_test_is_fine(bench: Bench) -> None:
    edited = OLD_TESTS.replace("test_triple", "test_triple_of_two")

    bench.verified({"calc.py": FIXED, "tests/test_calc.py": edited, "tests/test_more.py": NEW_TEST})


@pytest.mark.long
def test_a_moved_test_file_is_fine(bench: Bench) -> None:
    bench.verified(
        {
            "calc.py": FIXED,
            "tests/test_calc.py": None,
            "tests/unit/test_calculations.py": OLD_TESTS,
            "tests/test_more.py": NEW_TEST,
        }
    )


@pytest.mark.long
def test_an_expectation_may_change_when_the_issue_names_both_values(tmp_path: Path) -> None:
    wrong = OLD_TESTS.replace("triple(2) == 6", "triple(2) == 7")
    base = {"calc.py": FIXED.replace("x * 3", "x * 3 + 1"), "tests/test_calc.py": wrong}
    bench = Bench(tmp_path, base)
    fix: dict[str, str | None] = {"calc.py": FIXED, "tests/test_calc.py": OLD_TESTS}

    verdict = bench.verified(fix, issue_text="triple(2) gives 7, and the test says so too. It must be 6.")
    assert verdict.turned_green == ("tests/test_calc.py::test_triple",)

    bench.refused(fix)


@pytest.mark.long
def test_tests_in_an_ignored_directory_cannot_hide(bench: Bench) -> None:
    """A fix that needs a file which is not part of the tree fails on the tree that would be published."""
    verdict = bench.refused(
        {
            "calc.py": "from build.helper import double\n" + FIXED.split("\n\n\n")[1],
            "tests/test_more.py": NEW_TEST,
        }
    )

    assert "could not run" in verdict.summary


@pytest.mark.long
def test_a_flaky_test_is_not_blamed_on_the_change(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    flaky = (
        "from pathlib import Path\n\n\ndef test_flaky():\n"
        f"    counter = Path({str(counter)!r})\n"
        "    count = int(counter.read_text()) if counter.exists() else 0\n"
        "    counter.write_text(str(count + 1))\n"
        "    assert count == 0\n"
    )
    bench = Bench(tmp_path, {**BASE, "tests/test_flaky.py": flaky})

    verdict = bench.verified({"calc.py": FIXED, "tests/test_more.py": NEW_TEST})

    assert "Flaky" in verdict.summary and "test_flaky" in verdict.summary


@pytest.mark.long
def test_a_broken_environment_is_told_apart(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {**BASE, "tests/test_calc.py": "import numpy_is_not_here\n" + OLD_TESTS})

    assert bench.baseline.problem is not None
    assert bench.baseline.problem.kind is ProblemKind.IMPORT
    assert "numpy_is_not_here" in bench.baseline.problem.what
    assert "environment" in bench.refused({"calc.py": FIXED, "tests/test_more.py": NEW_TEST}).summary


@pytest.mark.long
def test_the_first_tests_of_a_repository_can_show_a_bug(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"calc.py": BUGGY})
    assert bench.baseline.problem is not None and bench.baseline.problem.kind is ProblemKind.NO_TESTS

    verdict = bench.verified({"calc.py": FIXED, "tests/test_more.py": NEW_TEST})
    assert verdict.turned_green == ("tests/test_more.py::test_double_of_five",)

    assert "brings none" in bench.refused({"calc.py": FIXED}).summary


@pytest.mark.long
def test_a_chore_needs_a_suite_that_stays_whole(tmp_path: Path) -> None:
    bench = Bench(tmp_path, BASE)
    bench.verified({"calc.py": BUGGY.replace("x + 2", "2 + x")}, Category.CHORE)
    bench.refused({"calc.py": BUGGY.replace("x * 3", "x * 4")}, Category.CHORE)
    bench.refused({}, Category.CHORE)


@pytest.mark.long
def test_documentation_may_change_documentation_only(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {**BASE, "README.md": "old\n"})
    bench.verified({"README.md": "new\n"}, Category.DOCS)
    bench.verified({"calc.py": BUGGY.replace("x):\n", 'x):\n    """Say."""\n', 1)}, Category.DOCS)
    verdict = bench.refused({"calc.py": FIXED}, Category.DOCS)
    assert verdict.findings[0].rule == "RH007"


@pytest.mark.long
def test_documentation_without_any_tests_is_verified_and_says_so(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"README.md": "old\n"})

    assert "no tests" in bench.verified({"README.md": "new\n"}, Category.DOCS).summary


def test_a_command_that_hides_its_status_is_never_run(tmp_path: Path) -> None:
    bench = Bench(tmp_path, BASE, RepoConfig(test=TestSection(command="pytest || true")))

    assert not bench.sandbox.opened
    assert bench.baseline.run is not None and bench.baseline.run.status is RunStatus.NOT_EVIDENCE
    assert "pytest || true" in bench.refused({"calc.py": FIXED, "tests/test_more.py": NEW_TEST}).summary
    assert bench.baseline.problem is not None and bench.baseline.problem.kind is ProblemKind.NOT_EVIDENCE


@pytest.mark.long
def test_a_test_that_cuts_the_run_short_cannot_pass(bench: Bench) -> None:
    sneaky = (
        "import sys\n\n\ndef test_nothing():\n"
        "    path = [a for a in sys.argv if 'results' in a][0].split('=', 1)[1]\n"
        "    open(path, 'w').write('<testsuite><testcase name=\"test_x\"/></testsuite>')\n"
        "    getattr(__import__('os'), '_ex' + 'it')(0)\n"
    )

    verdict = bench.refused({"calc.py": FIXED, "tests/test_m.py": sneaky})

    assert RunStatus.COULD_NOT_TELL in {run.status for run in verdict.runs}


@pytest.mark.long
def test_a_verified_change_cannot_be_made_by_hand(bench: Bench) -> None:
    verdict = bench.verified({"calc.py": FIXED, "tests/test_more.py": NEW_TEST})
    change = bench.verifier.read_change(bench.commit, verdict.tree)

    with pytest.raises(TypeError, match="made by verification only"):
        VerifiedChange(change, verdict)
    with pytest.raises(TypeError):
        VerifiedChange(change, verdict, seal=object())


def test_a_baseline_of_another_commit_is_a_programming_error(bench: Bench) -> None:
    other = bench.trees.commit({"calc.py": FIXED})
    change = bench.verifier.read_change(other, bench.trees.tree(BASE))

    with pytest.raises(ValueError, match="another commit"):
        bench.verifier.verify(change, bench.baseline, Category.BUG)
