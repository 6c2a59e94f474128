"""What an attempt reports while it runs; the worker implements this over the store."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from domain.claim import Claim, Restatement
from domain.model import Verdict
from domain.repo_config import RepoConfig


class PhaseNote:
    """A phase that is open: what is written to `text` is shown beside it in the timeline."""

    def __init__(self) -> None:
        self.text = ""


class Journal(Protocol):
    """Takes down progress, durably, and says when to stop."""

    def phase(self, name: str) -> AbstractContextManager[PhaseNote]:
        """Time a stretch of work. Raises Stopped on entry when the attempt must end."""

    def heeds(self, config: RepoConfig, *, elsewhere: str | None) -> None:
        """Hear what the repository's own file says.

        `elsewhere` is None where there is that file; else the name of one that may have been meant, or "".
        """

    def based_on(self, base_sha: str) -> None:
        """Remember the commit that the attempt started from."""

    def restated(self, restatement: Restatement) -> None:
        """Hear the model's restatement of the issue."""

    def stepped(self, step: int, record: Mapping[str, object]) -> None:
        """Take down one finished step of the agent."""

    def claimed(self, claim: Claim) -> None:
        """Take down the agent's report."""

    def judged(self, verdict: Verdict) -> None:
        """Take down what the harness saw."""

    def clock_in(self) -> float:
        """Begin to count the agent's time; return the seconds that it worked in earlier lives."""

    def summed_up(self, summary: str) -> None:
        """Take down how the agent sums up what it left unfinished."""

    def remark(self, text: str) -> None:
        """Tell the people on the issue, now, what they should know of the work. `text` is inert Markdown."""

    def listen(self) -> tuple[str, ...]:
        """Return what maintainers have written since they were last listened to, oldest first."""

    def should_stop(self) -> bool:
        """Tell whether the attempt must end now."""

    def past_steps(self) -> tuple[Mapping[str, object], ...]:
        """Return the records of steps that an earlier life of this attempt finished."""

    def past_claim(self) -> Claim | None:
        """Return the report that an earlier life of this attempt got, if it got that far."""

    def past_restatement(self) -> Restatement | None:
        """Return how an earlier life of this attempt understood the issue, if it got that far."""
