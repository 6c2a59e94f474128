"""`fixwright deploy fly --dry-run`: exact commands, in order, for this fly.toml, and no secret."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import cli
from app.deploy.fly import VOLUME, FlyPlan, words
from domain.errors import ConfigurationError

ROOT = Path(__file__).parents[3]
KEY = "sk-canary-0123456789"


def plan(**changes: object) -> FlyPlan:
    given: dict[str, object] = {
        "app": "fixwright-acme",
        "region": "fra",
        "repositories": "github:acme/shop,github:acme/web",
        "model": "anthropic/claude-sonnet-4-5",
    }
    return FlyPlan(**(given | changes))  # type: ignore[arg-type]  # names are the fields'


def commands(what: FlyPlan) -> list[str]:
    return [step.command for step in what.steps()]


def test_the_steps_in_their_order() -> None:
    assert [command.split()[1] for command in commands(plan()) if command.startswith("fly")] == [
        *("auth", "launch", "volumes", "secrets", "deploy", "logs", "ssh"),
    ]


def test_the_volume_is_the_one_that_is_mounted_where_the_app_starts() -> None:
    configuration = tomllib.loads((ROOT / "fly.toml").read_text())
    assert configuration["mounts"]["source"] == VOLUME
    assert any(
        f"volumes create {VOLUME} --app fixwright-acme --region ams" in c
        for c in commands(plan(region="ams"))
    )


@pytest.mark.parametrize(
    ("model", "key"),
    [
        ("anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
        ("openai/gpt-5", "OPENAI_API_KEY"),
        ("openrouter/x/y", "OPENROUTER_API_KEY"),
        ("together_ai/x", "TOGETHER_AI_API_KEY"),
    ],
)
def test_the_models_key_goes_by_its_usual_name(model: str, key: str) -> None:
    assert any(f'{key}="${key}"' in command for command in commands(plan(model=model)))


def test_no_secret_is_printed_and_a_missing_one_is_said() -> None:
    told = words(plan(), environment={"ANTHROPIC_API_KEY": KEY}, as_json=False)
    assert KEY not in told and "First: export" not in told
    assert "First: export ANTHROPIC_API_KEY=" in words(plan(), environment={}, as_json=False)


def test_what_is_printed_is_a_script_that_hands_over_just_what_was_said(tmp_path: Path) -> None:
    """With a `fly` that writes down its arguments: the shell's quoting is the shell's."""
    told = tmp_path / "told"
    for name in ("fly", "open"):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\nprintf '%s\\0' {name} \"$@\" >>{told}\nprintf '\\n' >>{told}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    odd = plan(repositories="github:acme/shop,github:acme/it's; touch pwned")
    script = words(odd, environment={}, as_json=False)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "ANTHROPIC_API_KEY": KEY}
    done = subprocess.run(
        ["/bin/sh", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert not (tmp_path / "pwned").exists(), done.stderr
    calls = [line.split("\0")[:-1] for line in told.read_text().splitlines()]
    secrets = next(call for call in calls if call[1:2] == ["secrets"])
    pairs = dict(pair.split("=", 1) for pair in secrets if "=" in pair)
    assert pairs["FIXWRIGHT_REPOSITORIES"] == odd.repositories
    assert pairs["ANTHROPIC_API_KEY"] == KEY
    assert len(pairs["FIXWRIGHT_CONSOLE_TOKEN"]) == 32 and pairs["FIXWRIGHT_CONSOLE_TOKEN"] in done.stderr
    assert next(call for call in calls if call[1:2] == ["launch"])[-1] == "fra"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"app": "Fix wright"}, "--app: 'Fix wright'"),
        ({"app": "x" * 31}, "2 to 30"),
        ({"region": "Frankfurt"}, "fly platform regions"),
        ({"repositories": " "}, "github:acme/shop"),
        ({"model": "gpt"}, "--model: 'gpt'"),
    ],
)
def test_what_cannot_be_is_refused_with_the_way_out(changes: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        plan(**changes)


def test_the_command() -> None:
    given = ["deploy", "fly", "--app", "fixwright-acme", "--repositories", "github:acme/shop"]
    done = CliRunner().invoke(cli, [*given, "--dry-run", "--json"])
    assert done.exit_code == 0 and json.loads(done.output)["app"] == "fixwright-acme"
    assert isinstance(CliRunner().invoke(cli, given).exception, ConfigurationError)
