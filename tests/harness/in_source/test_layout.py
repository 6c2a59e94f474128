"""A source with the tests of another version of it: Rust's modules, vitest's blocks, doctest's examples."""

from __future__ import annotations

import pytest

from harness.in_source.edits import in_source_edits, layout_of
from harness.in_source.layout import Layout
from tests.harness.guard.changes import change_of

RUST_OLD = """//! A lamp.
use std::fmt;

pub fn half(x: i32) -> i32 {
    x / 3
}

/// Checks.
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero() {
        assert_eq!(half(0), 0);
    }
}

pub struct Lamp;

impl Lamp {
    pub fn on(&self) {}

    #[cfg(test)]
    fn peek(&self) -> i32 {
        1
    }
}
"""
RUST_NEW = """//! A lamp.
use std::fmt;

pub fn half(x: i32) -> i32 {
    x / 2
}

/// Checks, more of them.
#[cfg(all(test, unix))]
#[allow(dead_code)]
mod tests {
    use super::*;

    #[test]
    fn four() {
        assert_eq!(half(4), 2);
    }
}

pub struct Lamp;

impl Lamp {
    pub fn on(&self) {}
}

#[test]
fn alone() {}
"""
VITEST_OLD = "export const half = (x) => x / 3;\nif (import.meta.vitest) {\n  old();\n}\n"
VITEST_NEW = (
    "export const half = (x) => x / 2;\nif (import.meta.vitest !== undefined) {\n  now();\n}\nexport {};\n"
)
PYTHON_OLD = '''"""A lamp.

>>> half(0)
0
"""
import math


def half(x):
    """Halve.

    >>> half(0)
    0
    """
    return x / 3


class Lamp:
    def on(self):
        """Switch it on."""
        return math.pi

    def off(self):
        return 0
'''
PYTHON_NEW = PYTHON_OLD.replace(">>> half(0)\n    0", ">>> half(4)\n    2.0").replace("x / 3", "x / 2")
PYTHON_NEW = PYTHON_NEW.replace(
    '"""Switch it on."""', '"""Switch.\n\n        >>> Lamp().on() > 3\n        True\n        """'
)
PYTHON_NEW = PYTHON_NEW.replace("def off(self):\n", 'def off(self):\n        """>>> Lamp().off()"""\n')


def read(path: str, text: str) -> Layout:
    layout = layout_of(path, text.encode())
    assert layout is not None
    return layout


def both_ways(path: str, old: str, new: str) -> tuple[str, str]:
    (edit,) = in_source_edits(change_of({path: old}, {path: new}), with_examples=True)
    assert edit.base_with_new is not None
    return edit.base_with_new.decode(), edit.fixed_with_old.decode()


def test_rusts_tests_change_places_and_its_sources_do_not() -> None:
    base, fixed = both_ways("src/lib.rs", RUST_OLD, RUST_NEW)

    assert "x / 3" in base and "x / 2" not in base
    assert (
        "fn four" in base
        and "fn zero" not in base
        and "more of them" in base
        and "cfg(all(test, unix))" in base
    )
    assert "#[test]\nfn alone() {}" in base and "fn peek" not in base
    assert "x / 2" in fixed and "fn zero" in fixed and "fn four" not in fixed and "fn alone" not in fixed
    assert fixed.index("fn on") < fixed.index("fn peek") < fixed.index("}\n", fixed.index("fn peek"))
    assert fixed.count("#[cfg(test)]") == 2 and "dead_code" not in fixed


def test_the_sources_proper_are_the_same_whatever_tests_they_carry() -> None:
    base, fixed = both_ways("src/lib.rs", RUST_OLD, RUST_NEW)

    for mixed, own in ((base, RUST_OLD), (fixed, RUST_NEW)):
        ours = read("src/lib.rs", mixed).without_tests.split()
        assert ours == read("src/lib.rs", own).without_tests.split()


def test_vitests_blocks_change_places() -> None:
    base, fixed = both_ways("src/half.ts", VITEST_OLD, VITEST_NEW)

    assert base == VITEST_OLD.replace("(import.meta.vitest)", "(import.meta.vitest !== undefined)").replace(
        "old()", "now()"
    )
    assert "x / 2" in fixed and "old()" in fixed and "now()" not in fixed and fixed.endswith("export {};\n")


@pytest.mark.parametrize(
    "text",
    [
        "export const on = () => {\n  if (import.meta.vitest) {\n    return 1;\n  }\n};\n",
        "if (import.meta.vitest) {\n  a();\n} else {\n  b();\n}\n",
        "if (import.meta.vitest || true) {\n  a();\n}\n",
    ],
)
def test_a_condition_on_vitest_that_is_no_block_of_tests_belongs_to_the_source(text: str) -> None:
    assert not read("a.js", text).regions


def test_examples_of_python_change_places() -> None:
    base, fixed = both_ways("lamp.py", PYTHON_OLD, PYTHON_NEW)

    assert "x / 3" in base and "half(4)" in base and "Lamp().on() > 3" in base and "Lamp().off()" in base
    assert "x / 2" in fixed and "half(4)" not in fixed and "Lamp()" not in fixed
    for text in (base, fixed):
        compile(text, "lamp.py", "exec")


def test_examples_count_only_where_the_suite_runs_them() -> None:
    change = change_of({"lamp.py": PYTHON_OLD}, {"lamp.py": PYTHON_NEW})

    assert not in_source_edits(change, with_examples=False)


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("src/lib.rs", RUST_OLD, RUST_OLD.replace("x / 3", "x / 2")),
        ("src/lib.rs", RUST_OLD, RUST_OLD.replace("fn zero", "fn zero {{{")),
        (
            "src/lib.rs",
            "#[cfg(any(test, unix))]\nmod a {}\n",
            "#[cfg(any(test, unix))]\nmod a { fn b() {} }\n",
        ),
        ("tests/a.rs", "#[test]\nfn a() {}\n", "#[test]\nfn b() {}\n"),
        ("src/tests.rs", "#[test]\nfn a() {}\n", "#[test]\nfn b() {}\n"),
        ("src/half.js", VITEST_OLD, VITEST_OLD.replace("x / 3", "x / 2")),
        ("lib/a.go", "package a\n", "package a\n\nfunc B() {}\n"),
    ],
)
def test_other_changes_are_no_edits_of_tests_inside_of_sources(path: str, old: str, new: str) -> None:
    assert not in_source_edits(change_of({path: old}, {path: new}), with_examples=True)


def test_a_new_source_has_nothing_on_the_base() -> None:
    (edit,) = in_source_edits(change_of({}, {"src/new.rs": RUST_OLD}), with_examples=True)

    assert edit.base_with_new is None and edit.is_new
    assert b"fn half" in edit.fixed_with_old and b"fn zero" not in edit.fixed_with_old


def test_a_file_that_is_all_tests_is_exchanged_as_a_whole() -> None:
    old = "#![cfg(test)]\nuse crate::half;\n#[test]\nfn a() { assert_eq!(half(2), 1); }\n"
    new = old.replace("half(2), 1", "half(4), 2")
    base, fixed = both_ways("src/checks.rs", old, new)

    assert (base, fixed) == (new, old)


def test_two_of_the_same_name_keep_their_order() -> None:
    old = "#[cfg(test)]\nuse a::b;\n#[cfg(test)]\nuse a::c;\nfn x() {}\n"
    base, fixed = both_ways("src/lib.rs", old, old.replace("a::c", "a::d").replace("x()", "y()"))

    assert base == old.replace("a::c", "a::d")
    assert fixed == old.replace("x()", "y()")
