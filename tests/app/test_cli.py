"""The command line: help, version, and wrong settings as one line and exit status 2."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from store.database import Database

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
    for command in ("serve", "work", "backup", "restore", "app", "demo"):
        assert command in text


@pytest.mark.parametrize(
    ("command", "changes", "words"),
    [
        ("work", {"FIXWRIGHT_MODEL": "(unset)"}, "FIXWRIGHT_MODEL: is not set; for example"),
        pytest.param(
            "work",
            {"FIXWRIGHT_MAX_ITERATIONS": "many"},
            "FIXWRIGHT_MAX_ITERATIONS: ",
            marks=pytest.mark.long,
        ),
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
        pytest.param(
            "work",
            {"FIXWRIGHT_REPOSITORIES": "github:acme/web", "FIXWRIGHT_GITHUB_PRIVATE_KEY": "x"},
            "FIXWRIGHT_GITHUB_APP_ID: is not set",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "work", {"FIXWRIGHT_LOCAL_FORGE": "(unset)"}, "FIXWRIGHT_LOCAL_FORGE: ", marks=pytest.mark.long
        ),
        ("serve", {"FIXWRIGHT_WEBHOOK_SECRET": "(unset)"}, "FIXWRIGHT_WEBHOOK_SECRET: is not set"),
        pytest.param(
            "serve",
            {"FIXWRIGHT_WEBHOOK_SECRET": "   "},
            "FIXWRIGHT_WEBHOOK_SECRET: ",
            marks=pytest.mark.long,
        ),
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


@pytest.mark.long
def test_a_database_of_a_newer_version_is_one_line_and_exit_status_2(tmp_path: Path) -> None:
    path = tmp_path / "service" / "fixwright.sqlite3"
    path.parent.mkdir()
    with Database(path) as database:
        database.migrate()
        with database.write() as connection:
            connection.execute("PRAGMA user_version = 99")

    for command in ("serve", "work"):
        done = run(tmp_path, command)

        assert done.returncode == 2, done.stderr
        (line,) = done.stderr.strip().splitlines()
        assert line.startswith("fixwright: database ")
        assert "its schema is 99, and this version of Fixwright knows only" in line


@pytest.mark.long
def test_backup_and_restore(tmp_path: Path) -> None:
    path = tmp_path / "service" / "fixwright.sqlite3"
    path.parent.mkdir()
    copy = str(tmp_path / "copy.sqlite3")
    with Database(path) as database:
        database.migrate()
        made = run(tmp_path, "backup", copy)
        again = run(tmp_path, "backup", copy)
        refused = run(tmp_path, "restore", copy)
    assert made.returncode == 0, made.stderr
    assert "0 tasks (0 live), 0 attempts, 0 deliveries" in made.stdout and "Not in it: mirrors" in made.stdout
    assert (again.returncode, refused.returncode) == (2, 2)
    assert "give --force" in again.stderr and "it is in use" in refused.stderr

    transcripts = tmp_path / "service" / "transcripts"
    transcripts.mkdir()
    (transcripts / "attempt-7.jsonl.gz").write_bytes(b"of an attempt that the copy does not know")
    restored = run(tmp_path, "restore", copy)

    assert restored.returncode == 0, restored.stderr
    assert "The old database is kept as" in restored.stdout and "Next: start the service." in restored.stdout
    assert "1 transcripts of attempts that the copy does not know were put aside" in restored.stdout
    (aside,) = transcripts.iterdir()
    assert aside.name.startswith("before-") and (aside / "attempt-7.jsonl.gz").exists()
    assert len(list(path.parent.glob("fixwright.sqlite3.before-*"))) == 1
