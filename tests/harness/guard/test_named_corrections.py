"""An expectation that a maintainer names as wrong in the issue may be corrected: in Go, Rust and JavaScript."""

# ruff: noqa: E501 - the tables of cases read best with one case a line

from __future__ import annotations

import pytest

from harness.guard.rh002 import corrected_expectations
from tests.harness.guard.changes import change_of, critical, edited, judged

GO = """package a

import "testing"

func TestHalf(t *testing.T) {
	if got := Half(7); got != 3 {
		t.Fatalf("got %d", got)
	}
	require.EqualError(t, Check(), "no such lamp")
}

func TestTable(t *testing.T) {
	for _, tc := range []struct{ in int; want string }{
		{7, "three"},
		{8, "four"},
	} {
		if got := Name(tc.in); got != tc.want {
			t.Errorf("%q", got)
		}
	}
}
"""
RUST = """#[test]
fn half_of_seven() {
    assert_eq!(half(7), 3);
    assert_eq!(name(7), "three");
    assert_eq!(find(7), Some(-1));
}

#[test]
#[should_panic(expected = "no lamp")]
fn none() {
    half(0);
}

#[rstest]
#[case(70, 30)]
#[case(80, 40)]
fn halves(#[case] x: i32, #[case] want: i32) {
    assert_eq!(half(x), want);
}
"""
IN_SOURCE = """pub fn half(x: i32) -> i32 {
    x / 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_seven() {
        assert_eq!(half(7), 3);
    }
}
"""
JS = """const { half, name } = require('../half');

test('half', () => {
  expect(half(7)).toBe(3);
  expect(name(7)).toEqual({ a: 'three', b: 2 });
  expect(() => half()).toThrow(TypeError);
  expect(() => name()).toThrow(/no lamp/);
  expect(show()).toMatchInlineSnapshot(`"old lamp"`);
});
"""
CASES = [
    ("a_test.go", GO, "got != 3", "got != 4", "Half(7) is 3, it should be 4"),
    ("a_test.go", GO, '"three"', '"3.5"', 'Name(7) gives "three" where "3.5" is right'),
    (
        "a_test.go",
        GO,
        '"no such lamp"',
        '"lamp not found"',
        'It says "no such lamp" and should say "lamp not found".',
    ),
    ("tests/a.rs", RUST, "(7), 3", "(7), 4", "half(7) is 3, should be 4"),
    ("tests/a.rs", RUST, "(7), 3", "(7), -3", "half(7) is 3, should be -3"),
    ("tests/a.rs", RUST, "Some(-1)", "Some(1)", "find(7) gives -1 and should give 1"),
    ("tests/a.rs", RUST, '"three"', '"half"', "name(7) is `three` but it should be `half`"),
    (
        "tests/a.rs",
        RUST,
        '"no lamp"',
        '"no such lamp"',
        'the panic says "no lamp"; it should say "no such lamp"',
    ),
    ("tests/a.rs", RUST, "case(70, 30)", "case(70, 35)", "half(70) is 30 where 35 is right"),
    ("src/lib.rs", IN_SOURCE, "(7), 3", "(7), 4", "half(7) is 3, should be 4"),
    ("test/a.test.js", JS, "toBe(3)", "toBe(4)", "half(7) is 3; it should be 4"),
    ("test/a.test.js", JS, "'three'", "'3.5'", "a is 'three' but should be '3.5'"),
    (
        "test/a.test.js",
        JS,
        "TypeError",
        "RangeError",
        "half() throws a TypeError; it should throw a RangeError",
    ),
    ("test/a.test.js", JS, "/no lamp/", "/no such lamp/", 'it says "no lamp", and should say "no such lamp"'),
    ("test/a.test.js", JS, "old lamp", "new lamp", 'show() is "old lamp", should be "new lamp"'),
]
EVERY = pytest.mark.parametrize(("path", "text", "old", "new", "issue"), CASES)


@EVERY
def test_a_correction_that_the_issue_names_is_a_warning(
    path: str, text: str, old: str, new: str, issue: str
) -> None:
    files = {path: text}, {path: edited(text, old, new)}

    assert not critical(judged(*files, issue=issue))
    assert {place for place, _ in corrected_expectations(change_of(*files), issue)} == {path}


@EVERY
def test_one_that_it_does_not_name_is_refused(path: str, text: str, old: str, new: str, issue: str) -> None:
    files = {path: text}, {path: edited(text, old, new)}

    for said in (
        "It is wrong.",
        issue.replace(new.strip("\"'/"), "else") if new.strip("\"'/") in issue else "3",
    ):
        assert critical(judged(*files, issue=said)) == {"RH002"}
        assert not corrected_expectations(change_of(*files), said)


@pytest.mark.parametrize(
    ("old", "new", "is_refused"),
    [
        ("toThrow(/no lamp/)", "toThrow(/^no lamp: half$/)", False),
        ("toThrow(/no lamp/)", "toThrow(/no lamp|.*/)", True),
        ("toThrow(/no lamp/)", "toThrow(/no lamp?/)", True),
        ("toThrow(/no lamp/)", "toThrow(/[^no lamp]/)", True),
        ("toThrow(/no lamp/)", "toThrow(/no lamp/i)", True),
        ("not.toMatch(/dark/)", "not.toMatch(/^dark room$/)", True),
    ],
)
def test_a_pattern_may_become_narrower(old: str, new: str, is_refused: bool) -> None:
    text = edited(
        JS,
        "  expect(half(7)).toBe(3);\n",
        "  expect(half(7)).toBe(3);\n  expect(show()).not.toMatch(/dark/);\n",
    )

    assert (
        bool(critical(judged({"test/a.test.js": text}, {"test/a.test.js": edited(text, old, new)})))
        is is_refused
    )
