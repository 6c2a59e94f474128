"""The agent's commands, run as programs."""

from __future__ import annotations

import ast
import os
import subprocess
from pathlib import Path

import pytest

from harness.toolbox import COMMANDS, TOOLBOX


@pytest.fixture
def work(tmp_path: Path) -> Path:
    directory = tmp_path / "tree"
    directory.mkdir()
    (directory / "calc.py").write_text(
        "def add(a, b):\n    return a - b\n\n\ndef sub(a, b):\n    return a - b\n"
    )
    return directory


def call(work: Path, command: str, *arguments: str, source: str | bytes = "") -> tuple[int, str]:
    data = source.encode() if isinstance(source, str) else source
    done = subprocess.run(
        [TOOLBOX / command, *arguments],
        cwd=work,
        input=data,
        capture_output=True,
        env={"PATH": os.defpath + ":/usr/local/bin"},
        check=False,
    )
    assert done.stderr == b""
    return done.returncode, done.stdout.decode()


def block(old: str, new: str, size: int = 7) -> str:
    body = "".join(f"{line}\n" for line in (old, "=" * size, new) if line)
    return f"{'<' * size} OLD\n{body}{'>' * size} NEW\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_a_program_for_old_pythons_and_explains_itself(work: Path, command: str) -> None:
    path = TOOLBOX / command
    assert os.access(path, os.X_OK)
    ast.parse(path.read_text(), feature_version=(3, 9))
    code, text = call(work, command)
    assert code == 2
    assert f"usage: {command}" in text


def test_edit_replaces_what_occurs_once(work: Path) -> None:
    old = "def add(a, b):\n    return a - b"
    assert call(work, "edit", "calc.py", source=block(old, old.replace("-", "+"))) == (
        0,
        "edited calc.py: 1 block replaced\n",
    )
    assert (work / "calc.py").read_text().startswith("def add(a, b):\n    return a + b\n\n")


def test_edit_refuses_what_occurs_twice_and_says_where(work: Path) -> None:
    before = (work / "calc.py").read_text()
    code, text = call(work, "edit", "calc.py", source=block("    return a - b", "    return a + b"))
    assert code == 1
    assert "occurs 2 times (lines 2, 6)" in text
    assert (work / "calc.py").read_text() == before


def test_edit_shows_the_nearest_lines_when_nothing_matches(work: Path) -> None:
    code, text = call(work, "edit", "calc.py", source=block("def add(a, c):", "def add(a, b, c):"))
    assert code == 1
    assert "does not occur" in text
    assert "     1\tdef add(a, b):" in text


def test_edit_finds_part_of_a_line_when_no_whole_line_matches(work: Path) -> None:
    assert call(work, "edit", "calc.py", source=block("sub(a", "minus(a"))[0] == 0
    assert "def minus(a, b):" in (work / "calc.py").read_text()


def test_edit_takes_a_whole_line_before_a_part_of_another(work: Path) -> None:
    (work / "f").write_text("x = 1\nxx = 1\n")
    assert call(work, "edit", "f", source=block("x = 1", "x = 2"))[0] == 0
    assert (work / "f").read_text() == "x = 2\nxx = 1\n"


def test_edit_applies_all_blocks_or_none(work: Path) -> None:
    before = (work / "calc.py").read_text()
    good = block("def add(a, b):", "def plus(a, b):")
    assert call(work, "edit", "calc.py", source=good + block("nowhere", "x"))[0] == 1
    assert (work / "calc.py").read_text() == before
    assert call(work, "edit", "calc.py", source=good + block("def sub(a, b):", "def minus(a, b):"))[0] == 0
    assert "def plus" in (work / "calc.py").read_text()


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc\r\n", "b", "x\ny", b"a\r\nx\r\ny\r\nc\r\n"),
        (b"a\r\nb", "b", "x", b"a\r\nx"),
        (b"a\nb", "b", "x", b"a\nx"),
        (b"a\nb\n", "b", "x", b"a\nx\n"),
        (b"a\nb\nc\n", "b", "", b"a\nc\n"),
        (b"a\nb\n", "b", "", b"a\n"),
        (b"a\nb", "b", "", b"a\n"),
        (b"a\r\nb\nc\n", "a", "x", b"x\r\nb\nc\n"),
        (b"\xff\nb\n", "b", "x", b"\xff\nx\n"),
        (b"\xef\xbb\xbfa\nb\n", "b", "\u00e9", b"\xef\xbb\xbfa\n\xc3\xa9\n"),
    ],
)
def test_edit_keeps_line_endings_and_bytes(
    work: Path, before: bytes, old: str, new: str, after: bytes
) -> None:
    (work / "f").write_bytes(before)
    code, text = call(work, "edit", "f", source=block(old, new))
    assert (code, (work / "f").read_bytes()) == (0, after), text


def test_edit_keeps_the_mode_and_makes_new_files(work: Path) -> None:
    (work / "run").write_text("one\n")
    (work / "run").chmod(0o755)
    assert call(work, "edit", "run", source=block("one", "two"))[0] == 0
    assert (work / "run").stat().st_mode & 0o777 == 0o755
    assert call(work, "edit", "new/deep.py", source=block("", "x = 1"))[0] == 0
    assert (work / "new/deep.py").read_text() == "x = 1\n"
    assert call(work, "edit", "absent", source=block("x", "y"))[0] == 1


def test_edit_needs_longer_markers_for_text_with_markers(work: Path) -> None:
    (work / "doc.rst").write_text("Heading\n=======\ntext\n")
    code, text = call(work, "edit", "doc.rst", source=block("Heading\n=======", "Title\n======="))
    assert code == 1
    assert "longer markers" in text
    assert call(work, "edit", "doc.rst", source=block("Heading\n=======", "Title\n=====", 9))[0] == 0
    assert (work / "doc.rst").read_text() == "Title\n=====\ntext\n"


@pytest.mark.parametrize(
    "source", ["", "return a + b\n", "<<<<<<< OLD\na\n=======\nb\n", block("a - b", "a - b")]
)
def test_edit_refuses_what_is_no_edit(work: Path, source: str) -> None:
    code, text = call(work, "edit", "calc.py", source=source)
    assert code == 1
    assert text.endswith("Nothing was changed.\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_leads_out_of_the_tree(work: Path, command: str) -> None:
    secret = work.parent / "secret"
    secret.write_text("secret words\n")
    (work / "link").symlink_to(secret)
    (work / "up").symlink_to(work.parent)
    for path in ("link", "up/secret", "../secret", str(secret)):
        arguments = ("words", path) if command == "search" else (path,)
        code, text = call(work, command, *arguments, source=block("secret words", "x"))
        assert code != 0
        assert "leads outside" in text
    assert secret.read_text() == "secret words\n"


@pytest.mark.long
def test_view_numbers_lines_and_goes_on(work: Path) -> None:
    (work / "long").write_text("".join(f"line {n}\n" for n in range(1, 1001)))
    code, text = call(work, "view", "long")
    assert code == 0
    assert text.startswith("     1\tline 1\n")
    assert "[long: 1000 lines in all; go on with: view long 401-800]" in text
    assert call(work, "view", "long", "7-8")[1].startswith("     7\tline 7\n     8\tline 8\n")
    assert call(work, "view", "long", "1001-")[0] == 1
    assert call(work, "view", "long", "9-3")[0] == 1
    assert call(work, "view", "long", "all")[0] == 1


def test_view_bounds_width_refuses_binaries_and_lists_directories(work: Path) -> None:
    (work / "wide").write_text("x" * 100_000)
    assert len(call(work, "view", "wide")[1]) < 600
    (work / "image").write_bytes(b"\x89PNG\0\0")
    assert call(work, "view", "image") == (1, "view: image is a binary file of 6 bytes\n")
    os.mkfifo(work / "pipe")
    assert call(work, "view", "pipe")[0] == 1
    (work / "empty").touch()
    assert call(work, "view", "empty") == (0, "empty is empty\n")
    (work / ".git").mkdir()
    assert call(work, "view", ".")[1].splitlines() == [
        ".:",
        *(f"  {name}" for name in ("calc.py", "empty", "image", "pipe", "wide")),
    ]


@pytest.mark.long
def test_search_finds_with_place_and_skips_what_is_no_source(work: Path) -> None:
    (work / ".git").mkdir()
    (work / ".git/config").write_text("return a - b\n")
    (work / "blob").write_bytes(b"\0return a - b\n")
    (work / "loop").symlink_to(work)
    os.mkfifo(work / "pipe")
    code, text = call(work, "search", r"return a\s-")
    assert (code, text) == (0, "calc.py:2: return a - b\ncalc.py:6: return a - b\n")
    assert call(work, "search", "-F", "(a, b)", "calc.py")[1].count("\n") == 2
    assert call(work, "search", "-i", "DEF ADD")[1] == "calc.py:1: def add(a, b):\n"
    assert call(work, "search", "nothing like it") == (1, "no matches\n")


def test_search_is_bounded_and_says_what_is_wrong(work: Path) -> None:
    for number in range(30):
        (work / f"f{number}").write_text("hit\n" * 30)
    text = call(work, "search", "hit")[1]
    assert text.count(": hit") == 100
    assert "[800 more matches; narrow the pattern" in text
    code, text = call(work, "search", "(")
    assert code == 2
    assert "use -F" in text
