"""The journal of an attempt, kept in the store and in the transcript, with live secrets taken out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import structlog

from domain.budget import Caps
from domain.claim import Claim, Restatement
from domain.errors import Stopped
from domain.model import Attempt, Category, Phase, Verdict
from domain.ports import Clock, Ledger, TaskQueue
from domain.repo_config import RepoConfig
from domain.text import Redactor
from harness.journal import PhaseNote
from harness.transcript import SUMMARY, Transcript
from worker.contract_words import contract_words
from worker.halt import Halt
from worker.listening import HEARD, Listening
from worker.redacting import redacted, redacted_verdict
from worker.status_board import StatusBoard

log = structlog.get_logger(__name__)

_HYPOTHESIS = re.compile(
    r"^[ \t>*_]{0,8}Hypothesis[*_]{0,3}:[*_]{0,3}[ \t]+(\S[^\n]{0,400})", re.IGNORECASE | re.MULTILINE
)
_MOST_SAID = 20_000
"""Characters of one step's words that are looked through."""

PHASE = "phase"
"""Key of a record that tells which phase begins: who looks on sees it before it has ended."""

CONFIG = "config"
"""Key of a record that holds what the repository's own file says other than the defaults."""

WORKED = "worked"
"""Key of a step's record: the seconds that the agent had worked on the attempt by then, in all its lives."""


@dataclass(slots=True, kw_only=True)
class StoreJournal:
    """Implements the harness' Journal. Phases carry the dollars that were settled while they were open."""

    queue: TaskQueue
    ledger: Ledger
    transcript: Transcript
    clock: Clock
    attempt: Attempt
    halt: Halt
    redact: Redactor
    tell: Callable[[str], object]
    board: StatusBoard
    caps: Caps
    keep_labels: Callable[[Mapping[str, Category]], None]
    listening: Listening | None = None
    restatement: Restatement | None = None
    claim: Claim | None = None
    steps: list[Mapping[str, object]] = field(default_factory=list)
    began: float | None = None
    worked_before: float = 0.0

    def __post_init__(self) -> None:
        structlog.contextvars.bind_contextvars(attempt=self.attempt.id)  # until the loop unbinds it
        self.restatement, self.claim = self.queue.report(self.attempt)
        self.steps = [*self.transcript.steps()]
        if self.listening is not None:
            self.listening.begin(self.steps)

    @contextmanager
    def phase(self, name: str) -> Iterator[PhaseNote]:
        """Time a stretch; it is written down however it ends."""
        if self.halt.outcome is not None:
            raise Stopped("asked to stop")
        note = PhaseNote()
        started_at, began = self.clock.now(), self.clock.monotonic()
        before = self.ledger.spent_on_attempt(self.attempt.id)
        self.transcript.append({PHASE: name, "at": started_at.isoformat()})
        log.info("phase begins", attempt=self.attempt.id, phase=name)
        self.board.began(name)
        try:
            yield note
        finally:
            phase = Phase(
                name=name,
                started_at=started_at,
                seconds=self.clock.monotonic() - began,
                cost=self.ledger.spent_on_attempt(self.attempt.id) - before,
                note=self.redact(note.text),
            )
            self.queue.add_phase(self.attempt, phase)
            self.board.ended()
            log.info("phase ends", attempt=self.attempt.id, phase=name, seconds=round(phase.seconds, 2))

    def heeds(self, config: RepoConfig, *, elsewhere: str | None) -> None:
        """Tell people what the repository's own file, or that there is none, means for the work."""
        self.keep_labels(config.kinds())
        self.transcript.append({CONFIG: config.model_dump(mode="json", exclude_defaults=True)})
        self.board.follow(contract_words(config, self.caps, elsewhere=elsewhere), config)

    def based_on(self, base_sha: str) -> None:
        """Remember the starting commit."""
        self.attempt = self.queue.note_progress(self.attempt, base_sha=base_sha)

    def restated(self, restatement: Restatement) -> None:
        """Store the restatement."""
        restatement = redacted(restatement, self.redact)
        self.restatement = restatement
        self.queue.save_report(self.attempt, restatement=restatement, claim=None)
        if restatement.suspected_area:
            self.board.thinks(f"the fault is in {restatement.suspected_area}")
        self.transcript.append({"restatement": restatement.model_dump()})

    def stepped(self, step: int, record: Mapping[str, object]) -> None:
        """Append the step to the transcript; only then does it count.

        The row comes first, because it is fenced: who has lost the task must not write into the transcript
        of whoever has it now. Raises StaleWrite.
        """
        self.attempt = self.queue.note_progress(self.attempt, steps=step)
        entry = {**record, "step": step, "at": self.clock.now().isoformat(), WORKED: self._worked()}
        if self.listening is not None:
            entry[HEARD] = self.listening.take_given()
        self.transcript.append(entry)
        self.steps.append(entry)
        self.board.thinks(self.redact(hypothesis_in(record)))

    def listen(self) -> tuple[str, ...]:
        """Return what maintainers have written since they were last listened to."""
        said = self.listening.new_words() if self.listening is not None else ()
        return tuple(map(self.redact, said))

    def claimed(self, claim: Claim) -> None:
        """Store the agent's report."""
        claim = redacted(claim, self.redact)
        self.claim = claim
        self.board.thinks(claim.root_cause)
        self.queue.save_report(self.attempt, restatement=self.restatement, claim=claim)
        self.transcript.append({"claim": claim.model_dump()})

    def judged(self, verdict: Verdict) -> None:
        """Store the verdict."""
        self.queue.save_verdict(self.attempt, redacted_verdict(verdict, self.redact))

    def clock_in(self) -> float:
        """Begin to count. What a killed life did after its last step is not known, and not counted."""
        self.worked_before, self.began = _worked_until(self.steps), self.clock.monotonic()
        return self.worked_before

    def _worked(self) -> float:
        now = self.clock.monotonic()
        return round(self.worked_before + now - (now if self.began is None else self.began), 3)

    def summed_up(self, summary: str) -> None:
        """Append it to the transcript, where the next attempt finds it."""
        self.transcript.append({SUMMARY: summary})

    def remark(self, text: str) -> None:
        """Tell the people on the issue."""
        self.tell(text)

    def should_stop(self) -> bool:
        """Tell whether a stop was asked for."""
        return self.halt.outcome is not None

    def past_steps(self) -> tuple[Mapping[str, object], ...]:
        """Return the steps so far, those of an earlier life included."""
        return tuple(self.steps)

    def past_claim(self) -> Claim | None:
        """Return the report that is already there, if any."""
        return self.claim

    def past_restatement(self) -> Restatement | None:
        """Return the restatement that is already there, if any."""
        return self.restatement


def hypothesis_in(record: Mapping[str, object]) -> str:
    """Return what a step's model takes for the cause now, by the last line that says so, or ""."""
    messages = record.get("messages")
    said = [
        str(message.get("content") or "")
        for message in (messages if isinstance(messages, list) else ())
        if isinstance(message, dict) and message.get("role") == "assistant"
    ]
    found = _HYPOTHESIS.findall("\n".join(said)[:_MOST_SAID])
    return found[-1].strip() if found else ""


def _worked_until(steps: Sequence[Mapping[str, object]]) -> float:
    """Return the seconds on the last record that has any; older records have none."""
    known = (record.get(WORKED) for record in reversed(steps))
    return next((float(seconds) for seconds in known if isinstance(seconds, int | float)), 0.0)
