"""An attempt's transcript as the console shows it: steps with what was asked, run, answered and paid."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import cast

MOST_BYTES = 8 * 2**20
"""Of a transcript that is read for a page; what comes after is said to be left out."""

LONGEST_LINE = 4 * 2**20

Record = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One message of a step. `kind`: prompt, words, thoughts, command, output or note."""

    kind: str
    text: str
    label: str = ""
    is_bad: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StepView:
    """One step: a model call and what it had done. Cost in dollars, seconds of the model's answer."""

    number: int
    kind: str
    at: datetime | None
    cost: Decimal | None
    seconds: float | None
    tokens_in: int
    tokens_out: int
    headline: str
    is_bad: bool
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptView:
    """What a transcript holds up to byte `end`. `phase` was begun last; `is_cut`: more was left out."""

    steps: tuple[StepView, ...]
    phase: str = ""
    phase_at: datetime | None = None
    end: int = 0
    config: Record | None = None
    is_cut: bool = False


class TranscriptShelf:
    """The transcripts of a data directory, by attempt."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def read(self, attempt_id: int) -> TranscriptView:
        """Return what there is of an attempt's transcript, packed or not; nothing where there is none."""
        content = self.content(attempt_id)
        steps: list[StepView] = []
        phase, phase_at, config = "", None, None
        for record in records_in(content):
            if isinstance(record.get("step"), int):
                steps.append(step_view(record))
            elif isinstance(record.get("phase"), str):
                phase, phase_at = str(record["phase"]), _moment(record.get("at"))
            elif isinstance(record.get("config"), dict):
                config = _dict(record["config"])
        return TranscriptView(
            steps=tuple(steps),
            phase=phase,
            phase_at=phase_at,
            end=content.rfind(b"\n") + 1,
            config=config,
            is_cut=len(content) >= MOST_BYTES,
        )

    def size(self, attempt_id: int) -> int:
        """Return the bytes of a transcript that is still written, 0 without one."""
        try:
            return self._plain(attempt_id).stat().st_size
        except OSError:
            return 0

    def content(self, attempt_id: int, start: int = 0) -> bytes:
        """Return a transcript's bytes from `start` on, at most MOST_BYTES."""
        try:
            descriptor = os.open(self._plain(attempt_id), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                file.seek(start)
                return file.read(MOST_BYTES)
        except OSError:
            pass
        try:
            with gzip.open(self._directory / f"attempt-{attempt_id}.jsonl.gz", "rb") as packed:
                packed.seek(start)
                return packed.read(MOST_BYTES)
        except (OSError, EOFError):
            return b""

    def difference(self, attempt_id: int) -> str:
        """Return the difference that was kept of an attempt, "" without one."""
        try:
            with (self._directory / f"attempt-{attempt_id}.diff").open(
                encoding="utf-8", errors="replace"
            ) as file:
                return file.read(MOST_BYTES)
        except OSError:
            return ""

    def phase(self, attempt_id: int) -> str:
        """Return the phase that a running attempt has begun last, "" where it is not known."""
        size = self.size(attempt_id)
        tail = self.content(attempt_id, max(0, size - 2**20)) if size else b""
        for record in reversed(list(records_in(tail))):
            if isinstance(record.get("phase"), str):
                return str(record["phase"])
            if isinstance(record.get("step"), int):
                return "agent"
        return ""

    def _plain(self, attempt_id: int) -> Path:
        return self._directory / f"attempt-{attempt_id}.jsonl"


def records_in(content: bytes) -> Iterator[Record]:
    """Yield the whole records; a line cut short is ignored."""
    for line in content.split(b"\n"):
        if not line or len(line) > LONGEST_LINE:
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            yield record


def step_view(record: Record) -> StepView:
    """Return a step's record as it is shown."""
    messages = _list(record.get("messages"))
    pieces = tuple(piece for message in messages for piece in _pieces(message))
    usage = _dict(record.get("usage"))
    return StepView(
        number=_int(record.get("step")),
        kind=str(record.get("kind") or "step"),
        at=_moment(record.get("at")),
        cost=_dollars(record.get("cost")),
        seconds=_seconds(record.get("seconds")),
        tokens_in=_int(usage.get("input_tokens")) + _int(usage.get("cache_read_tokens")),
        tokens_out=_int(usage.get("output_tokens")),
        headline=_headline(pieces, str(record.get("kind") or "")),
        is_bad=any(piece.is_bad for piece in pieces),
        pieces=pieces,
    )


def _headline(pieces: tuple[Piece, ...], kind: str) -> str:
    for wanted in ("command", "words", "note"):
        for piece in pieces:
            if piece.kind == wanted and piece.text.strip():
                return piece.text.strip()
    return kind.replace("_", " ")


def _pieces(message: Record) -> Iterator[Piece]:
    role, extra = message.get("role"), _dict(message.get("extra"))
    text = _text(message.get("content"))
    if role == "system":
        yield Piece(kind="prompt", text=text, label="System prompt")
    elif role == "user":
        fault = bool(extra.get("fault"))
        yield Piece(
            kind="note" if fault else "prompt",
            text=text,
            label="Correction" if fault else "Brief",
            is_bad=fault,
        )
    elif role == "assistant":
        yield from _answer(message, text, extra)
    elif role == "tool":
        yield _output(text, extra)
    elif role == "exit":
        yield Piece(kind="note", text=text, label="End")


def _answer(message: Record, text: str, extra: Record) -> Iterator[Piece]:
    if extra.get("thoughts"):
        yield Piece(kind="thoughts", text=str(extra["thoughts"]), label="Thought aloud")
    if text:
        yield Piece(kind="words", text=text)
    actions = _list(extra.get("actions"))
    for action in actions:
        if action.get("command"):
            yield Piece(kind="command", text=str(action["command"]))
        else:
            kind = str(action.get("kind") or "action")
            shown = {name: value for name, value in action.items() if name not in {"kind", "call_id"}}
            yield Piece(
                kind="note",
                text=_document(shown),
                label="Report handed in" if kind == "submit" else kind.replace("_", " ").capitalize(),
            )
    if not actions and isinstance(extra.get("restatement"), dict):
        yield Piece(kind="note", text=_document(extra["restatement"]), label="Restatement handed in")


def _output(text: str, extra: Record) -> Piece:
    code = extra.get("exit_code")
    is_timed_out = bool(extra.get("timed_out"))
    parts = [f"exit {code}"] if isinstance(code, int) else []
    if (seconds := _seconds(extra.get("seconds"))) is not None:
        parts.append(f"{seconds:.1f} s")
    if is_timed_out:
        parts.append("timed out")
    first, _, rest = text.partition("\n")
    if isinstance(code, int) and first.strip() == f"exit code {code}":
        text = rest
    return Piece(
        kind="output",
        text=text,
        label=" · ".join(parts),
        is_bad=is_timed_out or (isinstance(code, int) and code != 0),
    )


def _document(value: object) -> str:
    """Write what a tool was called with as lines; it is the model's own."""
    if isinstance(value, dict) and len(value) == 1 and isinstance(next(iter(value.values())), dict):
        value = next(iter(value.values()))
    if not isinstance(value, dict):
        return _text(value)
    return "\n".join(
        f"{str(name).replace('_', ' ')}: {'; '.join(map(str, each)) if isinstance(each, list) else each}"
        for name, each in value.items()
        if each not in ("", [], None)
    )


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_text(part.get("text")) for part in content if isinstance(part, dict))
    return "" if content is None else str(content)


def _list(value: object) -> list[Record]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _dict(value: object) -> Record:
    return cast("Record", value) if isinstance(value, dict) else {}


def _int(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _seconds(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _dollars(value: object) -> Decimal | None:
    try:
        amount = Decimal(str(value)) if value is not None else None
    except InvalidOperation:
        return None
    return amount if amount is None or amount.is_finite() else None


def _moment(value: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(value)) if value else None
    except ValueError:
        return None
    return moment if moment is None or moment.tzinfo is not None else None
