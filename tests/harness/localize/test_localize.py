"""Localization in small trees: what each kind of evidence does, and what is never read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from domain.model import Localization
from domain.ports import Localizer
from harness.localize import FaultLocalizer, NullLocalizer
from harness.localize.definitions import outline
from harness.localize.query import read_query

PARSER = (
    "import re\n\n\nclass Parser:\n    def __init__(self):\n        self.state = 0\n\n"
    "    def parse_header(self, line):\n        name, value = line.split(':')\n        return name, value\n\n"
    "    def parse_body(self, text):\n        return text.splitlines()\n"
)
WRITER = (
    "class Writer:\n    def write_rows(self, rows):\n        for row in rows:\n            self.emit(row)\n"
)
TREE: Mapping[str, str] = {
    "mail/__init__.py": "",
    "mail/parser.py": PARSER,
    "mail/writer.py": WRITER,
    "mail/config.py": "TIMEOUT = 30\nRETRIES = 3\n",
    "tests/test_parser.py": "def test_parse_header():\n    assert parse_header('header: value')\n" * 5,
    "docs/conf.py": "parse_header = header = value = colon = 1\n" * 5,
}


def located(
    tmp_path: Path, files: Mapping[str, str | bytes], issue: str, failing: str = "", budget: int = 1000
) -> Localization:
    for path, content in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content if isinstance(content, bytes) else content.encode())
    return FaultLocalizer().localize(tmp_path, issue, failing, budget)


@pytest.mark.parametrize(
    ("issue", "path", "symbol"),
    [
        (
            "Header values with a colon are cut\nA header such as `a: b:c` fails.",
            "mail/parser.py",
            "parse_header",
        ),
        ("Crash in write_rows\nwith empty rows", "mail/writer.py", "Writer.write_rows"),
        ("Wrong default\nThe timeout in mail/config.py is too short", "mail/config.py", ""),
        ("Wrong default\nSee mail.writer for the place", "mail/writer.py", ""),
        (
            'Crash\nTraceback (most recent call last):\n  File "/x/site-packages/mail/parser.py", line 13,'
            " in parse_body\nAttributeError: x",
            "mail/parser.py",
            "parse_body",
        ),
    ],
)
def test_the_place_is_found(tmp_path: Path, issue: str, path: str, symbol: str) -> None:
    found = located(tmp_path, TREE, issue)

    first = found.suspects[0]
    assert first.path == path, found.suspects
    assert symbol in first.symbol
    assert first.why and first.score > 0


def test_tests_and_documentation_stand_back(tmp_path: Path) -> None:
    found = located(tmp_path, TREE, "parse_header cuts a header value at the colon")

    paths = [suspect.path for suspect in found.suspects]
    assert paths[0] == "mail/parser.py"
    assert {"tests/test_parser.py", "docs/conf.py"} <= set(paths[1:])


def test_a_failing_test_is_the_strongest_evidence(tmp_path: Path) -> None:
    issue = "Writing rows is slow\nwrite_rows in mail/writer.py"
    failing = (
        "tests/test_parser.py:2: in test_parse_header\n    assert parse_header('a')\n"
        "mail/parser.py:9: in parse_header\n    name, value = line.split(':')\n"
        "E   ValueError: not enough values\n"
    )

    assert located(tmp_path, TREE, issue).suspects[0].path == "mail/writer.py"
    assert located(tmp_path, TREE, issue, failing).suspects[0].path == "mail/parser.py"


def test_slices_are_whole_numbered_definitions_within_the_budget(tmp_path: Path) -> None:
    issue = "parse_header cuts a header value at the colon"
    found = located(tmp_path, TREE, issue, budget=120)

    assert len(found.slices.encode()) <= 120 * 4
    assert "mail/parser.py:8-10 Parser.parse_header\n" in found.slices
    assert " 9          name, value = line.split(':')" in found.slices
    assert located(tmp_path, TREE, issue, budget=0).slices == ""


def test_two_runs_give_the_same(tmp_path: Path) -> None:
    issue = "parse rows header write value"
    one, two = located(tmp_path, TREE, issue), located(tmp_path, TREE, issue)

    assert (one.suspects, one.slices) == (two.suspects, two.slices)


def test_what_must_not_be_read_is_not(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text("def parse_header(): 'topsecret'\n")
    tree = tmp_path / "tree"
    files: dict[str, str | bytes] = {
        "node_modules/x/parse_header.js": "function parse_header() {}\n",
        "vendor/parse_header.py": "def parse_header(): ...\n",
        "binary.py": b"\0parse_header" * 10,
        "large.py": "parse_header = 1\n" * 70_000,
        "real.py": "def other(): ...\n",
        "two\nlines.py": "def parse_header(): ...\n",
    }
    tree.mkdir()
    (tree / "link.py").symlink_to(outside / "secret.py")
    (tree / "linked").symlink_to(outside)

    found = located(tree, files, "parse_header fails")

    assert "topsecret" not in found.slices
    assert {suspect.path for suspect in found.suspects} <= {"real.py"}


OTHER = {
    "src/cart.js": "export class Cart {\n  addItem(item) {\n    this.items.push(item);\n  }\n\n"
    "  computeTotal(tax) {\n    return this.items.reduce((a, b) => a + b, 0) * tax;\n  }\n}\n",
    "src/format.ts": "export const formatPrice = (value: number) => {\n  return value.toFixed(2);\n};\n",
    "pkg/store.go": "package pkg\n\nfunc (s *Store) LoadKeys(path string) error {\n\treturn nil\n}\n",
    "src/lib.rs": "impl Lexer {\n    pub fn next_token(&self) {\n        todo!()\n    }\n}\n",
    "lib/mailer.rb": "class Mailer\n  def deliver_later(message)\n    queue << message\n  end\nend\n",
    "src/Main.java": "class Main {\n    static int countWords(String s) {\n        return 0;\n    }\n}\n",
}


@pytest.mark.parametrize(
    ("issue", "path", "symbol"),
    [
        ("computeTotal ignores the tax", "src/cart.js", "computeTotal"),
        ("formatPrice drops digits", "src/format.ts", "formatPrice"),
        ("LoadKeys swallows errors", "pkg/store.go", "LoadKeys"),
        ("next_token loops for ever", "src/lib.rs", "next_token"),
        ("deliver_later loses messages", "lib/mailer.rb", "deliver_later"),
        ("countWords of an empty string", "src/Main.java", "countWords"),
        ("Crash\n    at computeTotal (/app/src/cart.js:7:12)\n", "src/cart.js", "computeTotal"),
    ],
)
def test_other_languages_by_their_patterns(tmp_path: Path, issue: str, path: str, symbol: str) -> None:
    found = located(tmp_path, OTHER, issue)

    assert found.suspects[0].path == path
    assert symbol in found.suspects[0].symbol
    assert symbol in found.slices


@pytest.mark.parametrize("piece", ["a.b", "a_", "a/", "a.", "<!--", " \n", 'File "', "at ("])
def test_a_long_issue_is_read_in_linear_time(piece: str) -> None:
    """A pattern that is not linear makes this suite hang; one that is takes some hundredths of a second."""
    text = piece * (150_000 // len(piece))
    read_query(text, text)


@pytest.mark.parametrize("name", ["a.js", "a.go", "a.py", "a.rb"])
@pytest.mark.parametrize("piece", ["static\n", "static ", "pub(", "func (", "class ", " \n", "a b ", "impl<"])
def test_a_file_is_outlined_in_linear_time(name: str, piece: str) -> None:
    outline(name, piece * (60_000 // len(piece)))


@pytest.mark.parametrize("issue", ["", "\n\n", "the of and", "🎉🎉", "(" * 5000, "a.b" * 3000, "\0\x1b[31m"])
def test_any_text_will_do(tmp_path: Path, issue: str) -> None:
    assert located(tmp_path, TREE, issue).strategy == "full"


def test_an_empty_tree_has_no_suspects(tmp_path: Path) -> None:
    assert located(tmp_path, {}, "anything").suspects == ()


def test_source_that_does_not_parse_is_still_searched(tmp_path: Path) -> None:
    found = located(
        tmp_path, {"a.py": "def broken_thing(:\n    pass\n", "b.py": "x = 1\n"}, "broken_thing fails"
    )

    assert found.suspects[0].path == "a.py"
    assert "broken_thing" in found.slices


@pytest.mark.parametrize("localizer", [NullLocalizer(), FaultLocalizer()])
def test_every_localizer_keeps_the_contract(tmp_path: Path, localizer: Localizer) -> None:
    (tmp_path / "a.py").write_text("def one(): ...\n")
    found = localizer.localize(tmp_path, "one", "", 50)

    assert found.strategy == localizer.name
    assert found.seconds >= 0
    assert len(found.slices.encode()) <= 200
