"""Tests that do not build on the base are left out there, by the lines at which the compiler stopped."""

from __future__ import annotations

from harness.in_source.unbuilt import says_it_twice, without_broken

SOURCE = b"""pub fn half(x: i32) -> i32 {
    x / 3
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is new.
    #[test]
    fn helper() {
        assert_eq!(by(4, 2), 2);
    }

    #[test]
    fn four() {
        assert_eq!(half(4), 2);
    }
}
"""
ERROR = "error[E0425]: cannot find function `by` in this scope\n  --> src/inner.rs:{line}:20\n   |\n"


def test_the_test_around_a_line_is_left_out_with_what_belongs_to_it() -> None:
    left = without_broken({"src/inner.rs": SOURCE}, ERROR.format(line=12))

    assert left is not None
    assert b"by(" not in left["src/inner.rs"] and b"What is new" not in left["src/inner.rs"]
    assert left["src/inner.rs"].count(b"#[test]") == 1 and b"fn four" in left["src/inner.rs"]


def test_an_error_in_the_sources_themselves_is_no_matter_of_the_tests() -> None:
    assert without_broken({"src/inner.rs": SOURCE}, ERROR.format(line=2)) is None
    assert without_broken({"src/other.rs": SOURCE}, ERROR.format(line=12)) is None
    assert without_broken({"src/inner.rs": SOURCE}, "error: linking failed\n") is None


def test_several_errors_take_several_tests_out() -> None:
    left = without_broken({"src/inner.rs": SOURCE}, ERROR.format(line=12) + ERROR.format(line=17))

    assert left is not None and b"#[test]" not in left["src/inner.rs"] and b"x / 3" in left["src/inner.rs"]


def test_what_is_there_twice_is_told_apart() -> None:
    assert says_it_twice("error[E0428]: the name `half` is defined multiple times\n")
    assert not says_it_twice(ERROR.format(line=12))
