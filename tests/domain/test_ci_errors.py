"""Errors in a job's log are the same ones in every run, and different ones are not."""

from __future__ import annotations

import pytest

from domain.ci_errors import error_lines, is_machines_fault, signature

FIRST = """2026-11-30T10:00:01.1234567Z Run pytest
2026-11-30T10:00:02.0000000Z ============ test session starts ============
2026-11-30T10:00:09.0000000Z E       assert 7 == 10
2026-11-30T10:00:09.0000000Z FAILED tests/test_calc.py::test_five - assert 7 == 10
2026-11-30T10:00:09.0000000Z 1 failed, 20 passed in 0.31s
2026-11-30T10:00:09.0000000Z ##[error]Process completed with exit code 1.
"""


def test_the_same_failure_has_the_same_name_at_another_time_and_place() -> None:
    again = (
        FIRST.replace("2026-11-30T10", "2026-12-01T23")
        .replace("0.31s", "12.5s")
        .replace("tests/test_calc.py", "/home/runner/work/lamp/lamp/tests/test_calc.py")
    )
    there = FIRST.replace("tests/test_calc.py", "/tmp/x81/tests/test_calc.py")
    assert signature(error_lines(again)) == signature(error_lines(there)) != ""


def test_another_failing_test_is_another_failure() -> None:
    other = FIRST.replace("test_five", "test_rounding")
    assert signature(error_lines(other)) != signature(error_lines(FIRST))


def test_a_log_without_errors_has_no_name() -> None:
    assert signature(error_lines("all is well\n20 passed in 3s\n0 errors, 0 failures\n")) == ""


@pytest.mark.parametrize(
    "line",
    [
        "error[E0308]: mismatched types",
        "--- FAIL: TestDouble (0.00s)",
        "  ✕ doubles five (3 ms)",
        "npm ERR! Test failed.  See above for more details.",
        "src/main.c:12:5: error: 'x' undeclared (first use in this function)",
        "java.lang.AssertionError: expected:<10> but was:<7>",
        "thread 'main' panicked at src/lib.rs:3:5",
        "not ok 3 - doubles",
        "rspec ./spec/calc_spec.rb:4 # Calc doubles (FAILED - 1)",
        "Error: ruff found 3 problems",
    ],
)
def test_what_tools_print_of_a_failure_is_read(line: str) -> None:
    assert error_lines(f"2026-11-30T10:00:09.1Z \x1b[31m{line}\x1b[0m\n")


@pytest.mark.parametrize(
    ("line", "is_lost"),
    [
        ("##[error]The hosted runner lost communication with the server.", True),
        ("The runner has received a shutdown signal.", True),
        ("OSError: [Errno 28] No space left on device", True),
        ("fatal: unable to access: Could not resolve host: example.org", True),
        ("##[error]The operation was canceled.", True),
        ("E   assert 7 == 10", False),
        ("TimeoutError: the test took too long", False),
    ],
)
def test_the_machines_fault_is_told_from_the_codes(line: str, is_lost: bool) -> None:
    assert is_machines_fault(f"some work\n{line}\n") is is_lost


@pytest.mark.long
def test_a_long_hostile_log_is_read_in_bounded_time() -> None:
    log = "\n".join(["error " + "a/" * 3000 + "é" * 100, "E" + " " * 5000, "/" * 9000 + " failed"] * 300)
    assert len(error_lines(log)) <= 60
