"""Tells what happens while it happens: colours and a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown
from rich.padding import Padding
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from app.demo.stage import Stage
from domain.budget import show_money
from domain.model import Attempt, Phase
from domain.states import State
from domain.text import one_line, plain
from store.ledger import SqliteLedger
from store.tasks import SqliteTaskQueue

LOOK_SECONDS = 0.05


class Narrator:
    """Follows one task of a stage through the store and the transcript, and says what is new."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._began = time.monotonic()
        self._phases_told = 0
        self._records_told: dict[int, int] = {}
        self._state: State | None = None

    def say(self, text: str, style: str = "") -> None:
        """Print one line with the seconds since the start."""
        stamp = f"{time.monotonic() - self._began:6.1f} s  "
        self.console.print(Text(stamp, "dim"), Text(text, style), sep="", soft_wrap=True)

    def title(self, text: str) -> None:
        """Print a heading."""
        self.console.print()
        self.console.print(Text(text, "bold"))

    def follow(self, stage: Stage, until: Callable[[], bool], seconds: float) -> bool:
        """Tell what is new until a condition holds; False when `seconds` passed or the service ended."""
        deadline = time.monotonic() + seconds
        with self.console.status("working …"):
            while not until():
                if time.monotonic() > deadline or not stage.service.is_running():
                    self.catch_up(stage)
                    return until()
                self.catch_up(stage)
                time.sleep(LOOK_SECONDS)
        self.catch_up(stage)
        return True

    def catch_up(self, stage: Stage) -> None:
        """Tell all that happened since the last look."""
        tasks = stage.queue.tasks()
        if not tasks:
            return
        task = tasks[0]
        for attempt in stage.queue.attempts(task.id):
            self._tell_steps(stage.data / "service" / "transcripts" / f"attempt-{attempt.id}.jsonl", attempt)
        phases = stage.queue.phases(task.id)
        for _number, phase in phases[self._phases_told :]:
            self._tell_phase(phase)
        self._phases_told = len(phases)
        if task.state is not self._state:
            self._state = task.state
            reason = f" ({task.reason})" if task.reason else ""
            self.say(f"issue #{task.issue.number} is {task.state.replace('_', ' ')}{reason}", "bold cyan")

    def _tell_phase(self, phase: Phase) -> None:
        cost = f", {show_money(phase.cost)}" if phase.cost else ""
        note = f"  {one_line(phase.note, 90)}" if phase.note else ""
        self.say(f"· {phase.name} ({phase.seconds:.1f} s{cost}){note}", "blue")

    def _tell_steps(self, path: Path, attempt: Attempt) -> None:
        try:
            lines = path.read_text(errors="replace").splitlines()
        except FileNotFoundError:
            return
        told = self._records_told.get(attempt.id, 0)
        for line in lines[told:]:
            try:
                self._tell_record(json.loads(line))
            except ValueError:
                break
            told += 1
        self._records_told[attempt.id] = told

    def _tell_record(self, record: dict[str, object]) -> None:
        restated = record.get("restatement")
        if isinstance(restated, dict):
            self.say(f"  understood: {one_line(str(restated.get('actual', '')), 100)}", "magenta")
            for question in restated.get("questions") or []:
                self.say(f"  asks: {one_line(str(question), 140)}", "magenta")
        for command in commands_of(record):
            self.say(f"  agent$ {one_line(plain(command).strip().splitlines()[0], 100)}", "yellow")

    # -- the end ------------------------------------------------------------------------------------

    def show_markdown(self, text: str) -> None:
        """Print Markdown: rendered on a terminal, as it is elsewhere."""
        if self.console.is_terminal:
            self.console.print(Padding(Markdown(text), (0, 2)))
        else:
            self.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def show_diff(self, diff: str) -> None:
        """Print a patch."""
        if self.console.is_terminal:
            self.console.print(Syntax(diff, "diff", background_color="default"))
        else:
            self.console.print(diff, markup=False, highlight=False, soft_wrap=True)

    def show_timeline(self, queue: SqliteTaskQueue, ledger: SqliteLedger, task_id: int) -> None:
        """Print seconds and dollars of each phase, and the sums."""
        table = Table("attempt", "phase", "seconds", "dollars", "", box=None, pad_edge=False)
        phases = queue.phases(task_id)
        for number, phase in phases:
            table.add_row(
                str(number),
                phase.name,
                f"{phase.seconds:.2f}",
                show_money(phase.cost) if phase.cost else "–",
                one_line(phase.note, 60),
            )
        total = sum(phase.seconds for _, phase in phases)
        table.add_row("", "total", f"{total:.2f}", show_money(ledger.spent_on_task(task_id)), "")
        self.console.print(table)


def commands_of(record: dict[str, object]) -> list[str]:
    """Return the shell commands that the model gave in a step's record."""
    found = []
    messages = record.get("messages")
    for message in messages if isinstance(messages, list) else []:
        for call in message.get("tool_calls") or []:
            with contextlib.suppress(ValueError, KeyError, TypeError):
                found.append(str(json.loads(call["function"]["arguments"])["command"]))
    return found
