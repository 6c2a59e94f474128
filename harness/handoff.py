"""What the next attempt is told of the earlier ones: mechanical, from our own records, no model involved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from domain.claim import Claim
from domain.model import Outcome, TestRun, Verdict
from domain.text import clip, one_line, plain
from harness.change import FileChange

TAIL_LIMIT = 3000
"""Characters of failing output that are worth repeating."""

LAST_ACTIONS = 5
"""How many of the last commands are worth telling."""

FILES_SHOWN = 30

ACCOUNT_LIMIT = 9000
"""Characters of a conversation's end that the model may sum up."""

LOST_LIMIT = 6000
"""Characters of a difference that is shown because the work itself could not be carried on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastAttempt:
    """An attempt that is over, as far as the next one should know.

    `start_sha` is the commit that it began from, `tree` what it came to; "" where that is not known. `left`
    is the commit of ours that holds what it left unjudged.
    """

    number: int
    outcome: Outcome
    claim: Claim | None
    verdict: Verdict | None
    tree: str = ""
    start_sha: str = ""
    actions: tuple[str, ...] = ()
    summary: str = ""
    left: str = ""


def actions_in(steps: Sequence[Mapping[str, object]]) -> tuple[str, ...]:
    """Return the first lines of the last commands in the records of an attempt's steps, oldest first."""
    commands = [command for record in steps[-LAST_ACTIONS * 2 :] for command in _commands(record)]
    return tuple(map(_first_line, commands[-LAST_ACTIONS:]))


def _first_line(command: str) -> str:
    first, _, rest = plain(command).strip().partition("\n")
    return one_line(first, 160) + (" …" if rest.strip() else "")


def diffstat(changes: Sequence[FileChange]) -> str:
    """Return changed files with their added and removed lines, the first 30 of them."""
    shown = [f"{change.path} ({_counted(change)})" for change in changes[:FILES_SHOWN]]
    more = [f"and {len(changes) - FILES_SHOWN} more"] if len(changes) > FILES_SHOWN else []
    return ", ".join([*shown, *more])


def progress_note(changes: Sequence[FileChange], actions: Sequence[str]) -> str:
    """Return what unfinished work has come to: files against the branch point, and the last actions."""
    files = f"Files changed: {diffstat(changes)}." if changes else "No file was changed."
    return "\n".join([files, *(["Last actions:", *(f"- {action}" for action in actions)] if actions else [])])


def account_of(title: str, note: str, steps: Sequence[Mapping[str, object]]) -> str:
    """Return what the model is shown to sum up: the note, and the end of its conversation as text."""
    said = [f"{message.get('role')}: {message.get('content') or ''}" for message in _messages(steps)]
    commands = [f"ran: {command}" for record in steps for command in _commands(record)]
    tail = "\n".join([*commands[-30:], *said[-12:]])
    return f"The issue: {one_line(title, 300)}\n{note}\n{plain(tail)[-ACCOUNT_LIMIT:]}"


def hand_off(
    past: Sequence[PastAttempt], *, continues: bool, changed: Sequence[FileChange] = (), lost: str = ""
) -> str:
    """Return the hand-off text: one line per earlier attempt, then what failed last, with its output.

    `continues` says that the worktree holds the earlier work; `changed` is what it differs in from the
    branch point; `lost` tells of earlier work that could not be carried on, with its difference.
    """
    if not past:
        return ""
    lines = [f"Attempt {attempt.number} ended {attempt.outcome}: {_tried(attempt)}" for attempt in past]
    if continues and changed:
        lines.append(f"The worktree already contains that work. Files changed: {diffstat(changed)}")
    elif not continues:
        lines.append("The worktree is clean again: nothing of the earlier work is in it.")
    if lost:
        lines.append(clip(plain(lost), LOST_LIMIT))
    if past[-1].summary:
        lines += [
            "How it summed up its work (nobody checked this):",
            clip(plain(past[-1].summary), TAIL_LIMIT),
        ]
    if past[-1].actions and past[-1].verdict is None:
        lines += ["Its last actions were:", *(f"- {action}" for action in past[-1].actions)]
    last = past[-1].verdict
    if last is not None:
        lines.append(f"What the harness saw of it: {last.summary}")
        lines += [
            f"- {finding.rule} {finding.path}:{finding.line}: {finding.what}" for finding in last.findings
        ]
        failing = _failing(last.runs)
        if failing is not None:
            lines += [f"The failing command was: {failing.command}", clip(plain(failing.tail), TAIL_LIMIT)]
    return "\n".join(lines)


def _tried(attempt: PastAttempt) -> str:
    return one_line(attempt.claim.changes, 200) if attempt.claim else "it handed in no report"


def _failing(runs: Sequence[TestRun]) -> TestRun | None:
    return next((run for run in reversed(runs) if run.name.startswith("fixed") and run.failed_ids), None)


def _counted(change: FileChange) -> str:
    return "binary" if change.binary else f"+{change.lines_added} -{change.lines_removed}"


def _messages(steps: Sequence[Mapping[str, object]]) -> Iterator[Mapping[str, object]]:
    for record in steps:
        messages = record.get("messages")
        for message in messages if isinstance(messages, list) else []:
            if isinstance(message, Mapping):
                yield message


def _commands(record: Mapping[str, object]) -> Iterator[str]:
    """Yield the commands that a step's record tells of, in order.

    The model's message names them, and each result names its own again: the results count only alone.
    """
    extras = [extra for each in _messages([record]) if isinstance(extra := each.get("extra"), Mapping)]
    listed = [action for extra in extras for action in _listed(extra)]
    for action in listed or extras:
        command = action.get("command") if isinstance(action, Mapping) else None
        if isinstance(command, str) and command.strip():
            yield command


def _listed(extra: Mapping[str, object]) -> list[object]:
    actions = extra.get("actions")
    return actions if isinstance(actions, list) else []
