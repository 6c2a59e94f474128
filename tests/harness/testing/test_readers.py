"""Reports of test tools, read from their text."""

from __future__ import annotations

import json

import pytest

from domain.model import RunStatus, TestRun
from harness.testing.cases import Observed
from harness.testing.diagnosis import diagnose
from harness.testing.go_json import go_output, read_go_events
from harness.testing.junit import read_junit
from harness.testing.output_lines import read_output, says_no_tests


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("Tests:       1 failed, 2 skipped, 30 passed, 33 total\n", (30, 1, 2)),
        ("      Tests  2 failed | 3 passed (5)\n", (3, 2, 0)),
        ("  12 passing (30ms)\n  1 pending\n  2 failing\n", (12, 2, 1)),
        ("# tests 4\n# suites 0\n# pass 3\n# fail 1\n# skipped 0\n", (3, 1, 0)),
        ("ℹ pass 3\nℹ fail 0\n", (3, 0, 0)),
        ("1..3\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP no\n", (1, 1, 1)),
        (
            "test a::b ... ok\ntest c ... FAILED\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n",
            (1, 1, 0),
        ),
        (
            "test result: ok. 3 passed; 0 failed; 0 ignored\n"
            "test result: ok. 2 passed; 0 failed; 1 ignored\n",
            (5, 0, 1),
        ),
        ("Ran 5 tests in 0.001s\n\nFAILED (failures=1, errors=1, skipped=1)\n", (2, 2, 1)),
        ("Ran 5 tests in 0.001s\n\nOK\n", (5, 0, 0)),
        ("===== 1 failed, 3 passed, 1 error in 0.10s =====\n", (3, 2, 0)),
        ("10 examples, 2 failures, 1 pending\n", (7, 2, 1)),
        ("8 runs, 20 assertions, 1 failures, 1 errors, 0 skips\n", (6, 2, 0)),
        ("Tests run: 7, Failures: 1, Errors: 0, Skipped: 2\n", (4, 1, 2)),
        ("OK (12 tests, 30 assertions)\n", (12, 0, 0)),
        ("ok  \texample.org/a\t0.01s\nFAIL\texample.org/b\t0.02s\n", (1, 1, 0)),
    ],
)
def test_summaries(text: str, counts: tuple[int, int, int]) -> None:
    reading = read_output("noise\n" + text + "noise\n")

    assert reading is not None
    assert (reading.passed, reading.failed, reading.skipped) == counts


@pytest.mark.parametrize("text", ["", "all good", "500 passed\n", "Tests passed!", "100% of files checked"])
def test_what_counts_nothing_is_unreadable(text: str) -> None:
    assert read_output(text) is None


def test_names_are_kept_where_lines_have_them() -> None:
    reading = read_output(
        "test a::b ... ok\ntest c ... FAILED\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n"
    )
    assert reading is not None and set(reading.cases) == {"a::b", "c"}

    forged = read_output("test extra ... ok\ntest c ... ok\ntest result: ok. 1 passed; 0 failed; 0 ignored\n")
    assert forged is not None and not forged.cases


@pytest.mark.parametrize(
    "text", ["No tests found", "Error: no test specified", "Ran 0 tests in 0.0s", "  0 passing (1ms)"]
)
def test_words_for_nothing(text: str) -> None:
    assert says_no_tests(text)


def test_go_events() -> None:
    events = [
        {"Action": "run", "Package": "m/a", "Test": "TestX"},
        {"Action": "output", "Package": "m/a", "Test": "TestX", "Output": "boom\n"},
        {"Action": "fail", "Package": "m/a", "Test": "TestX"},
        {"Action": "pass", "Package": "m/a", "Test": "TestY"},
        {"Action": "fail", "Package": "m/a"},
        {"Action": "output", "Package": "m/b", "Output": "undefined: New\n"},
        {"Action": "fail", "Package": "m/b"},
    ]
    text = "plain line\n" + "\n".join(map(json.dumps, events)) + "\n{broken\n"
    reading = read_go_events(text)

    assert reading is not None
    assert (reading.passed, reading.failed) == (1, 2)
    assert reading.cases["m/a::TestX"].message == "boom\n"
    assert reading.cases["m/b"].collection
    assert go_output(text).startswith("plain line\nboom\n")
    assert read_go_events("nothing") is None


def junit(cases: str) -> bytes:
    return f"<testsuites><testsuite>{cases}</testsuite></testsuites>".encode()


def test_a_test_reported_twice_counts_by_its_worse_outcome() -> None:
    case = '<testcase classname="tests.test_a" name="test_x" file="tests/test_a.py"'
    reading = read_junit(junit(f"{case}/>{case}><error message='teardown'/></testcase>"))

    assert reading is not None
    assert (reading.passed, reading.failed) == (0, 1)
    assert set(reading.cases) == {"tests/test_a.py::test_x"}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<html/>",
        b"<testsuites><testsuite><testcase name='a'/>",
        b'<!DOCTYPE x [<!ENTITY a "b">]><testsuites><testsuite>&a;</testsuite></testsuites>',
        b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><testsuites><testsuite/></testsuites>',
        b"<testsuites><testsuite>" + b"<a>" * 100 + b"</a>" * 100 + b"</testsuite></testsuites>",
        b"\xff\xfe\x00",
    ],
)
def test_a_report_that_cannot_be_trusted_is_not_read(data: bytes) -> None:
    assert read_junit(data) is None


def test_an_entity_bomb_costs_nothing() -> None:
    entities = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10))
    bomb = f'<!DOCTYPE x [<!ENTITY a0 "ha">{entities}]><testsuite>&a9;</testsuite>'

    assert read_junit(bomb.encode()) is None


@pytest.mark.long
@pytest.mark.parametrize(
    "piece", ["\n", " \n", "\t", "✓ ", "ok 1 ", "a", "1 passed, ", "--- ", "a: ", "a.so", ".so"]
)
def test_what_a_test_prints_is_read_in_linear_time(piece: str) -> None:
    """A pattern that is not linear makes this suite hang; one that is takes some hundredths of a second."""
    text = piece * (100_000 // len(piece))
    read_output(text)
    says_no_tests(text)
    run = TestRun(
        name="base",
        command="make test",
        tree="0" * 40,
        status=RunStatus.COULD_NOT_RUN,
        exit_code=1,
        seconds=1.0,
    )
    diagnose(Observed(run=run, cases={}, output=text))
