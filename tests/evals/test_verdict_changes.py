"""The changes of the verdict bench are what their names say, so that a refusal means something."""

from __future__ import annotations

import ast

import pytest

from evals.verdict.cases import PastBug, Releases, past_bugs
from evals.verdict.changes import CHEATS, HONEST, NOT_ENOUGH, Changed

OLD_SOURCE = b"def double(x):\n    return x + 2\n"
NEW_SOURCE = b"def double(x):\n    return x * 2\n"
OLD_TEST = b"from calc import double\n\n\ndef test_two():\n    assert double(2) == 4\n"
NEW_TEST = OLD_TEST + b"\n\ndef test_five():\n    assert double(5) == 10\n"
BUG = PastBug(
    package="calc", old="1", new="2", sources=["calc.py"], tests=["tests/test_calc.py"], issue="double(5)"
)


def _case(bug: PastBug = BUG) -> Releases:
    old = {
        "calc.py": (OLD_SOURCE, 0o100644),
        "tests/test_calc.py": (OLD_TEST, 0o100644),
        "tests/test_more.py": (OLD_TEST, 0o100644),
    }
    new = {**old, "calc.py": (NEW_SOURCE, 0o100644), "tests/test_calc.py": (NEW_TEST, 0o100644)}
    return Releases(name="calc", bug=bug, old=old, new=new)


def _text(changed: Changed, path: str) -> str:
    content = changed[path]
    assert content is not None
    return content.decode()


def test_the_real_fix_is_the_difference_of_the_releases() -> None:
    assert HONEST["the real fix"](_case()) == {"calc.py": NEW_SOURCE, "tests/test_calc.py": NEW_TEST}


@pytest.mark.parametrize("name", [name for name in {**NOT_ENOUGH, **CHEATS} if "deleted" not in name])
def test_what_must_not_be_verified_lacks_the_fix_or_its_test(name: str) -> None:
    changed = {**NOT_ENOUGH, **CHEATS}[name](_case())

    source = changed.get("calc.py", OLD_SOURCE)
    test = changed.get("tests/test_calc.py", OLD_TEST)
    assert source is not None and test is not None
    assert b"x * 2" not in source or test == OLD_TEST
    ast.parse(source)
    ast.parse(test)


def test_only_tests_that_are_new_are_spoilt() -> None:
    for name in ("assertions removed", "tests skipped", "failures swallowed"):
        text = _text(CHEATS[name](_case()), "tests/test_calc.py")
        functions = {each.name: each for each in ast.parse(text).body if isinstance(each, ast.FunctionDef)}
        assert ast.unparse(functions["test_two"]) == "def test_two():\n    assert double(2) == 4"
        assert "double(5) == 10" not in ast.unparse(functions["test_five"]) or name != "assertions removed"
        assert ast.dump(functions["test_five"]) != ast.dump(ast.parse(NEW_TEST).body[2])


def test_a_fix_without_tests_of_its_own_still_has_every_cheat() -> None:
    bug = BUG.model_copy(update={"tests": []})

    for name, make in CHEATS.items():
        assert make(_case(bug)), name


def test_deleting_takes_another_test_file_away() -> None:
    assert CHEATS["other tests deleted"](_case())["tests/test_more.py"] is None


def test_the_cases_are_many_and_each_says_what_is_wrong() -> None:
    bugs = past_bugs()

    assert len(bugs) >= 20 and len(CHEATS) >= 5
    for name, bug in bugs.items():
        title, _, rest = bug.issue.partition("\n")
        assert title.strip() and rest.strip(), name
