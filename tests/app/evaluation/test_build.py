"""`fixwright eval build` on a history with a fix, a feature, a refactoring, and tests that show nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.evaluation import lines
from app.evaluation.build import build
from app.evaluation.candidates import Candidate, candidate, speaks_of_a_bug
from app.evaluation.candidates import history as commits_of
from app.evaluation.gold import names_a_file, touched_definitions
from app.evaluation.walks import Walk
from domain.errors import ConfigurationError
from harness.git import GitRunner, Mirror
from harness.git.borrowed import looking_at
from tests.app.evaluation.history import HALF, SOURCE, STEPS, TEST, make_history, order
from tests.harness.git_world import person


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return make_history(tmp_path / "calc")


@pytest.fixture(autouse=True)
def own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIXWRIGHT_DATA_DIR", str(tmp_path / "data"))


@pytest.mark.long
def test_a_fix_becomes_a_case_and_every_other_commit_says_why_not(history: Path) -> None:
    said = build(order(history), as_json=False)

    (case,) = lines.read(history.parent / "cases" / "cases.jsonl")
    assert case["gold_files"] == ["calc.py"] and case["gold_functions"] == ["calc.py:half"]
    assert case["fail_to_pass"] == ["test_calc.py::test_half"]
    assert case["pass_to_pass"] == ["test_calc.py::test_twice"]
    assert str(case["problem_statement"]).startswith("Fix half of odd numbers")
    assert case["flags"] == {"names_gold_file": True, "text_is_of_the_fix": True}
    judged = {
        str(each["subject"]): each["why"] for each in lines.read(history.parent / "cases" / "judged.jsonl")
    }
    assert judged == {
        "First": "its message speaks of no bug",
        "Fix half of odd numbers (#12)": "",
        "Add thrice": "its message speaks of no bug",
        "Fix typo": "changes no source that was there",
        "Fix nothing that a test shows": "not red with the bug",
        "Fix it badly": "not green with the fix",
    }
    assert said.startswith("6 commits looked at, 1 cases in ") and "1  dropped: not red with the bug" in said


@pytest.mark.long
def test_a_case_stands_by_itself_and_knows_nothing_of_the_fix(history: Path) -> None:
    build(order(history), as_json=False)
    history.rename(history.with_name("gone"))

    (case,) = lines.read(history.parent / "cases" / "cases.jsonl")
    mirror = Mirror(history.parent / "cases" / "repository.git", GitRunner(history.parent / "home"))
    sha = str(case["bug_commit"])
    texts = {path: mirror.read_file(sha, path) for path in mirror.list_files(sha)}

    assert texts == {
        "calc.py": SOURCE.encode(),
        "test_calc.py": (TEST + HALF).encode(),
        "CHANGES.md": b"none\n",
    }
    assert mirror.log("", sha)[0].parents == ()


@pytest.mark.long
def test_it_goes_on_where_it_was(history: Path) -> None:
    first = json.loads(build(order(history), as_json=True))
    with (history.parent / "cases" / "judged.jsonl").open("ab") as judged:
        judged.write(b'{"commit": "cut of')

    again = json.loads(build(order(history), as_json=True))

    assert again == first and len(lines.read(history.parent / "cases" / "cases.jsonl")) == 1
    assert len(lines.read(history.parent / "cases" / "judged.jsonl")) == len(STEPS)


@pytest.mark.long
def test_what_cannot_be_built_from_is_named(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    with pytest.raises(ConfigurationError, match="it is no git repository"):
        build(order(tmp_path / "plain"), as_json=False)
    with pytest.raises(ConfigurationError, match="is no directory"):
        build(order(tmp_path / "absent"), as_json=False)
    person("init", "-q", ".", at=tmp_path / "plain")
    with pytest.raises(ConfigurationError, match="no commit is known as 'HEAD'"):
        build(order(tmp_path / "plain"), as_json=False)


@pytest.mark.long
def test_a_merged_branch_is_one_step(history: Path) -> None:
    person("checkout", "-q", "-b", "topic", at=history)
    for number in range(2):
        (history / f"part_{number}.py").write_text("x = 1\n")
        person("add", "-A", at=history)
        person("commit", "-q", "-m", f"part {number}", at=history)
    person("checkout", "-q", "main", at=history)
    person("merge", "-q", "--no-ff", "-m", "Merge topic: fixes a crash", "topic", at=history)

    with looking_at(history) as checkout:
        newest, *rest = commits_of(checkout.mirror, checkout.commit("HEAD"), 50, Walk.MAIN)

        assert newest.subject == "Merge topic: fixes a crash" and len(rest) == len(STEPS)
        assert candidate(checkout.mirror, newest) == "changes no source that was there"
        singly = commits_of(checkout.mirror, checkout.commit("HEAD"), 50, Walk.ALL)
        assert {"part 0", "part 1"} == {commit.subject for commit in singly} - {
            commit.subject for commit in rest
        }
        fix = next(commit for commit in rest if commit.subject.startswith("Fix half"))
        assert candidate(checkout.mirror, fix) == Candidate(
            commit=fix, sources=("calc.py",), tests=("test_calc.py",), test_files=("test_calc.py",)
        )


@pytest.mark.parametrize(
    ("message", "is_fix"),
    [
        ("Fix crash on empty input", True),
        ("Handle None in parser", True),
        ("parser: resolve #123", True),
        ("TypeError when called twice", True),
        ("Add a new command", False),
        ("docs: fix links", False),
        ("Bump version to fix release", False),
        ("Prefixes and suffixes", False),
    ],
)
def test_messages(message: str, is_fix: bool) -> None:
    assert speaks_of_a_bug(message) is is_fix


def test_definitions_that_a_change_touched() -> None:
    before = "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n\nx = 1\n"

    assert touched_definitions("a.py", before, before.replace("return 2", "return 3")) == ("a.py:A.g",)
    assert touched_definitions("a.py", before, before.replace("x = 1", "x = 2")) == ()
    assert touched_definitions("a.py", before, before) == ()


def test_reports_that_name_a_file() -> None:
    assert names_a_file("see src/shop/cart.py", ["src/shop/cart.py"])
    assert names_a_file("shop.cart.total is wrong", ["src/shop/cart.py"])
    assert not names_a_file("the cart is wrong", ["src/shop/cart.py"])
    assert not names_a_file("mycart.py is wrong", ["src/shop/cart.py"])
