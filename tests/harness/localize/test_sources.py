"""Reading sources: parts, bases, imports and messages of each language, and what is kept of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.localize.aside import is_aside
from harness.localize.facts import FileFacts, Kind
from harness.localize.kept_facts import FactsKeeper
from harness.localize.reading import Shelf, facts_of

PYTHON = '''"""Mail."""
from .base import (Reader,
    Writer as W)
import os

LIMIT = 3

class Parser(Reader):
    """Reads headers."""
    strict = False

    @property
    def header(self, *, limit=2):
        raise ValueError("no header was found in %s today" % self)

def main():
    def inner(): ...
    return Parser().header
'''


def named(facts: FileFacts) -> dict[str, Kind]:
    return {part.qualified: part.kind for part in facts.parts if part.name}


def test_a_python_file() -> None:
    facts = facts_of("mail/parser.py", PYTHON)
    terms = dict(zip((part.qualified for part in facts.parts), facts.terms, strict=True))

    assert named(facts) == {
        "Parser": Kind.CLASS,
        "Parser.header": Kind.FUNCTION,
        "main": Kind.FUNCTION,
    }
    header = next(part for part in facts.parts if part.name == "header")
    assert (header.first_line, header.last_line) == (12, 14)
    assert facts.bases == {"Parser": ("Reader",)}
    assert {(i.module, i.name, i.alias, i.level) for i in facts.imports} == {
        ("base", "Reader", "", 1),
        ("base", "Writer", "W", 1),
        ("os", "", "", 0),
    }
    assert "s:header was found" in terms["Parser.header"]
    assert "a:limit" in terms["Parser.header"]
    assert "v:strict" in terms["Parser"] and "v:LIMIT" in terms[""]
    assert "c:Parser" in terms["main"]
    assert "found" not in terms["Parser"], "a method's text is not its class'"


LANGUAGES = {
    "a.js": ("class Cart extends Base {\n  total(tax) { return 1 }\n}\nconst f = () => 2\nimport './y'\n",
             {"Cart", "Cart.total", "f"}, "./y", {"Cart": ("Base",)}),
    "a.ts": ("export interface Shape { area(): number }\nexport function grow(s: Shape) { return s }\n",
             {"Shape", "grow"}, "", None),
    "a.go": ('package p\n\nimport (\n\t"acme/store"\n)\n\nfunc (s *Store) Load() error {\n\treturn nil\n}\n',
             {"Store.Load"}, "acme/store", None),
    "a.java": ("import com.acme.Base;\nclass Mailer extends Base {\n  void send() {}\n}\n",
               {"Mailer", "Mailer.send"}, "com/acme/Base", {"Mailer": ("Base",)}),
    "a.rs": ("use crate::lexer::Token;\nimpl Parser {\n    fn next(&self) {}\n}\n", {"Parser", "Parser.next"},
             "crate/lexer/Token", None),
    "a.rb": ("require 'acme/base'\nclass Mailer < Base\n  def send!\n  end\nend\n", {"Mailer", "Mailer.send"},
             "acme/base", {"Mailer": ("Base",)}),
    "a.c": ('#include "io/parse.h"\nstatic int parse_line(char *s) {\n  return 0;\n}\n', {"parse_line"},
            "io/parse.h", None),
    "a.cpp": ("class Trim : public Base {\n  void run() { go(); }\n};\nint Trim::size(int x) { return x; }\n",
              {"Trim", "Trim.run", "size"}, "", None),
    "a.cs": ("using Acme.Base;\nnamespace X { class Cart : Base { void Add() {} } }\n",
             {"X", "X.Cart", "X.Cart.Add"}, "Acme/Base", {"X.Cart": ("Base",)}),
    "a.php": ("<?php\nuse Acme\\Base;\nclass Cart extends Base { public function add() {} }\n",
              {"Cart", "Cart.add"}, "Acme/Base", {"Cart": ("Base",)}),
    "a.kt": ("class Cart {\n    fun add(x: Int) {\n    }\n}\n", {"Cart", "Cart.add"}, "", None),
}  # fmt: skip


@pytest.mark.parametrize("name", LANGUAGES)
def test_other_languages(name: str) -> None:
    text, parts, imported, bases = LANGUAGES[name]
    facts = facts_of(name, text)

    assert set(named(facts)) == parts
    assert not imported or imported in {each.module for each in facts.imports}
    assert bases is None or facts.bases == bases


@pytest.mark.parametrize(
    ("path", "aside"),
    [
        ("tests/test_a.py", True),
        ("pkg/tests/helpers.py", True),
        ("docs/conf.py", True),
        ("examples/run.py", True),
        ("tools/release.py", True),
        ("pkg/tools/cut.py", False),
        ("src/click/testing.py", False),
        ("pkg/testing/client.py", False),
        ("testing/test_x.py", True),
        ("src/a.test.ts", True),
        ("src/main.rs", False),
    ],
)
def test_what_stands_aside(path: str, aside: bool) -> None:
    assert is_aside(path) is aside


def tree_with(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def test_only_changed_files_are_read_again(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    tree_with(tree, one="def first(): ...\n", two="def second(): ...\n")
    counting = CountingKeeper(tmp_path / "index.sqlite")

    assert len(list(Shelf(counting).read(tree))) == 2
    tree_with(tree, two="def other(): ...\n")
    read = {source.path: kept.facts().parts[0].name for source, kept in Shelf(counting).read(tree)}

    assert read == {"one.py": "first", "two.py": "other"}
    assert counting.new == [2, 1]


class CountingKeeper(FactsKeeper):
    def __init__(self, file: Path) -> None:
        super().__init__(file)
        self.new: list[int] = []

    def put(self, new) -> None:  # type: ignore[no-untyped-def]
        self.new.append(len(new))
        super().put(new)


def test_a_damaged_index_is_begun_anew(tmp_path: Path) -> None:
    tree = tree_with(tmp_path, one="def first(): ...\n")
    (tmp_path / "kept").mkdir()
    keeper = FactsKeeper(tmp_path / "kept" / "index.sqlite")
    list(Shelf(keeper).read(tree))
    (file,) = (tmp_path / "kept").glob("*.sqlite")
    file.write_bytes(b"no database" * 1000)

    for _ in range(2):
        assert [source.path for source, _ in Shelf(keeper).read(tree)] == ["one.py"]


@pytest.mark.long
def test_a_full_index_lets_the_oldest_go(tmp_path: Path) -> None:
    keeper = FactsKeeper(tmp_path / "index.sqlite", largest=60_000)
    for number in range(12):
        tree = tmp_path / str(number)
        tree.mkdir()
        tree_with(tree, one="".join(f"def name_{number}_{each}(): ...\n" for each in range(200)))
        list(Shelf(keeper).read(tree))
    (file,) = tmp_path.glob("*.sqlite")

    assert file.stat().st_size < 120_000


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "(" * 5000,
        "def f():\n" + " " * 100_000,
        "a" * 200_000,
        "'''" * 999,
        "if x:\n " * 900,
        "\0",
        "",
    ],
)
@pytest.mark.parametrize("name", ["a.py", "a.js", "a.go", "a.c"])
def test_hostile_sources_are_read_all_the_same(name: str, text: str) -> None:
    assert facts_of(name, text).parts
