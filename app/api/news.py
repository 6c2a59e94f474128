"""What is new on a task since a place in its story: moves, phases and transcript, in the order of time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog

from app.api.entries import Redact, kind_of, shown
from app.api.tail import Line, read_piece, size_of, transcript_file
from domain.model import Attempt
from domain.states import State
from store.progress import Mark, NumberedEvent, NumberedPhase, Progress

log = structlog.get_logger(__name__)

MOST_ROWS = 200
"""Rows that are read at once."""

_BEFORE_ALL = datetime.min.replace(tzinfo=UTC)
_PLACE = re.compile("-".join([r"([0-9]{1,12})"] * 5), re.ASCII)
"""Twelve digits are more than there will ever be, and fewer than a file system minds."""


@dataclass(frozen=True, slots=True)
class Place:
    """How far a reader is: ids of the last move and phase, and a byte of an attempt's transcript."""

    task: int
    event: int = 0
    phase: int = 0
    attempt: int = 0
    byte: int = 0

    def __str__(self) -> str:
        return f"{self.task}-{self.event}-{self.phase}-{self.attempt}-{self.byte}"

    @classmethod
    def read(cls, task: int, text: str) -> Place:
        """Return the place that a text names, or the beginning where it names none in this task."""
        match = _PLACE.fullmatch(text)
        place = cls(*(int(each) for each in match.groups())) if match else cls(task)
        return place if place.task == task else cls(task)


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One thing that happened. `id` is a place from which to read on; `data` are JSON values, redacted.

    `kind` is "move" (a change of state, or a note), "phase", "step", "restatement", "claim", "summary", or
    "end": the task is over, and no more will come.
    """

    id: str
    kind: str
    data: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class News:
    """Some of what is new, and the place after it. `is_all` says that there was no more."""

    events: tuple[StreamEvent, ...]
    place: Place
    is_all: bool


@dataclass(frozen=True, slots=True)
class _Happened:
    at: datetime
    place: Place
    """Only the fields of its own source are meant."""
    kind: str
    data: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class _Source:
    """One kind of news, oldest first; `is_all` False: there is more than was read."""

    news: list[_Happened]
    is_all: bool


class NewsReader:
    """Reads a task's story from the store and the transcripts, piece by piece. For any number of threads."""

    def __init__(self, progress: Progress, transcripts: Path, redact: Redact) -> None:
        """`transcripts` is the directory in which the worker keeps them."""
        self._progress = progress
        self._transcripts = transcripts
        self._redact = redact

    def after(self, place: Place) -> News:
        """Return what came after a place. Raises StoreUnavailable."""
        moves = self._progress.events(place.task, place.event, MOST_ROWS)
        phases = self._progress.phases(place.task, place.phase, MOST_ROWS)
        said, reached, is_all = self._readable(place)
        if not said and not is_all:
            return News((), reached, is_all=False)  # lines that are no records, and more after them
        sources = (
            _Source([self._move(place, each) for each in moves], len(moves) < MOST_ROWS),
            _Source([self._phase(place, each) for each in phases], len(phases) < MOST_ROWS),
            _Source(said, is_all),
        )
        events, place = _merged(sources, place)
        if all(source.is_all for source in sources):
            place = replace(place, attempt=reached.attempt, byte=reached.byte)
        return News(events, place, is_all=all(source.is_all for source in sources))

    def state(self, task_id: int) -> State:
        """Return where a task stands. Raises KeyError, StoreUnavailable."""
        return self._progress.state(task_id)

    def marks(self, task_ids: Iterable[int]) -> dict[int, tuple[Mark, int]]:
        """Return, by task, what changes with every piece of news. Raises StoreUnavailable."""
        found = self._progress.marks(task_ids)
        return {
            task: (mark, size_of(transcript_file(self._transcripts, mark.last_attempt)))
            for task, mark in found.items()
        }

    def _move(self, place: Place, numbered: NumberedEvent) -> _Happened:
        event = numbered.event
        data = {
            "at": event.at.isoformat(),
            "trigger": event.trigger.value,
            "from": event.came_from.value if event.came_from else None,
            "state": event.went_to.value,
            "reason": event.reason.value if event.reason else None,
            "detail": self._redact(event.detail),
        }
        return _Happened(event.at, replace(place, event=numbered.id), "move", data)

    def _phase(self, place: Place, numbered: NumberedPhase) -> _Happened:
        phase = numbered.phase
        ended = phase.started_at + timedelta(seconds=phase.seconds)
        data = {
            "attempt": numbered.attempt,
            "name": phase.name,
            "started_at": phase.started_at.isoformat(),
            "seconds": round(phase.seconds, 3),
            "cost": f"{phase.cost:f}",
            "note": self._redact(phase.note),
        }
        return _Happened(ended, replace(place, phase=numbered.id), "phase", data)

    def _readable(self, place: Place) -> tuple[list[_Happened], Place, bool]:
        """Return what was said after a place; of a transcript that cannot be read, nothing now."""
        try:
            return self._transcript(place)
        except OSError as error:
            log.warning("a transcript cannot be read", task=place.task, error=str(error))
            return [], place, True

    def _transcript(self, place: Place) -> tuple[list[_Happened], Place, bool]:
        """Return what was said after a place, one piece of one attempt, and where that leads."""
        attempts = self._progress.attempts(place.task, place.attempt)
        for position, attempt in enumerate(attempts):
            start = place.byte if attempt.id == place.attempt else 0
            piece = read_piece(transcript_file(self._transcripts, attempt.id), start)
            end = piece.lines[-1].end if piece.lines else start
            place = replace(place, attempt=attempt.id, byte=end)
            is_newest = position == len(attempts) - 1
            if piece.lines:
                said = list(self._said(place, attempt, piece.lines))
                return said, place, piece.is_last and is_newest
        return [], place, True

    def _said(self, place: Place, attempt: Attempt, lines: tuple[Line, ...]) -> Iterator[_Happened]:
        at = _BEFORE_ALL
        for line in lines:
            kind = kind_of(line.record) if line.record is not None else "other"
            if line.record is None or kind == "other":
                continue
            at = max(at, _moment(line.record.get("at")))
            data = {"attempt": attempt.number, **shown(line.record, self._redact)}
            yield _Happened(at, replace(place, byte=line.end), kind, data)


def _merged(sources: tuple[_Source, ...], place: Place) -> tuple[tuple[StreamEvent, ...], Place]:
    """Merge by time, up to where one source has more than was read; each keeps its own order."""
    moves, phases, said = sources
    taken = dict.fromkeys(range(len(sources)), 0)
    events: list[StreamEvent] = []
    while True:
        left = {at: source for at, source in enumerate(sources) if taken[at] < len(source.news)}
        if not left or any(not source.is_all and at not in left for at, source in enumerate(sources)):
            return tuple(events), place
        chosen = min(left, key=lambda at: (left[at].news[taken[at]].at, at))
        happened = sources[chosen].news[taken[chosen]]
        taken[chosen] += 1
        if sources[chosen] is moves:
            place = replace(place, event=happened.place.event)
        elif sources[chosen] is phases:
            place = replace(place, phase=happened.place.phase)
        elif sources[chosen] is said:
            place = replace(place, attempt=happened.place.attempt, byte=happened.place.byte)
        events.append(StreamEvent(str(place), happened.kind, happened.data))


def _moment(value: object) -> datetime:
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError:
        return _BEFORE_ALL
    return moment if moment.tzinfo else _BEFORE_ALL
