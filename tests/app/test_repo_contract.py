"""The schema for editors, the check for people and CI, and the reference page."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from typer.testing import CliRunner

from app.cli import cli
from app.contract_page import contract_page
from app.docs import ROOT
from app.repo_contract import check_file, schema, schema_text
from domain.errors import ConfigurationError
from domain.repo_config import LARGEST_FILE, parse_repo_config

EXAMPLE = (
    (ROOT / "docs/how-to/configure-a-repository.md").read_text().partition("```yaml\n")[2].partition("```")[0]
)

FILES = ("good.yml", "bad.yml", "nowhere.yml")


def test_the_schema_is_one_of_the_dialect_that_it_names() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    assert json.loads(schema_text())["$schema"].endswith("2020-12/schema")


def test_the_example_of_the_guide_can_be_followed_and_fits_the_schema() -> None:
    assert parse_repo_config(EXAMPLE.encode()).labels == {"defect": "bug", "tech-debt": "tidy"}
    jsonschema.validate(yaml.safe_load(EXAMPLE), schema())


@pytest.mark.parametrize(
    "wrong",
    [
        {"tset": {}},
        {"max_iterations": "40"},
        {"commit": {"style": "emoji"}},
        {"working_directory": "../x"},
        {"categories": {"own": {}}},
        {"branch_prefix": "-x"},
    ],
)
def test_the_schema_refuses_what_the_service_refuses(wrong: dict[str, object]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, schema())
    with pytest.raises(ConfigurationError):
        parse_repo_config(yaml.safe_dump(wrong).encode())


def test_a_check_names_each_mistake_at_its_place(tmp_path: Path) -> None:
    file = tmp_path / "mine.yml"
    file.write_text("tset: {}\nmax_iterations: -1\n")
    text, status = check_file(file, as_json=False)
    assert status == 1
    assert text.splitlines()[0].startswith(
        f"{file}:1:1: tset: not a key that is known here; did you mean `test`?"
    )
    assert text.splitlines()[1].startswith(f"{file}:2:1: max_iterations: ")
    found = json.loads(check_file(file, as_json=True)[0])
    assert (found["ok"], found["problems"][0]["nearest"], found["problems"][0]["line"]) == (False, "test", 1)


def test_a_good_file_says_so(tmp_path: Path) -> None:
    file = tmp_path / ".fixwright.yml"
    file.write_text(EXAMPLE)
    assert check_file(file, as_json=False) == (f"{file}: can be followed as it is\n", 0)
    assert json.loads(check_file(file, as_json=True)[0]) == {"file": str(file), "ok": True, "problems": []}


def test_a_file_that_is_too_long_or_not_there_is_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "long.yml"
    file.write_text("#" * (LARGEST_FILE + 10))
    assert check_file(file, as_json=False) == (f"{file}: longer than 64 KiB\n", 1)
    with pytest.raises(ConfigurationError, match="cannot be read: No such file"):
        check_file(tmp_path / "nowhere.yml", as_json=False)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        check_file(tmp_path, as_json=False)


def test_the_reference_has_every_key() -> None:
    page = contract_page()
    for key in (
        "`labels`",
        "`categories.NAME.evidence`",
        "`test.flaky`",
        "`commit.style`",
        "`max_daily_cost_usd`",
    ):
        assert f"| {key} |" in page
    assert "| `categories.NAME.evidence` | `failing_test` or `suite` or `documentation` | required |" in page


def test_the_exit_status_says_what_was_found(tmp_path: Path) -> None:
    (tmp_path / "good.yml").write_text(EXAMPLE)
    (tmp_path / "bad.yml").write_text("x: 1\n")
    calls = [CliRunner().invoke(cli, ["config", "check", str(tmp_path / name)]) for name in FILES]
    assert [call.exit_code for call in calls[:2]] == [0, 1]
    assert isinstance(calls[2].exception, ConfigurationError), "the command line makes status 2 of it"
    assert json.loads(CliRunner().invoke(cli, ["schema"]).stdout) == schema()
