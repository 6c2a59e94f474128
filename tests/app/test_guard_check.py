"""`fixwright guard check`: a patch from a file, standard input or commits; findings and exit statuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from app.cli import cli
from domain.errors import ConfigurationError
from tests.harness.git_world import person

SOURCE = "def twice(n):\n    return n + n\n"
TEST = "from calc import twice\n\n\ndef test_twice():\n    assert twice(2) == 4\n"
WEAKER = TEST.replace("    assert twice(2) == 4\n", "    twice(2)\n")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    place = tmp_path / "calc"
    place.mkdir()
    person("init", "-q", "-b", "main", ".", at=place)
    (place / "calc.py").write_text(SOURCE)
    (place / "test_calc.py").write_text(TEST)
    _commit(place, "first")
    return place


def _commit(place: Path, message: str) -> None:
    person("add", "-A", at=place)
    person("commit", "-q", "-m", message, at=place)


def _check(place: Path, diff: str, *options: str, said: str = "") -> Result:
    return CliRunner().invoke(cli, ["guard", "check", diff, "--repo", str(place), *options], input=said)


def _weaker(place: Path) -> str:
    """Make the test weaker in the working copy, and return the difference."""
    (place / "test_calc.py").write_text(WEAKER)
    return person("diff", at=place) + "\n"


def test_a_patch_that_the_guard_refuses(repository: Path) -> None:
    said = _check(repository, "-", said=_weaker(repository))

    assert said.exit_code == 1, said.output
    assert said.output.startswith("critical RH002 test_calc.py:")
    assert said.output.splitlines()[-1].startswith("1 file, compared with HEAD: refused:")


def test_json_says_rule_place_what_why_severity_and_id(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "the.diff").write_text(_weaker(repository))

    said = _check(repository, str(tmp_path / "the.diff"), "--json")

    found = json.loads(said.output)
    assert said.exit_code == 1 and found["ok"] is False and found["files"] == ["test_calc.py"]
    first = found["findings"][0]
    assert (first["rule"], first["path"], first["severity"]) == ("RH002", "test_calc.py", "critical")
    assert first["line"] > 0 and first["what"] and first["why"] and first["id"].startswith("RH002-")


@pytest.mark.long
def test_commits_by_range_by_where_they_parted_and_alone(repository: Path) -> None:
    person("checkout", "-q", "-b", "topic", at=repository)
    (repository / "calc.py").write_text(SOURCE.replace("n + n", "2 * n"))
    _commit(repository, "other words")
    person("checkout", "-q", "main", at=repository)
    (repository / "test_calc.py").write_text(WEAKER)
    _commit(repository, "weaker")

    assert _check(repository, "main...topic").exit_code == 0
    assert _check(repository, "topic..main").exit_code == 1
    assert "1 file, compared with main^: refused" in _check(repository, "main").output
    assert _check(repository, "main~1").output.splitlines()[-1].startswith("2 files, compared with nothing")


@pytest.mark.long
def test_a_patch_for_what_is_not_committed_and_one_that_is_committed(repository: Path) -> None:
    (repository / "calc.py").write_text(SOURCE.replace("n + n", "2 * n"))
    patch = "--- calc.py\n+++ calc.py\n@@ -2 +2 @@\n-    return 2 * n\n+    return n * 2\n"
    assert "compared with the working copy:" in _check(repository, "-", said=patch).output

    _commit(repository, "other words")
    (repository / "calc.py").write_text(SOURCE)
    shown = person("show", "--format=", "HEAD", at=repository) + "\n"
    person("checkout", "-q", ".", at=repository)
    assert "which has the patch already" in _check(repository, "-", said=shown).output


@pytest.mark.long
def test_protected_paths_of_the_repository_and_secrets_count(repository: Path) -> None:
    (repository / ".fixwright.yml").write_text("protected_paths:\n  - calc.py\n")
    _commit(repository, "protect")
    token = "ghp_" + "k3Jd8sLq0Zx7Vb2Nm5Qw9Er1Ty4Ui6Op8As0"
    (repository / "calc.py").write_text(f"{SOURCE}PASS = '{token}'\n")

    said = _check(repository, "-", said=person("diff", at=repository) + "\n")

    assert said.exit_code == 1
    assert "CHANGE-PROTECTED calc.py" in said.output and "SECRET-GITHUB calc.py:3" in said.output
    assert token not in said.output


@pytest.mark.long
def test_nothing_is_written_into_the_repository(repository: Path) -> None:
    patch = _weaker(repository)
    before = {path: path.stat().st_mtime_ns for path in repository.rglob("*")}

    _check(repository, "-", said=patch)

    assert {path: path.stat().st_mtime_ns for path in repository.rglob("*")} == before


@pytest.mark.long
def test_a_directory_without_a_history_will_do(tmp_path: Path) -> None:
    (tmp_path / "calc.py").write_text(SOURCE)
    patch = "--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,3 @@\n def twice(n):\n+    breakpoint()\n"
    patch += "     return n + n\n"

    said = _check(tmp_path, "-", said=patch)

    assert said.exit_code == 1 and "RH006 calc.py:2" in said.output


BAD = {
    "no diff": ("-", "hello\n", "is no unified diff"),
    "nothing": ("-", "", "is no unified diff"),
    "another tree": ("-", "--- a/calc.py\n+++ b/calc.py\n@@ -1 +1 @@\n-x\n+y\n", "does not fit"),
    "out of the tree": ("-", "--- a/../x\n+++ b/../x\n@@ -0,0 +1 @@\n+y\n", "not a path inside a repository"),
    "no file": ("absent.diff", "", "absent.diff: cannot be read"),
    "no commit": ("main..absent", "", "no commit is known as 'absent'"),
    "an option": ("--upload-pack=x..main", "", "no commit is known"),
}


@pytest.mark.parametrize(("diff", "said", "words"), BAD.values(), ids=BAD)
@pytest.mark.long
def test_what_cannot_be_judged_is_told_and_is_no_verdict(
    repository: Path, diff: str, said: str, words: str
) -> None:
    done = CliRunner().invoke(cli, ["guard", "check", "--repo", str(repository), "--", diff], input=said)

    assert isinstance(done.exception, ConfigurationError), done.output
    assert words in str(done.exception)


@pytest.mark.long
def test_the_command_line_ends_with_two_where_nothing_was_judged(repository: Path) -> None:
    command = [sys.executable, "-c", "from app.cli import main; main()", "guard", "check", "absent", "--repo"]

    done = subprocess.run(
        [*command, str(repository)], capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == "fixwright: absent: cannot be read: No such file or directory\n"
