"""The texts for people: what they say, and what outside text cannot make them say."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from decimal import Decimal

import pytest

from domain.claim import Claim, Restatement
from domain.fitting import LONGEST_TEXT, length
from domain.model import (
    Actor,
    Finding,
    RunStatus,
    Severity,
)
from harness import pull_text, report
from harness.markdown import run_table
from tests.harness.text_makers import TREE, a_claim, a_run, a_task, a_verdict, facts


def test_a_green_run_that_ended_with_another_status_says_why() -> None:
    note = "with a planted test | that had to fail"
    table = run_table([a_run("fixed", RunStatus.PASSED, exit_code=1, note=note)])
    assert r"| green, exit 1 with a planted test \| that had to fail | 3 passed |" in table
    assert "planted" not in run_table([a_run("fixed", RunStatus.PASSED, note=note)])
    assert "planted" not in run_table([a_run("fixed", RunStatus.FAILED, note=note)])


def test_pull_body_says_what_the_harness_saw_before_anything_the_agent_says() -> None:
    body = pull_text.pull_body(facts())
    assert body.startswith("Fixes #12\n\n**1 test red before and green after**\n")
    order = (
        "Root cause",
        "The change",
        "How this was tested",
        "not run here",
        "Cost and origin",
        "made by a machine",
    )
    places = [body.index(part) for part in order]
    assert places == sorted(places)
    assert TREE in body
    assert "`tests/test_a.py::test_it`" in body
    assert "$0.0123, 6 model calls" in body


def test_pull_body_has_one_closing_word_and_it_is_ours() -> None:
    hostile = a_claim(
        root_cause="fixes #1, closes org/other#2 and resolves https://example.org/o/r/issues/3",
        changes="Fixes #13",
        not_verified="closed #4",
    )
    body = pull_text.pull_body(facts(claim=hostile, task=a_task(title="Fixes #99")))
    closing = re.findall(r"(?i)\b(?:clos|fix|resolv)\w*:?\s+\S*(?:#\d|https?://)", body)
    assert closing == ["Fixes #1"]
    assert body.startswith("Fixes #12\n")
    assert not re.findall(r"(?<!\w)#\d", body.replace("Fixes #12", ""))


@pytest.mark.parametrize(
    "hostile",
    [
        "</details><h1>Verified</h1>",
        "- [x] All tests pass",
        "### How this was tested\n\neverything is green",
        "![pixel](https://evil.example/p.png)",
        "@acme/everybody and @mika",
        "<!-- fixwright:task-7 -->",
        "| a | b |\n|---|---|\n| fixed | green |",
    ],
)
def test_the_agent_cannot_imitate_the_harness(hostile: str) -> None:
    body = pull_text.pull_body(
        facts(claim=a_claim(root_cause=hostile, changes=hostile, not_verified=hostile))
    )
    own = [line for line in body.splitlines() if not line.startswith(">")]
    assert own.count("### How this was tested") == 1
    assert not any("All tests pass" in line or "everything is green" in line for line in own)
    assert "evil.example" not in body
    assert "<h1>" not in body
    assert "<!--" not in body
    assert "@mika" not in body


def test_test_names_and_commands_cannot_leave_their_code_span_or_table_row() -> None:
    name = "tests/t.py::test[`|<b>x</b>\n### Verified]"
    run = a_run("fixed", RunStatus.PASSED, command="pytest `id` | tee\nx")
    body = pull_text.pull_body(facts(verdict=a_verdict(turned_green=(name,), runs=(run,))))
    assert not any(line.startswith("### Verified") for line in body.splitlines())
    row = next(line for line in body.splitlines() if line.startswith("| fixed"))
    assert row.replace("\\|", "").count("|") == 6


@pytest.mark.long
@pytest.mark.parametrize("severity", list(Severity))
@pytest.mark.parametrize("letter", ["x", "\U0001f41b", "`", "\u202e<"])
def test_however_much_there_is_to_say_a_body_is_whole_to_its_end(letter: str, severity: Severity) -> None:
    long = letter * 5000
    findings = tuple(
        Finding(
            rule="RH001", path=f"{long}{n}", line=n, what=f"{long}{n}", why=f"{n}{long}", severity=severity
        )
        for n in range(400)
    )
    names = tuple(f"{n}{long}" for n in range(400))
    run = a_run("fixed", RunStatus.FAILED, failed_ids=frozenset(names), command=long)
    verdict = a_verdict(findings=findings, turned_green=names, flaky=names, runs=(run,) * 9, isolation=long)
    words = (long * 2)[:8000]
    claim = Claim.model_construct(
        root_cause=words, changes=words, test_commands=list(names), not_verified=words
    )
    body = pull_text.pull_body(facts(verdict=verdict, claim=claim, left_out=names, prepared=long))
    assert length(body) <= LONGEST_TEXT
    assert body.startswith("Fixes #12") and body.endswith("never merged automatically.")


@pytest.mark.parametrize("title", ["x" * 500, "🎉" * 300, "a\nb\r\nc", "  ", "", "日本語のバグ", "a\u202eb"])
def test_titles_are_one_line_within_the_limit_and_name_the_issue(title: str) -> None:
    made = report.pull_title(a_task(title=title))
    assert len(made) <= report.TITLE_LIMIT
    assert "\n" not in made
    assert "\r" not in made
    assert made.endswith("(#12)")
    assert made != " (#12)"


def test_commit_messages_obey_nobody() -> None:
    message = report.commit_message(
        a_task(title="oops [skip ci]\nCo-authored-by: Eve <e@example.org>"),
        a_claim(root_cause="x\n\nSigned-off-by: Eve <e@example.org>\nCloses #3 [ci skip]"),
    )
    subject, *rest = message.splitlines()
    assert subject.startswith("bug: ")
    assert len(subject) <= 72
    assert "[" not in message
    assert not any(line.startswith(("Co-authored-by", "Signed-off-by", "Closes")) for line in rest)
    assert "\n\nRefs issue 12.\n" in message


def trailers(message: str) -> dict[str, str]:
    """Return the trailers as git itself reads them."""
    read = subprocess.run(
        ["git", "interpret-trailers", "--parse"], input=message, capture_output=True, text=True, check=True
    )
    return dict(line.split(": ", 1) for line in read.stdout.splitlines())


def test_the_requester_is_credited_and_the_operator_signs_off() -> None:
    task = replace(a_task(), requested_by=Actor(id="7", login="ada"))
    message = report.commit_message(
        task, a_claim(), co_author="7+ada@users.noreply.forge.example", sign_off="Acme Bot <bot@acme.example>"
    )
    assert trailers(message) == {
        "Co-authored-by": "ada <7+ada@users.noreply.forge.example>",
        "Signed-off-by": "Acme Bot <bot@acme.example>",
    }
    assert trailers(report.commit_message(task, a_claim())) == {"Requested-by": "ada"}


@pytest.mark.parametrize(
    ("login", "address"),
    [
        ("eve\nSigned-off-by: Eve <e@x.example>", "7+eve@x.example"),
        ("eve\u2028Signed-off-by: Eve <e@x.example>", "7+eve@x.example"),
        ("eve <e@x.example>", "e@x.example>\nSigned-off-by: Eve <e@x.example"),
        ("<>", "<>"),
        ("", "7@x.example"),
        ("eve\x00\ud800", "a b@x.example"),
        ("e" * 5000, "7+" + "e" * 5000 + "@x.example"),
    ],
)
def test_names_and_addresses_add_no_trailer_of_their_own(login: str, address: str) -> None:
    task = replace(a_task(), requested_by=Actor(id="7", login=login))
    message = report.commit_message(task, a_claim(), co_author=address)
    assert "\nSigned-off-by" not in message
    found = trailers(message.encode("utf-8", "replace").decode())
    assert set(found) <= {"Co-authored-by", "Requested-by"}
    assert all(value.count("<") == value.count(">") <= 1 and len(value) < 500 for value in found.values())


@pytest.mark.parametrize(
    "cause", ["Signed-off-by: Eve <e@x.example>", "Change-Id: I1", "Fixes : all", "Cc: a@b"]
)
def test_no_line_of_the_agents_is_taken_for_a_trailer(cause: str) -> None:
    message = report.commit_message(a_task(), a_claim(root_cause=cause))
    assert f"\n\nCause: {cause[:5]}" in message


def test_commit_message_without_a_claim() -> None:
    assert "Unfinished work." in report.commit_message(a_task(), None)


def test_a_verdict_with_findings_names_each_with_its_place() -> None:
    finding = Finding(
        rule="RH002",
        path="tests/t.py",
        line=4,
        what="an assertion is gone",
        why="it hides",
        severity=Severity.CRITICAL,
    )
    text = report.verdict_detail(a_verdict(verified=False, findings=(finding,), runs=()))
    assert "**RH002** (critical) `tests/t.py:4`: an assertion is gone." in text


def test_failing_output_cannot_break_out_of_its_block() -> None:
    tail = "``````\n</details>\n# Verified\n~~~"
    verdict = a_verdict(verified=False, runs=(a_run("fixed", RunStatus.FAILED, tail=tail),))
    text = report.verdict_detail(verdict)
    assert "```````\n" in text
    assert text.count("<details>") == 2, "one for the exact commands, one for the output"
    assert text.index("```````\n``````") < text.index("# Verified") < text.rindex("```````")


def test_questions_are_numbered_and_inert() -> None:
    restatement = Restatement(
        expected="x", actual="@all see #3", confidence=0.1, questions=["Which one?\nAnd why?", "Fixes #9?"]
    )
    text = report.restated_detail(restatement)
    assert "1. Which one? And why?" in text
    assert "@all" not in text
    assert "#9" not in text


def test_review_comment_counts_the_evidence() -> None:
    assert "1 test red before and green after" in report.review_comment(
        3, "local://x", a_verdict(), Decimal(0)
    )
    many = a_verdict(turned_green=("a", "b"))
    assert "2 tests red" in report.review_comment(3, "local://x", many, Decimal(0))
    none = a_verdict(turned_green=())
    assert "Test suite green" in report.review_comment(3, "local://x", none, Decimal(0))


def test_titles_and_commit_subjects_close_skip_and_ping_nothing() -> None:
    task = a_task(title="Closes #7 [skip ci] @all fixes org/other#2")
    for text in (report.pull_title(task), report.commit_message(task, None)):
        assert "loses #7" not in text and "org/other#2" not in text
        assert "[skip ci]" not in text and "@all" not in text
    assert report.pull_title(task).endswith(" (#12)")


@pytest.mark.parametrize(
    ("kind", "begins"), [(None, "bug: "), ("fix", "fix: "), ("refactor", "refactor: "), ("", "")]
)
def test_a_repository_chooses_how_a_commit_begins(kind: str | None, begins: str) -> None:
    task = a_task(title="It breaks")
    assert report.commit_message(task, None, kind=kind).startswith(f"{begins}It breaks\n")


def test_a_kind_in_a_title_keeps_it_within_the_limit() -> None:
    made = report.pull_title(a_task(title="x" * 500), "fix")
    assert made.startswith("fix: xxx") and made.endswith(" (#12)") and len(made) <= report.TITLE_LIMIT
