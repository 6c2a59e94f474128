"""Tests that must fail, as they are planted in each language; and streams that were cut off."""

from __future__ import annotations

import ast
import json

import pytest

from harness.testing.adapters.adapter import Evidence
from harness.testing.adapters.registry import adapter_of
from harness.testing.cases import CaseOutcome
from harness.testing.plan import Runner
from tests.harness.testing import samples
from tests.harness.testing.test_adapters import captured, read

NAME = "abcdefghijkl"


def planted(runner: Runner, path: str, text: str) -> tuple[str, str]:
    found = adapter_of(runner).planted(path, text, NAME)
    assert found is not None and NAME in found.text.lower()
    return found.path, found.text


def test_python_gets_what_the_file_has() -> None:
    _, text = planted(Runner.PYTEST, "test_a.py", "def test_x():\n    pass")
    assert "TestCase" not in text and ast.parse(text)
    _, text = planted(Runner.PYTEST, "test_a.py", "class A(TestCase):\n    pass\n")
    assert "def test_abcdefghijkl():" in text and ".TestCase):" in text and ast.parse(text)
    _, text = planted(Runner.UNITTEST, "test_a.py", "import unittest\n")
    assert "def test_abcdefghijkl():" not in text and ast.parse(text)
    assert adapter_of(Runner.PYTEST).planted("docs/a.rst", ">>> 1\n", NAME) is None


@pytest.mark.parametrize(
    ("text", "compared"),
    [
        ("expect(x).toBe(1);", "expect(4711).toBe(4712)"),
        ("expect(x).to.equal(1);", "expect(4711).to.equal(4712)"),
        ("const assert = require('node:assert/strict');\n", "assert.strictEqual(4711, 4712)"),
        ("import check from 'node:assert';\n", "check.strictEqual(4711, 4712)"),
        ("", "throw new Error"),
    ],
)
def test_javascript_compares_as_its_file_does(text: str, compared: str) -> None:
    assert compared in planted(Runner.MOCHA, "test/a.js", text)[1]


@pytest.mark.parametrize(
    ("path", "text", "taken"),
    [
        ("a.test.mjs", "", 'import { test as abcdefghijkl } from "node:test";'),
        ("a.test.cjs", "import x from 'y'\n", 'require("node:test").test;'),
        ("a.test.js", "import { it } from 'node:test';\n", "import {"),
        ("a.test.js", "const { it } = require('node:test');\n", "require("),
    ],
)
def test_node_takes_its_test_as_the_file_takes_modules(path: str, text: str, taken: str) -> None:
    assert taken in planted(Runner.NODE, path, text)[1]


def test_go_gets_a_file_of_its_own_with_the_same_constraints() -> None:
    source = "//go:build integration\n\n// Package lamp.\npackage lamp_test\n"
    path, text = planted(Runner.GO, "sub/lamp_test.go", source)

    assert path == f"sub/{NAME}_test.go"
    assert text.startswith("//go:build integration\n\npackage lamp_test\n")
    assert adapter_of(Runner.GO).planted("lamp.go", source, NAME) is None


@pytest.mark.parametrize(
    ("runner", "path", "text", "piece"),
    [
        (Runner.CARGO, "tests/a.rs", "#[tokio::test]\nasync fn x() {}\n", f"#[test]\nfn {NAME}()"),
        (Runner.RSPEC, "spec/a_spec.rb", "", f'RSpec.describe("{NAME}")'),
        (Runner.PHPUNIT, "tests/ATest.php", samples.PHPUNIT["tests/LampTest.php"], "self::assertSame"),
        (Runner.PHPUNIT, "tests/A.php", "<?php\nit('x', fn () => 1);\n", f"test('{NAME}'"),
        (Runner.MAVEN, "T.java", "import org.junit.jupiter.api.Test;\nclass T {\n}\n", "api.Test\n    void"),
        (Runner.MAVEN, "T.java", "import org.junit.Test;\nclass T {\n}\n", "org.junit.Test\n    public void"),
        (Runner.GRADLE, "T.kt", "import kotlin.test.Test\nclass T {\n}\n", f"fun {NAME}()"),
        (Runner.MAVEN, "T.java", "import junit.framework.TestCase;\nclass T extends TestCase {}", "testAbc"),
    ],
)
def test_others(runner: Runner, path: str, text: str, piece: str) -> None:
    assert piece in planted(runner, path, text)[1]


@pytest.mark.parametrize(
    ("runner", "path", "text"),
    [
        (Runner.NODE, "a.test.js", "foo()\n"),
        (Runner.GO, "a_test.go", "// nothing\n"),
        (Runner.CARGO, "src/lib.rs", "fn x() {}\n"),
        (Runner.RSPEC, "spec/a_spec.rb", "x\n__END__\ndata\n"),
        (Runner.PHPUNIT, "tests/a.php", "<?php echo 1;\n"),
        (Runner.MAVEN, "T.java", "class T { }"),
        (Runner.MAVEN, "T.groovy", "import org.junit.Test\n"),
        (Runner.CTEST, "CMakeLists.txt", ""),
        (Runner.OUTPUT, "t.sh", ""),
    ],
)
def test_where_it_cannot_be_seen_how_nothing_is_planted(runner: Runner, path: str, text: str) -> None:
    assert adapter_of(runner).planted(path, text, NAME) is None


# -- streams ----------------------------------------------------------------------------------------


def test_a_rust_binary_that_ends_before_its_tests_spoils_the_reading() -> None:
    whole = captured("cargo.txt").decode()
    cut = "     Running unittests src/lib.rs (target/debug/deps/early-1)\n\nrunning 3 tests\n"

    first, second = read(Runner.CARGO, whole.encode()), read(Runner.CARGO, (cut + whole).encode())
    assert first is not None and first.cases
    assert second is not None and not second.cases


def test_a_rust_result_that_counts_other_than_announced_spoils_the_reading() -> None:
    reading = read(Runner.CARGO, captured("cargo.txt").replace(b"running 1 test\n", b"running 2 tests\n", 1))
    assert reading is not None and not reading.cases


def test_a_go_package_cannot_pass_with_a_test_that_has_not_ended() -> None:
    events = [
        {"Action": "run", "Package": "p", "Test": "TestA"},
        {"Action": "run", "Package": "p", "Test": "TestB"},
        {"Action": "pass", "Package": "p", "Test": "TestA"},
        {"Action": "pass", "Package": "p"},
    ]
    text = "".join(json.dumps(event) + "\n" for event in events)
    assert read(Runner.GO, text.encode()) is None

    failed = text.replace('"pass", "Package": "p"}', '"fail", "Package": "p"}')
    reading = adapter_of(Runner.GO).read(Evidence(reports=(), output=failed))
    assert reading is not None and reading.cases["p::TestA"].outcome is CaseOutcome.PASSED


def test_nodes_report_has_to_come_to_its_end() -> None:
    whole = captured("node.jsonl")

    assert read(Runner.NODE, whole) is not None
    assert read(Runner.NODE, whole.replace(b'{"end":true}', b"")) is None


NEXTEST = """\
    Starting 2 tests across 1 binary (1 test skipped)
        SKIP [         ] lamp tests::later
        PASS [   0.005s] (1/2) lamp tests::two
  stdout ───

    running 1 test
    test tests::two ... ok

    test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out

        PASS [   0.005s] (2/2) lamp inner::five
     Summary [   0.114s] 2 tests run: 2 passed, 1 skipped
"""


def test_a_process_that_ends_early_is_no_pass_to_us() -> None:
    reading = read(Runner.NEXTEST, NEXTEST.encode(), {"src/lib.rs", "src/inner.rs"})

    assert reading is not None and (reading.passed, reading.failed, reading.skipped) == (1, 0, 2)
    assert "before the test came to its end" in reading.cases["lamp::inner::five"].message
    assert reading.cases["lamp::inner::five"].file == "src/inner.rs"


@pytest.mark.parametrize("piece", ["     Summary", "2 tests run"])
def test_without_its_summary_nextest_has_said_nothing(piece: str) -> None:
    assert read(Runner.NEXTEST, NEXTEST.replace(piece, "").encode()) is None
