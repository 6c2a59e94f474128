"""Only what differs in a Python file is parsed, and whatever cannot stand for itself is not cut."""

from __future__ import annotations

import ast

import pytest

from harness.guard.python_parts import SMALLEST, parsed_parts
from tests.harness.guard.changes import critical, judged

HEAD = '"""A module."""\n\nimport os\nfrom subprocess import (\n    run,\n)\n\n\n'
FUNCTIONS = "".join(f"def function_{n}(a):\n    value = a + {n}\n    return value\n\n\n" for n in range(60))
WHOLE = HEAD + FUNCTIONS
CHANGED = WHOLE.replace("value = a + 30", "value = a - 30")


def parts(old: str, new: str, *, in_tests: bool = False) -> tuple[ast.Module, ast.Module] | None:
    assert len(old) > SMALLEST
    return parsed_parts(old.encode(), new.encode(), in_tests=in_tests)


def names(tree: ast.Module) -> list[str]:
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]


def test_a_part_is_the_definition_that_differs_with_the_imports_and_the_lines_of_its_file() -> None:
    found = parts(WHOLE, CHANGED)

    assert found is not None
    assert names(found[0]) == names(found[1]) == ["function_30"]
    assert [ast.unparse(node) for node in found[1].body[:2]] == ["import os", "from subprocess import run"]
    whole = ast.parse(CHANGED)
    (same,) = [node for node in whole.body if getattr(node, "name", "") == "function_30"]
    assert found[1].body[-1].lineno == same.lineno


@pytest.mark.parametrize(
    "new",
    [
        CHANGED.replace("return value\n\n\ndef function_31", "return value\n\n\n@skip\n\n\ndef function_31"),
        CHANGED.replace("value = a - 30", 'value = """'),
        CHANGED.replace("value = a - 30", "value = (a"),
        CHANGED.replace("def function_30", "def function_29"),
        WHOLE[:-10],
    ],
    ids=["dangling decorator", "open text", "open bracket", "defined twice", "cut off"],
)
def test_what_would_mean_something_else_in_its_file_is_not_cut(new: str) -> None:
    found = parts(WHOLE, new)
    whole = None
    try:
        whole = ast.parse(new)
    except SyntaxError:
        assert found is None
        return
    assert found is None or names(found[1])[0] in [getattr(node, "name", "") for node in whole.body]


def test_a_cut_is_never_made_inside_of_a_text() -> None:
    text = HEAD + 'PAGE = """\n' + FUNCTIONS + '"""\n'
    assert parts(text, text.replace("value = a + 30", "eval(a)")) is None


def test_what_stands_beside_the_tests_is_read_with_them() -> None:
    tests = "".join(f"def test_{n}():\n    assert f({n}) == WANTED\n\n\n" for n in range(80))
    old = f"from pkg import f\n\nWANTED = 7\n\n\n{tests}"
    new = old.replace("WANTED = 7", "WANTED = 8")

    assert parts(old, new, in_tests=True) is None
    assert critical(judged({"tests/test_f.py": old}, {"tests/test_f.py": new})) == {"RH002"}


def test_a_second_definition_far_from_the_first_is_seen() -> None:
    tests = "".join(f"def test_{n}():\n    assert f({n}) == {n}\n\n\n" for n in range(80))
    new = tests + "def test_3():\n    assert f\n"

    assert "RH001" in critical(judged({"tests/test_f.py": tests}, {"tests/test_f.py": new}))


def test_an_alias_from_the_head_of_the_file_is_known_in_a_part() -> None:
    new = WHOLE.replace("value = a + 30", "value = run(a, shell=True)")
    assert "RH005" in critical(judged({"pkg/a.py": WHOLE}, {"pkg/a.py": new}))
