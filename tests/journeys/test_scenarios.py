"""Each scenario of the demo from end to end: real processes, HTTP, git, sandbox, and how it must end."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from app.demo.service import PROJECT
from app.demo.toolchain import BASE

pytestmark = [
    pytest.mark.journey,
    pytest.mark.skipif(
        not (BASE / "bin").is_dir(), reason="the sandbox's tool chain is made by `make setup`"
    ),
]

SECONDS = 280


def played(scenario: str, *options: str) -> tuple[int, str]:
    """Run the demo as a newcomer does, without a terminal; return its exit status and all that it printed."""
    command = [str(Path(sys.executable).parent / "fixwright"), "demo", "--scenario", scenario, *options]
    done = subprocess.run(
        command, cwd=PROJECT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS
    )
    assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
    return done.returncode, done.stdout


def test_fix_ends_in_a_verified_draft_pull_request() -> None:
    status, text = played("fix")
    assert status == 0, text
    for part in (
        "labels issue #1 `bug`",
        "agent$ python3 -m pytest -q",
        "Draft pull request #2: Splitting 100.00 between three people loses a cent (#1)",
        "| base + new tests | red, exit 1 |",
        "| fixed | green, exit 0 | 18 passed |",
        "+    share, odd_cents = divmod(total_cents, people)",
        "is ready for review",
        "a verified draft pull request exists",
    ):
        assert part in text
    assert re.search(r"console: http://127\.0\.0\.1:\d+/console/tasks/1", text)
    assert text.index("· prepare") < text.index("· baseline") < text.index("· agent") < text.index("· verify")


@pytest.mark.long
def test_blocked_keeps_the_work_and_goes_on_from_it_when_a_maintainer_says_so() -> None:
    status, text = played("blocked")
    assert status == 0, text
    assert "blocked (task_limit)" in text
    assert "max_iterations" in text
    assert "Unfinished work is on the branch `fixwright/issue-1`" in text
    assert text.count("agent$ edit fairshare/split.py") == 1, "the second attempt builds on the first's work"
    assert "attempt 2" in text


def test_cheat_is_refused_and_said_so_on_the_issue() -> None:
    status, text = played("cheat")
    assert status == 0, text
    assert "blocked (guard)" in text
    assert "I refused the change that the agent proposed" in text
    assert "**RH001** (critical) `tests/test_split.py" in text
    assert "Draft pull request" not in text


@pytest.mark.long
@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ("fix", "a verified draft pull request exists"),
        ("blocked", "Unfinished work is on the branch `fixwright/issue-1`"),
        ("cheat", "ended as it must: blocked (guard)"),
        ("crash", "kill -9"),
    ],
)
def test_on_a_github_it_ends_the_same_way(scenario: str, words: str) -> None:
    status, text = played(scenario, "--forge", "github")
    assert status == 0, text
    assert words in text and "GitHub's side: API requests" in text
    has_draft = re.search(r"pull request: http://127\.0\.0\.1:\d+/acme/fairshare/pull/2\n", text) is not None
    assert has_draft is (scenario != "cheat")


@pytest.mark.long
def test_unclear_asks_one_question_and_does_nothing_else() -> None:
    status, text = played("unclear")
    assert status == 0, text
    assert "blocked (needs_information)" in text
    assert "1. When 100.00 is split between three people" in text
    assert "agent$" not in text


@pytest.mark.long
def test_docs_needs_no_new_test() -> None:
    status, text = played("docs")
    assert status == 0, text
    assert "+split_evenly(9000, people=3)" in text


def test_crash_pays_nothing_twice_and_opens_one_pull_request() -> None:
    status, text = played("crash")
    assert status == 0, text
    assert "kill -9" in text
    assert text.count("agent$ view fairshare/split.py") == 1, "finished steps are not done again"
    assert text.count("Draft pull request #2:") == 1


@pytest.mark.skipif(
    not any((PROJECT / ".cache" / "sources").glob("parse-1.20.0/*")),
    reason="the package's sources are fetched by `make demo SCENARIO=real`; the suite itself is offline",
)
def test_real_is_proved_on_the_packages_own_tests() -> None:
    status, text = played("real")
    assert status == 0, text
    assert '+    "%f": "[0-9]{1,6}",' in text
    assert "2 failing before and passing now" in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("nonsense",), "no scenario 'nonsense'"),
        (("fix", "--case", "no-such-case"), "no case 'no-such-case'"),
        (("fix", "--forge", "gitlab"), "no forge 'gitlab'"),
    ],
)
def test_a_wrong_word_is_one_line_and_exit_status_2(options: tuple[str, ...], words: str) -> None:
    command = [str(Path(sys.executable).parent / "fixwright"), "demo", "--scenario", *options]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
