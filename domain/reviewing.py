"""What reviewers' words mean: who is called, what asks for work, which threads are open, what a push did."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from domain.model import Actor, Comment
from domain.noted import PullCommented, ReviewCommented, ReviewGiven
from domain.ports.forge_capabilities import ReviewThread
from domain.ports.reviewing import Touch

ReviewEvent = ReviewGiven | ReviewCommented | PullCommented

NEAR = 5
"""Lines between a thread and a change that is said to be at it, at most."""

MOST_THREADS = 40
LONGEST_WORDS = 4000

_LONGEST_READ = 100_000
_NAME = re.compile(r"(?<![\w@/.+-])@([A-Za-z0-9][A-Za-z0-9-]{0,38})(?![\w-])")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_TICKS = re.compile(r"(`+)")
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+")


def names_in(text: str) -> frozenset[str]:
    """Return the accounts that a text calls by name, in lower case; not in quotes and not in code."""
    found: set[str] = set()
    for line in _spoken(text):
        found.update(name.lower() for name in _NAME.findall(line))
    return frozenset(found)


def names_somebody(text: str) -> bool:
    """Tell whether a text calls anybody by name."""
    return "@" in text and bool(names_in(text))


def calls(text: str, login: str) -> bool:
    """Tell whether a text calls this account; an App's is called without its "[bot]", or with it."""
    return login.removesuffix("[bot]").lower() in names_in(text)


def _spoken(text: str) -> list[str]:
    """Return the lines that are their writer's own prose."""
    lines, fence = [], ""
    for line in text[:_LONGEST_READ].replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        mark = _FENCE.match(line)
        if fence:
            closes = mark is not None and mark[1].startswith(fence) and not line[mark.end() :].strip()
            fence = "" if closes else fence
        elif mark is not None:
            fence = mark[1]
        elif not line.lstrip().startswith(">"):
            lines.append(_without_code(line))
    return lines


def _without_code(line: str) -> str:
    """Return a line without its code spans: a run of backticks up to the next run of the same length."""
    parts = _TICKS.split(line)
    closing: dict[int, int] = {}
    last: dict[str, int] = {}
    for at in range(len(parts) - 2, 0, -2):
        if parts[at] in last:
            closing[at] = last[parts[at]]
        last[parts[at]] = at
    kept, at = [], 0
    while at < len(parts):
        if at in closing:
            kept.append(" ")
            at = closing[at] + 1
        else:
            kept.append(parts[at])
            at += 1
    return "".join(kept)


def may_ask(event: ReviewEvent) -> bool:
    """Tell at the door whether an event may ask for work on a draft, whoever is called in it.

    A review that asks for changes does, and a comment that calls somebody; approval and chatter do not.
    """
    if isinstance(event, ReviewGiven):
        asks = event.state == "changes_requested"
        asks |= event.state == "commented" and names_somebody(event.body)
        return event.number is not None and event.action == "submitted" and asks
    return event.number is not None and event.action == "created" and names_somebody(event.body)


def asks_us(event: ReviewEvent, login: str) -> bool:
    """Tell whether an event that may ask for work asks it of us."""
    is_review = isinstance(event, ReviewGiven) and event.state == "changes_requested"
    return may_ask(event) and (is_review or calls(event.body, login))


def source_of(event: ReviewEvent) -> str:
    """Return the one thing that an event is a part of: its review, or its comment."""
    if isinstance(event, PullCommented):
        return f"comment-{event.comment_id}"
    return f"review-{event.review_id}" if event.review_id else f"line-{_comment_id(event)}"


def _comment_id(event: ReviewGiven | ReviewCommented) -> str:
    return event.comment_id if isinstance(event, ReviewCommented) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenThread:
    """A thread that waits for us: what those who may write said in it since our last answer, oldest first.

    `earlier` is what they said before that; `others` counts comments of people who may not write.
    """

    thread: ReviewThread
    said: tuple[Comment, ...]
    earlier: tuple[Comment, ...] = ()
    others: int = 0


def open_threads(
    threads: Sequence[ReviewThread], me: Actor, may_write: Callable[[Actor], bool]
) -> tuple[OpenThread, ...]:
    """Return the threads that wait for us: not resolved, with a new word of somebody who may write.

    One about lines that are not there any more is left alone, unless we are called in it.
    """
    found = []
    for thread in threads:
        if thread.is_resolved:
            continue
        ours = [at for at, comment in enumerate(thread.comments) if comment.author.id == me.id]
        since = ours[-1] + 1 if ours else 0
        said = tuple(each for each in thread.comments[since:] if may_write(each.author))
        if said and (not thread.is_outdated or any(calls(each.body, me.login) for each in said)):
            others = [each for each in thread.comments if each.author.id != me.id]
            before = tuple(each for each in thread.comments[:since] if each in others)
            earlier = tuple(each for each in before if may_write(each.author))
            left = len(others) - len(said) - len(earlier)
            found.append(OpenThread(thread=thread, said=said, earlier=earlier, others=left))
    return tuple(found[:MOST_THREADS])


def changed_lines(patch: str) -> dict[str, list[tuple[int, int]]]:
    """Return which lines of the old side a patch changes, by path; a mere addition lies between two."""
    found: dict[str, list[tuple[int, int]]] = {}
    path, in_header = "", False
    for line in patch.split("\n"):
        if line.startswith("diff --git "):
            path, in_header = "", True
        elif in_header and line.startswith("--- a/"):
            path = line[len("--- a/") :].rstrip("\t")
        elif (hunk := _HUNK.match(line)) is not None and path:
            in_header = False
            first, count = int(hunk[1]), int(hunk[2] or 1)
            found.setdefault(path, []).append((first, first + max(count, 1) - 1))
    return found


def touch_of(
    path: str, line: int | None, changed: Collection[str], lines: Mapping[str, Sequence[tuple[int, int]]]
) -> Touch:
    """Return what a push did to a place, by the paths and the lines that it changes."""
    if path not in changed:
        return Touch.ELSEWHERE
    if line is None:
        return Touch.FILE
    near = any(first - NEAR <= line <= last + NEAR for first, last in lines.get(path, ()))
    return Touch.PLACE if near else Touch.FILE
