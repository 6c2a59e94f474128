"""Keeps an issue's status comment up to date while its task is worked on: soon, but not at every step."""

from __future__ import annotations

import threading
from dataclasses import replace

from domain.budget import Caps
from domain.model import Attempt, Task
from domain.ports import Clock
from domain.repo_config import RepoConfig
from worker.status_desk import Live, StatusDesk
from worker.status_words import PhaseLine, StatusFacts, status_page
from worker.voice import Voice


class StatusBoard:
    """One claim's status. What changes is told by the worker's thread, and written by `tick` from another.

    Between two writings at least `every_seconds` pass, but for what has to be said at once. After `rest`
    nothing is written any more: the rows speak then.
    """

    def __init__(
        self, task: Task, desk: StatusDesk, voice: Voice, clock: Clock, *, every_seconds: float
    ) -> None:
        self._task, self._desk, self._voice, self._clock = task, desk, voice, clock
        self._every = every_seconds
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._attempt: Attempt | None = None
        self._live = Live(caps=desk.caps, most_attempts=desk.caps.max_attempts)
        self._changed = False
        self._resting = False
        self._written = ""
        self._written_at: float | None = None

    # -- what has changed: told by the worker's thread ----------------------------------------------

    def begin(self, attempt: Attempt) -> None:
        """Begin with an attempt, and say so at once."""
        with self._lock:
            self._attempt = attempt
        self._write()

    def follow(self, words: str, config: RepoConfig) -> None:
        """Heed the repository's own file, and say at once what it means. `words` is ready Markdown."""
        most = min(config.max_attempts or self._desk.caps.max_attempts, self._desk.caps.max_attempts)
        self._change(said=words, caps=_in_force(self._desk.caps, config), most_attempts=most)
        self._write()

    def began(self, phase: str) -> None:
        """Say that a phase is under way."""
        self._change(current=PhaseLine(name=phase, started_at=self._clock.now()))

    def ended(self) -> None:
        """Say that the phase has ended; the rows tell how."""
        self._change(current=None)

    def thinks(self, hypothesis: str) -> None:
        """Say what the agent takes for the cause now. Outside text."""
        if hypothesis and hypothesis != self._live.hypothesis:
            self._change(hypothesis=hypothesis)

    def rest(self) -> None:
        """Write nothing any more; returns when nothing is being written."""
        with self._writing:
            self._resting = True

    # -- writing ------------------------------------------------------------------------------------

    def tick(self) -> None:
        """Write what has changed, where the last writing is long enough ago. Raises StoreUnavailable."""
        with self._lock:
            is_due = self._changed and (
                self._written_at is None or self._clock.monotonic() - self._written_at >= self._every
            )
        if is_due:
            self._write()

    def facts(self) -> StatusFacts | None:
        """Return what would be said now, None before an attempt has begun."""
        with self._lock:
            attempt, live = self._attempt, self._live
        return None if attempt is None else self._desk.working(self._task, attempt, live)

    def _change(self, **changes: object) -> None:
        with self._lock:
            self._live = replace(self._live, **changes)  # type: ignore[arg-type]  # named by its callers
            self._changed = True

    def _write(self) -> None:
        with self._writing:
            if self._resting:
                return
            with self._lock:
                self._changed, self._written_at = False, self._clock.monotonic()
            facts = self.facts()
            text = status_page(facts) if facts else ""
            if text in {"", self._written}:
                return
            if self._voice.status(self._task, text):
                self._written = text
            else:
                with self._lock:
                    self._changed = True


def _in_force(caps: Caps, config: RepoConfig) -> Caps:
    return caps.tightened(
        max_iterations=config.max_iterations,
        max_cost_per_task_usd=config.max_cost,
        max_daily_cost_usd=config.max_daily_cost,
    )
