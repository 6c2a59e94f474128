"""The command line: help, version, and wrong settings as one line and exit status 2."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = str(Path(sys.executable).parent / "fixwright")
GOOD = {
    "FIXWRIGHT_WEBHOOK_SECRET": "a-secret-of-the-tests-of-32-bytes!!",
    "FIXWRIGHT_REPOSITORIES": "local:acme/shop",
    "FIXWRIGHT_MODEL": "openai/gpt-4o",
    "FIXWRIGHT_MAX_ITERATIONS": "5",
}

pytestmark = pytest.mark.skipif(not Path(PROGRAM).exists(), reason="the package is not installed here")


def run(data: Path, *words: str, **changes: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": "/usr/bin:/bin",
        "FIXWRIGHT_DATA_DIR": str(data / "service"),
        "FIXWRIGHT_LOCAL_FORGE": str(data / "forge"),
        **GOOD,
        **changes,
    }
    set_ones = {name: value for name, value in environment.items() if value != "(unset)"}
    return subprocess.run([PROGRAM, *words], env=set_ones, capture_output=True, text=True, timeout=60)


def test_version_and_help(tmp_path: Path) -> None:
    version = run(tmp_path, "--version")
    assert version.returncode == 0
    assert version.stdout.startswith("fixwright 0.")
    text = run(tmp_path, "--help").stdout
    for command in ("serve", "work", "demo"):
        assert command in text


@pytest.mark.parametrize(
    ("command", "changes", "words"),
    [
        ("work", {"FIXWRIGHT_MODEL": "(unset)"}, "FIXWRIGHT_MODEL: is not set; for example"),
        ("work", {"FIXWRIGHT_MAX_ITERATIONS": "many"}, "FIXWRIGHT_MAX_ITERATIONS: "),
        pytest.param(
            "work",
            {"FIXWRIGHT_MAX_COST_PER_TASK_USD": "nan"},
            "FIXWRIGHT_MAX_COST_PER_TASK_USD: ",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "work",
            {"FIXWRIGHT_MAX_DAILY_COST_USD": "-1"},
            "FIXWRIGHT_MAX_DAILY_COST_USD: ",
            marks=pytest.mark.long,
        ),
        pytest.param("work", {"FIXWRIGHT_REPOSITORIES": "github:acme/web"}, "github", marks=pytest.mark.long),
        ("work", {"FIXWRIGHT_LOCAL_FORGE": "(unset)"}, "FIXWRIGHT_LOCAL_FORGE: "),
        ("serve", {"FIXWRIGHT_WEBHOOK_SECRET": "(unset)"}, "FIXWRIGHT_WEBHOOK_SECRET: is not set"),
        ("serve", {"FIXWRIGHT_WEBHOOK_SECRET": "   "}, "FIXWRIGHT_WEBHOOK_SECRET: "),
        pytest.param(
            "serve",
            {"FIXWRIGHT_WEBHOOK_SECRET": "short"},
            "FIXWRIGHT_WEBHOOK_SECRET: ",
            marks=pytest.mark.long,
        ),
        ("serve", {"FIXWRIGHT_WEBHOK_SECRET": "x"}, "FIXWRIGHT_WEBHOK_SECRET: there is no such setting"),
        pytest.param("serve", {"FIXWRIGHT_PORT": "99999"}, "FIXWRIGHT_PORT: ", marks=pytest.mark.long),
    ],
)
def test_a_wrong_setting_is_one_line_that_names_it_and_exit_status_2(
    tmp_path: Path, command: str, changes: dict[str, str], words: str
) -> None:
    done = run(tmp_path, command, **changes)
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("fixwright: ")
    assert words in line
    assert "short" not in line
