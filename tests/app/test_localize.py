"""`fixwright localize` on the command line: an issue from a file or standard input, lines or JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import cli
from app.localize import Question, answer
from domain.errors import ConfigurationError

PARSER = "class Parser:\n    def parse_header(self, line):\n        return line.split(':')\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "mail").mkdir()
    (tmp_path / "mail" / "parser.py").write_text(PARSER)
    (tmp_path / "mail" / "writer.py").write_text("def write_rows(rows):\n    return list(rows)\n")
    return tmp_path


def test_lines_for_people(repository: Path) -> None:
    said = CliRunner().invoke(
        cli, ["localize", "--repo", str(repository), "--budget", "200"], input="parse_header cuts the value\n"
    )

    assert said.exit_code == 0, said.output
    first = said.output.splitlines()[0]
    assert first.startswith("100 %  mail/parser.py:2 Parser.parse_header  ")
    assert " 0.0 %" not in said.output and "relative to the best; full" in said.output
    assert "3          return line.split(':')" in said.output


def test_json_for_programs(repository: Path) -> None:
    issue, failing = repository / "issue.txt", repository / "out.txt"
    issue.write_text("Something is wrong\nwrite_rows or parse_header")
    failing.write_text("mail/writer.py:2: in write_rows\nE   ValueError: x\n")
    options = ["--repo", str(repository), "--issue", str(issue), "--failing-output", str(failing)]
    said = CliRunner().invoke(cli, ["localize", *options, "--top", "1", "--json"])

    found = json.loads(said.output)
    assert [suspect["path"] for suspect in found["suspects"]] == ["mail/writer.py"]
    assert found["suspects"][0]["symbol"] == "write_rows"
    assert found["suspects"][0]["why"].startswith("it is in the failing test's traceback")
    assert found["suspects"][0]["relative"] == 1.0
    assert found["strategy"] == "full" and found["slices"] == ""


def test_nothing_found_is_said(repository: Path) -> None:
    said = CliRunner().invoke(cli, ["localize", "--repo", str(repository)], input="zebra\n")

    assert said.output == "Nothing in this repository matches.\n"


@pytest.mark.parametrize("option", ["--repo", "--issue", "--failing-output"])
def test_what_cannot_be_read_is_named(repository: Path, option: str) -> None:
    said = CliRunner().invoke(
        cli, ["localize", "--repo", str(repository), option, str(repository / "absent")], input="x"
    )

    assert isinstance(said.exception, ConfigurationError)
    assert option in str(said.exception)


def test_what_is_no_text_does_no_harm(repository: Path) -> None:
    said = CliRunner().invoke(cli, ["localize", "--repo", str(repository)], input=b"parse_header \xff\xfe\n")

    assert said.exit_code == 0, said.output
    assert said.output.startswith("100 %  mail/parser.py:2 Parser.parse_header")


def test_what_a_terminal_would_obey_is_left_out(repository: Path) -> None:
    (repository / "mail" / "zebra.py").write_text("def parse_zebra():\n    return '\x1b[2J'\n")
    issue = repository / "issue.txt"
    issue.write_text("parse_zebra fails")

    said = answer(Question(repository, str(issue), None, top=3, budget=200), as_json=False)

    assert "2      return ''" in said and "\x1b" not in said


def test_scores_are_shown_as_ratios_to_the_best(repository: Path) -> None:
    for number in range(6):
        (repository / f"other_{number}.py").write_text(f"def line_{number}():\n    return 'value'\n")

    said = CliRunner().invoke(
        cli, ["localize", "--repo", str(repository)], input="parse_header cuts the value"
    )

    ratios = [line[:5] for line in said.output.splitlines()[:-1]]
    assert ratios[0] == "100 %" and len(ratios) > 2
    assert all(ratio == " <1 %" or 1 <= int(ratio[:3]) <= 100 for ratio in ratios)


def test_without_a_report_there_is_nothing_to_find(repository: Path) -> None:
    said = CliRunner().invoke(cli, ["localize", "--repo", str(repository)], input=" \n")

    assert isinstance(said.exception, ConfigurationError) and "--issue: is empty" in str(said.exception)
