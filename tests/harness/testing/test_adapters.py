"""Reports of real runs of small projects, read by the adapters; and reports as nobody should write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.testing.adapters.adapter import Evidence
from harness.testing.adapters.registry import ADAPTERS, adapter_of
from harness.testing.cases import CaseOutcome, Reading
from harness.testing.plan import Runner

REPORTS = Path(__file__).parent / "reports"
PATHS = {
    Runner.MAVEN: {"src/test/java/org/example/LampTest.java"},
    Runner.CARGO: {"src/lib.rs", "tests/outside.rs"},
    Runner.GO: {"go.mod", "lamp_test.go", "inner/inner_test.go"},
}
PRINTED = frozenset({Runner.CARGO, Runner.GO, Runner.NEXTEST})


def read(runner: Runner, data: bytes, paths: set[str] | None = None) -> Reading | None:
    known = frozenset(PATHS.get(runner, set()) if paths is None else paths)
    printed = runner in PRINTED
    return adapter_of(runner).read(
        Evidence(
            reports=() if printed else (data,),
            output=data.decode("utf-8", "replace") if printed else "",
            paths=lambda: known,
        )
    )


def captured(name: str) -> bytes:
    return (REPORTS / name).read_bytes()


@pytest.mark.parametrize(
    ("runner", "report", "passed", "failed", "counts"),
    [
        (
            Runner.JEST,
            "jest.json",
            "sub/lamp.test.js::twice > two is four",
            "sub/lamp.test.js::twice > five is ten",
            (1, 3, 2),
        ),
        (
            Runner.VITEST,
            "vitest.json",
            "lamp.test.js::twice > two is four",
            "lamp.test.js::twice > five is ten",
            (1, 2, 2),
        ),
        (
            Runner.MOCHA,
            "mocha.json",
            "test/lamp.js::twice two is four",
            "test/lamp.js::twice five is ten",
            (1, 1, 2),
        ),
        (
            Runner.NODE,
            "node.jsonl",
            "test/lamp.test.js::twice > two is four",
            "test/lamp.test.js::twice > five is ten",
            (3, 2, 2),
        ),
        (
            Runner.GO,
            "go.jsonl",
            "example.org/lamp::TestTwo",
            "example.org/lamp::TestFive",
            (4, 2, 1),
        ),
        (
            Runner.GO,
            "go-verbose.txt",
            "example.org/lamp::TestSub/a",
            "example.org/lamp::TestFive",
            (4, 2, 1),
        ),
        (
            Runner.CARGO,
            "cargo.txt",
            "tests/outside.rs::two_is_four",
            "src/lib.rs::tests::five_is_ten",
            (4, 1, 1),
        ),
        (
            Runner.RSPEC,
            "rspec.json",
            "spec/lamp_spec.rb::twice two is four",
            "spec/lamp_spec.rb::twice five is ten",
            (1, 2, 2),
        ),
        (
            Runner.PHPUNIT,
            "phpunit.xml",
            'tests/LampTest.php::testMany with data set "two"',
            "tests/LampTest.php::testFive",
            (2, 4, 2),
        ),
        (
            Runner.MAVEN,
            "surefire.xml",
            "src/test/java/org/example/LampTest.java::twoIsFour",
            "src/test/java/org/example/LampTest.java::fiveIsTen",
            (1, 1, 1),
        ),
        (Runner.CTEST, "ctest.xml", "two_is_four", "five_is_ten", (1, 1, 2)),
    ],
)
def test_single_results_are_read(
    runner: Runner, report: str, passed: str, failed: str, counts: tuple[int, int, int]
) -> None:
    reading = read(runner, captured(report))

    assert reading is not None
    assert (reading.passed, reading.failed, reading.skipped) == counts
    assert reading.cases[passed].outcome is CaseOutcome.PASSED
    assert reading.cases[failed].outcome is CaseOutcome.FAILED


@pytest.mark.parametrize(
    ("runner", "report", "identity"),
    [
        (Runner.JEST, "jest.json", "sub/lamp.test.js::twice > five is ten"),
        (Runner.VITEST, "vitest.json", "lamp.test.js::twice > five is ten"),
        (Runner.NODE, "node.jsonl", "test/lamp.test.js::twice > five is ten"),
        (Runner.RSPEC, "rspec.json", "spec/lamp_spec.rb::twice five is ten"),
        (Runner.PHPUNIT, "phpunit.xml", "tests/LampTest.php::testFive"),
        (Runner.MAVEN, "surefire.xml", "src/test/java/org/example/LampTest.java::fiveIsTen"),
        (Runner.CTEST, "ctest.xml", "five_is_ten"),
    ],
)
def test_a_failure_has_its_duration(runner: Runner, report: str, identity: str) -> None:
    reading = read(runner, captured(report))

    assert reading is not None and 0 < reading.cases[identity].seconds < 10


@pytest.mark.parametrize(
    ("runner", "report", "file", "told"),
    [
        (Runner.JEST, "jest.json", "broken.test.js", "Cannot find module './nowhere'"),
        (Runner.JEST, "jest.json", "syntax.test.js", "unexpected token"),
        (Runner.VITEST, "vitest.json", "broken.test.js", "Cannot find module './nowhere.js'"),
        (Runner.NODE, "node.jsonl", "test/broken.test.js", "Cannot find module './nowhere'"),
        (Runner.GO, "go.jsonl", "example.org/lamp/inner", "undefined: Missing"),
        (Runner.GO, "go-verbose.txt", "example.org/lamp/inner", "undefined: Missing"),
        (Runner.RSPEC, "rspec-unloaded.json", "spec/broken_spec.rb", "cannot load such file"),
    ],
)
def test_what_could_not_be_loaded_stands_for_itself(
    runner: Runner, report: str, file: str, told: str
) -> None:
    reading = read(runner, captured(report))

    assert reading is not None
    case = reading.cases[file]
    assert case.collection and case.outcome is CaseOutcome.FAILED
    assert told in case.message


def test_a_package_of_go_knows_its_directory() -> None:
    reading = read(Runner.GO, captured("go.jsonl"))

    assert reading is not None
    places = {(case.file, case.directory) for case in reading.cases.values()}
    assert places == {(".", True), ("inner", True)}


def test_what_a_rust_test_prints_is_not_taken_for_a_result() -> None:
    text = (
        captured("cargo.txt").decode().replace("running 1 test\n", "running 1 test\ntest forged ... ok\n", 1)
    )
    reading = read(Runner.CARGO, text.encode())

    assert reading is not None and not reading.cases  # counts only: somebody is not telling the truth


def test_a_rust_target_that_does_not_compile() -> None:
    text = (
        "error[E0425]: cannot find function `thrice` in crate `lamp`\n --> tests/outside.rs:2:32\n"
        'error: could not compile `lamp` (test "outside") due to 1 previous error\n'
    )
    reading = read(Runner.CARGO, text.encode())
    assert reading is not None and (reading.passed, reading.failed) == (0, 1)

    whole = captured("cargo.txt").decode() + text
    reading = read(Runner.CARGO, whole.encode())
    assert reading is not None and reading.cases["tests/outside.rs"].collection
    assert "E0425" in reading.cases["tests/outside.rs"].message


def test_nextest() -> None:
    text = (
        "    Starting 3 tests across 2 binaries\n"
        "        PASS [   0.005s] lamp tests::two_is_four\n"
        "        FAIL [   0.104s] (2/3) lamp tests::five_is_ten\n"
        "        PASS [   0.005s] lamp::outside two_is_four\n"
        "     Summary [   0.114s] 3 tests run: 2 passed, 1 failed, 0 skipped\n"
    )
    reading = read(Runner.NEXTEST, text.encode(), {"src/lib.rs", "tests/outside.rs"})

    assert reading is not None
    assert reading.cases["lamp::outside::two_is_four"].file == "tests/outside.rs"
    assert reading.cases["lamp::tests::five_is_ten"].outcome is CaseOutcome.FAILED
    assert reading.cases["lamp::tests::five_is_ten"].seconds == pytest.approx(0.104)


# -- reports that are broken, or made to hurt --------------------------------------------------------

JSON = (Runner.JEST, Runner.VITEST, Runner.MOCHA, Runner.RSPEC)
XML = (Runner.PHPUNIT, Runner.MAVEN, Runner.CTEST, Runner.PYTEST, Runner.UNITTEST)
FILES = {
    Runner.JEST: "jest.json",
    Runner.VITEST: "vitest.json",
    Runner.MOCHA: "mocha.json",
    Runner.RSPEC: "rspec.json",
    Runner.PHPUNIT: "phpunit.xml",
    Runner.MAVEN: "surefire.xml",
    Runner.CTEST: "ctest.xml",
}


@pytest.mark.parametrize("runner", [*JSON, *XML])
@pytest.mark.parametrize(
    "data",
    [
        b"\x00",
        b"null",
        b"[]",
        b"{}",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"testResults": 5, "tests": "x", "examples": {}}',
        b"<" * 1000,
        b"<testsuite>" * 1000,
        b"\xff\xfe<\x00t\x00",
        b'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "b">]><testsuite><testcase name="&a;"/></testsuite>',
        b"1" * 10_000,
        b'{"numTotalTests": 5, "testResults": []}',
    ],
    ids=str,
)
def test_what_is_no_report_is_not_read(runner: Runner, data: bytes) -> None:
    assert read(runner, data) is None


@pytest.mark.parametrize(("runner", "name"), FILES.items())
def test_a_report_that_was_cut_short_is_not_read(runner: Runner, name: str) -> None:
    whole = captured(name).rstrip()
    for length in range(1, len(whole), max(1, len(whole) // 60)):
        assert read(runner, whole[:length]) is None, length


@pytest.mark.parametrize("runner", [*JSON, *XML])
@pytest.mark.long
def test_a_huge_report_is_not_read(runner: Runner) -> None:
    piece = b'{"a":[1,2]},' if runner in JSON else b"<testcase name='a'/>"
    start, end = (b'{"testResults":[', b"]}") if runner in JSON else (b"<testsuite>", b"</testsuite>")

    assert read(runner, start + piece * (50 * 2**20 // len(piece)) + end) is None


def test_many_small_values_are_refused_before_they_take_memory() -> None:
    assert read(Runner.JEST, b'{"testResults":[' + b"[]," * 1_500_000 + b"[]]}") is None


@pytest.mark.parametrize("runner", [Runner.JEST, Runner.VITEST])
def test_values_of_the_wrong_kind_are_passed_over(runner: Runner) -> None:
    suite = {
        "name": 7,
        "status": "failed",
        "message": None,
        "assertionResults": [
            5,
            {"status": "passed", "title": None, "ancestorTitles": "x", "duration": "long"},
            {"status": "quite", "title": "?"},
            {"status": "failed", "title": "a\u0000b", "duration": 1e400, "failureMessages": [1, "no"]},
        ],
    }
    reading = read(runner, json.dumps({"testResults": [suite, None, "x"]}).encode())

    assert reading is not None
    assert (reading.passed, reading.failed) == (1, 1)


def test_invalid_text_does_not_stop_a_reading() -> None:
    data = captured("jest.json").replace(b"two is four", b"two \xff\xfe is four")

    reading = read(Runner.JEST, data)
    assert reading is not None and reading.passed == 1


def test_one_broken_report_of_many_spoils_them_all() -> None:
    reports = (captured("surefire.xml"), b"<testsuite><testcase name='x'>")

    assert adapter_of(Runner.MAVEN).read(Evidence(reports=reports, output="")) is None


def test_a_test_that_stands_twice_counts_by_its_worse_outcome() -> None:
    results = [
        {"status": status, "title": "same", "ancestorTitles": []} for status in ("passed", "failed", "passed")
    ]
    suite = {"name": "/work/a.test.js", "status": "failed", "assertionResults": results}

    reading = read(Runner.JEST, json.dumps({"testResults": [suite]}).encode())
    assert reading is not None
    assert (reading.passed, reading.failed) == (0, 1)


def test_pest_names_its_file_with_the_test() -> None:
    data = (
        b'<testsuites><testsuite><testcase name="it works" time="0.1" '
        b'file="tests/Unit/LampTest.php::it works"/></testsuite></testsuites>'
    )
    reading = read(Runner.PHPUNIT, data)

    assert reading is not None and set(reading.cases) == {"tests/Unit/LampTest.php::it works"}


def test_every_runner_has_its_adapter() -> None:
    assert {adapter.runner for adapter in ADAPTERS} == set(Runner)


def test_a_broken_line_of_node_is_passed_over() -> None:
    data = b'{broken\n[1]\n"x"\n' + captured("node.jsonl")

    reading = read(Runner.NODE, data)
    assert reading is not None and (reading.passed, reading.failed) == (3, 2)
    assert read(Runner.NODE, data + b'{"file": "/work/x.js", "names": ["cut') is None
