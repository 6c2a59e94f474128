"""Who is called in a text, what asks for work, which threads wait, and what a push did to a place."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from domain.model import Actor, Comment
from domain.noted import PullCommented, ReviewCommented, ReviewGiven
from domain.policy import Serving, admit
from domain.ports import Admission, ReviewThread
from domain.ports.reviewing import Touch
from domain.reviewing import (
    OpenThread,
    asks_us,
    calls,
    changed_lines,
    may_ask,
    names_in,
    open_threads,
    source_of,
    touch_of,
)

ME = Actor(id="1", login="fixwright[bot]", is_bot=True)
ADA, EVE = Actor(id="7", login="ada"), Actor(id="8", login="eve")
AT = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "@fixwright please",
        "Please, @Fixwright[bot]: do it.",
        "a\r\n\r\n(@fixwright)",
        "- [ ] @fixwright",
        "`code` @fixwright `more`",
        "an odd ` and @fixwright",
        "```\ncode\n```\n@fixwright",
        "**@fixwright**",
        "@fixwright's turn",
    ],
)
def test_a_call(text: str) -> None:
    assert calls(text, ME.login)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fixwright, please",
        "> @fixwright said so",
        "```\n@fixwright\n```",
        "~~~\n```\n@fixwright\n",
        "``@fixwright ` ``",
        "@fixwright-two and x@fixwright and @org/fixwright and /@fixwright",
        "ada@fixwright.example",
        "https://forge.example/@fixwright",
        "@" * 50_000,
    ],
)
def test_no_call(text: str) -> None:
    assert not calls(text, ME.login)


@pytest.mark.parametrize(
    "text", ["`x" * 50_000, "`" * 100_000, "@a" * 50_000, "> " * 50_000, "```\n" * 25_000, "`x``y" * 20_000]
)
def test_what_is_made_to_be_slow_is_read_like_any_text(text: str) -> None:
    assert names_in(text) == names_in(text[:1000])


def given(state: str, body: str = "", action: str = "submitted", **changes: object) -> ReviewGiven:
    values: dict[str, object] = {"forge": "local", "repository_id": "5", "number": 3, "actor": ADA}
    made = ReviewGiven(action=action, review_id="9", state=state, body=body, **values)  # type: ignore[arg-type]
    return replace(made, **changes)  # type: ignore[arg-type]


LINE = ReviewCommented(
    forge="local", action="created", actor=ADA, number=3, review_id="9", comment_id="4", body="@fixwright, no"
)
TALK = PullCommented(forge="local", action="created", actor=ADA, number=3, comment_id="4", body="@fixwright!")


@pytest.mark.parametrize(
    ("event", "asks"),
    [
        (given("changes_requested"), True),
        (given("changes_requested", action="dismissed"), False),
        (given("changes_requested", action="edited"), False),
        (given("changes_requested", number=None), False),
        (given("commented", "@fixwright do"), True),
        (given("commented", "@ada do"), False),
        (given("commented"), False),
        (given("approved", "@fixwright thanks"), False),
        (given("dismissed", "@fixwright"), False),
        (LINE, True),
        (replace(LINE, action="edited"), False),
        (replace(LINE, body="no"), False),
        (TALK, True),
        (replace(TALK, action="deleted"), False),
    ],
)
def test_what_asks_us_for_work(event: ReviewGiven | ReviewCommented | PullCommented, asks: bool) -> None:
    assert asks_us(event, ME.login) is asks
    assert may_ask(event) or not asks


def test_at_the_door_bots_and_ourselves_ask_for_nothing() -> None:
    serving = Serving(repositories=frozenset(), own_ids={"local": "7"}, labels={})
    anybody = replace(serving, own_ids={"local": "1"})
    assert admit(given("changes_requested"), anybody) is Admission.SIGNAL
    assert admit(given("approved"), anybody) is Admission.NOTED
    assert admit(given("changes_requested"), serving) is Admission.OWN_EVENT
    assert admit(replace(TALK, actor=replace(EVE, is_bot=True)), anybody) is Admission.OWN_EVENT


def test_all_of_one_review_has_one_source() -> None:
    assert source_of(given("commented")) == source_of(LINE) == "review-9"
    assert source_of(TALK) == "comment-4"
    assert source_of(replace(LINE, review_id="")) == "line-4"


def thread(*words: tuple[Actor, str], **changes: object) -> ReviewThread:
    comments = tuple(
        Comment(id=str(at), author=who, body=text, created_at=AT, url="")
        for at, (who, text) in enumerate(words)
    )
    values: dict[str, object] = {"is_resolved": False, "is_outdated": False, **changes}
    return ReviewThread(id="T", path="a.py", line=1, comments=comments, **values)  # type: ignore[arg-type]


def waiting(*threads: ReviewThread) -> tuple[OpenThread, ...]:
    return open_threads(threads, ME, lambda actor: actor == ADA)


def test_a_thread_waits_for_us_with_a_new_word_of_somebody_who_may_write() -> None:
    (found,) = waiting(thread((EVE, "a"), (ADA, "b"), (ME, "c"), (EVE, "d"), (ADA, "e")))
    assert [each.body for each in found.said] == ["e"]
    assert [each.body for each in found.earlier] == ["b"] and found.others == 2
    assert waiting(thread((ADA, "b"), (ME, "c")), thread((EVE, "a")), thread()) == ()
    assert waiting(thread((ADA, "b"), is_resolved=True), thread((ADA, "b"), is_outdated=True)) == ()
    assert len(waiting(thread((ADA, "@fixwright b"), is_outdated=True))) == 1


PATCH = """diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -10,2 +10,3 @@ def f():
---- a/evil.py
-x
+@@ -1,9 +1,9 @@
@@ -40,0 +42,2 @@
+x
diff --git a/new.py b/new.py
--- /dev/null
+++ b/new.py
@@ -0,0 +1 @@
+x
"""


def test_what_a_push_did_to_a_place_comes_from_its_difference() -> None:
    lines = changed_lines(PATCH)
    assert lines == {"a.py": [(10, 11), (40, 40)]}
    changed = {"a.py", "new.py"}
    assert touch_of("a.py", 16, changed, lines) is Touch.PLACE
    assert touch_of("a.py", 17, changed, lines) is Touch.FILE
    assert touch_of("a.py", None, changed, lines) is Touch.FILE
    assert touch_of("new.py", 1, changed, lines) is Touch.FILE
    assert touch_of("b.py", 1, changed, lines) is Touch.ELSEWHERE
