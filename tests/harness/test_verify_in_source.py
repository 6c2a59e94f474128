"""The three runs where tests stand inside of sources: with the real cargo, and with pytest's doctests."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from domain.model import Category, Severity, Verdict
from domain.repo_config import RepoConfig, TestSection
from harness.verify import VerifiedChange, Verifier
from tests.harness.testing.doubles import PATH, GitTrees, PlainSandbox

SEARCH = f"{PATH}:{Path.home()}/.cargo/bin"
CARGO = '[package]\nname = "lamp"\nversion = "0.1.0"\nedition = "2021"\n'
LIB = """pub mod inner;

/// Three times.
///
/// ```
/// assert_eq!(lamp::thrice(2), 6);
/// ```
pub fn thrice(x: i32) -> i32 {
    x * 3
}
"""
INNER = """pub fn half(x: i32) -> i32 {
    x / 3
}

pub fn sum(x: i32, y: i32) -> i32 {
    x + y
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one() {
        assert_eq!(half(1), 0);
    }

    #[test]
    fn sums() {
        assert_eq!(sum(1, 2), 3);
    }
}
"""
RUST = {"Cargo.toml": CARGO, "src/lib.rs": LIB, "src/inner.rs": INNER}
FIXED = INNER.replace("x / 3", "x / 2")
FOUR = "\n    #[test]\n    fn four() {\n        assert_eq!(half(4), 2);\n    }\n}\n"
HELPED = "\n    #[test]\n    fn helped() {\n        assert_eq!(by(4, 2), 2);\n    }\n}\n"
HELPER = "fn by(x: i32, y: i32) -> i32 {\n    x / y\n}\n\n"
LAMP = 'def half(x):\n    """Halve.\n\n    >>> half(0)\n    0\n    """\n    return x // 3\n'


def with_test(text: str, test: str) -> str:
    return text.rstrip().removesuffix("}").rstrip() + "\n" + test


def judge(
    directory: Path, base: dict[str, str], changed: dict[str, str], section: TestSection | None = None
) -> VerifiedChange | Verdict:
    trees = GitTrees(directory)
    verifier = Verifier(PlainSandbox(SEARCH), trees, trees)
    commit = trees.commit(base)
    env = {"RUSTUP_HOME": str(Path.home() / ".rustup"), "CARGO_HOME": str(Path.home() / ".cargo")}
    baseline = verifier.baseline(commit, RepoConfig(test=section or TestSection(env=env)))
    assert baseline.problem is None, baseline
    change = verifier.read_change(commit, trees.tree({**base, **changed}))
    return verifier.verify(change, baseline, Category.BUG)


def rust(directory: Path, **changed: str) -> VerifiedChange | Verdict:
    if shutil.which("cargo", path=SEARCH) is None:
        pytest.skip("cargo is not installed")
    return judge(directory, RUST, {f"src/{name}.rs": text for name, text in changed.items()})


@pytest.mark.long
@pytest.mark.parametrize(
    "inner",
    [
        with_test(FIXED, FOUR),
        with_test(FIXED.replace("half(1), 0", "half(2), 1"), FOUR),
        with_test(with_test(HELPER + INNER.replace("x / 3", "by(x, 2)"), FOUR), HELPED),
    ],
    ids=["a test more", "one rewritten, too", "one for a new helper, too"],
)
def test_a_fix_that_a_test_beside_it_has_seen_is_verified(tmp_path: Path, inner: str) -> None:
    result = rust(tmp_path, inner=inner, lib="// A line more.\n" + LIB)

    assert isinstance(result, VerifiedChange), result
    assert "src/lib.rs::inner::tests::four" in result.verdict.turned_green
    assert [run.name for run in result.verdict.runs].count("fixed, original tests") == 1


@pytest.mark.long
@pytest.mark.parametrize(
    ("inner", "said"),
    [
        (FIXED, "No test fails without the fix"),
        (with_test(INNER, FOUR.replace("half(4), 2", "half(4), 1")), "do not fail without the fix"),
        (
            with_test(FIXED.replace("x + y", "x - y").replace("sum(1, 2), 3", "sum(1, 2), -1"), FOUR),
            "no longer expects",
        ),
        (with_test(FIXED.replace("x + y", "x - y"), FOUR), "passed before do not now"),
        (
            with_test(FIXED, FOUR).replace("#[test]\n    fn sums", "#[test]\n    #[ignore]\n    fn sums"),
            "skipped",
        ),
        (with_test(with_test(HELPER + INNER, HELPED), "    // nothing\n}\n"), "`by`"),
        (
            with_test(INNER, FOUR)
            .replace("pub fn half", "mod wrong {\n    pub fn half")
            .replace(
                "3\n}\n",
                "3\n}\n}\npub use wrong::*;\n#[cfg(test)]\npub fn half(x: i32) -> i32 {\n    x / 2\n}\n",
            ),
            "when it is tested",
        ),
        (with_test(INNER.replace("x / 3", "if cfg!(test) { x / 2 } else { x / 3 }"), FOUR), "cfg!(test)"),
    ],
    ids=[
        "no test",
        "empty test",
        "other literal",
        "regression",
        "ignored",
        "only novelty",
        "stand-in",
        "cfg!",
    ],
)
def test_a_cheat_beside_the_source_is_not(tmp_path: Path, inner: str, said: str) -> None:
    result = rust(tmp_path, inner=inner)

    assert isinstance(result, Verdict) and not result.verified
    assert said in result.summary


@pytest.mark.long
def test_examples_in_docstrings_are_tests_where_the_suite_runs_them(tmp_path: Path) -> None:
    section = TestSection(command="python -m pytest --doctest-modules")
    fixed = LAMP.replace("x // 3", "x // 2").replace("    0\n", "    0\n    >>> half(4)\n    2\n")
    result = judge(tmp_path, {"lamp.py": LAMP}, {"lamp.py": fixed}, section)

    assert isinstance(result, VerifiedChange), result
    assert result.verdict.turned_green == ("lamp.py::lamp.half",)


@pytest.mark.long
def test_an_example_made_to_fit_is_not_believed(tmp_path: Path) -> None:
    section = TestSection(command="python -m pytest --doctest-modules")
    wrong = LAMP.replace("x // 3", "x // 2 + 1").replace("    0\n", "    1\n")
    result = judge(tmp_path, {"lamp.py": LAMP}, {"lamp.py": wrong}, section)

    assert isinstance(result, Verdict) and "as it was, `lamp.py::lamp.half` fails" in result.summary
    assert [finding.severity for finding in result.findings] == [Severity.CRITICAL]
