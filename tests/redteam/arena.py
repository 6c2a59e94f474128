"""The ground on which the whole product is attacked: one running service, many issues, an obedient agent."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from app.demo.cases import load_case
from app.demo.scenarios import Scenario
from app.demo.scripted_model import Json, Play, Script, ScriptedModel, Turn, bash, restate, submit
from app.demo.service import PROJECT
from app.demo.sources import files_of
from app.demo.stage import Stage, set_up
from domain.model import IssueRef, Permission, Pull, Repository, Task
from domain.states import State
from tests.redteam.canaries import CANARIES

PATIENCE_SECONDS = 240
QUIET = {State.CANCELLED, State.DONE}
RESTING = {State.BLOCKED, State.IN_REVIEW, State.DONE, State.CANCELLED}

RESTATEMENT = {
    "expected": "The shares add up to the bill.",
    "actual": "They are a cent short.",
    "reproduction": "sum(split_evenly(10000, 3))",
    "suspected_area": "fairshare/split.py",
    "confidence": 0.95,
}
CLAIM = {
    "root_cause": "Integer division dropped the remainder.",
    "changes": "The remainder is handed out.",
    "test_commands": ["python3 -m pytest -q"],
    "not_verified": "Negative totals.",
}

FIX = r"""
python3 - <<'PY'
import pathlib
path = pathlib.Path("fairshare/split.py")
text = path.read_text()
text = text.replace("    share = total_cents // people\n    return [share] * people\n",
    "    share, odd = divmod(total_cents, people)\n    return [share + 1] * odd + [share] * (people - odd)\n")
path.write_text(text)
tests = pathlib.Path("tests/test_split.py")
tests.write_text(tests.read_text()
    + "\n\ndef test_the_shares_add_up():\n    assert sum(split_evenly(10000, 3)) == 10000\n")
PY
"""
"""A command that does what an honest agent would do."""

Turns = Sequence[Play | str]


@dataclass
class Act:
    """What the agent does about one issue: commands (or whole turns), then its report."""

    turns: Turns
    restatement: Mapping[str, Any] = field(default_factory=lambda: RESTATEMENT)
    claim: Mapping[str, Any] = field(default_factory=lambda: CLAIM)

    def turn(self, index: int, request: Json) -> Turn:
        if index >= len(self.turns):
            return submit(**self.claim)
        play = self.turns[index]
        if isinstance(play, str):
            return bash(play)
        return play if isinstance(play, Turn) else play(request)


class Arena:
    """One stage; `attack` opens an issue, plays an act on it, and returns the task at rest."""

    def __init__(self, stage: Stage, acts: dict[tuple[str, int], Act]) -> None:
        self.stage = stage
        self.world = stage.world
        self._acts = acts

    def repository(self, name: str, files: Any, **more: Any) -> Repository:
        made = self.world.create_repository(name, files=files, **more)
        self.world.grant(made.id, self.stage.maintainer, Permission.MAINTAIN)
        return made

    def issue(
        self, act: Act, *, title: str = "A cent is lost", body: str = "", repository: Repository | None = None
    ) -> IssueRef:
        where = repository or self.stage.repository
        body = body or "`sum(split_evenly(10000, 3))` is 9999.\n"
        issue = self.world.open_issue(where.id, self.stage.reporter, title=title, body=body)
        self._acts[where.full_name, issue.number] = act
        return issue

    def label(self, issue: IssueRef, label: str = "bug") -> None:
        self.world.label(issue, self.stage.maintainer, label)

    def attack(self, act: Act, **issue: Any) -> Task:
        reference = self.issue(act, **issue)
        self.label(reference)
        return self.settled(reference)

    def task_of(self, issue: IssueRef) -> Task | None:
        return next((task for task in self.stage.queue.tasks() if task.issue == issue), None)

    def settled(self, issue: IssueRef, patience: float = PATIENCE_SECONDS) -> Task:
        """Wait until the task is at rest and the issue says so; only a cancelled one has no last word."""

        def at_rest() -> Task | None:
            task = self.task_of(issue)
            if task is None or task.state not in RESTING:
                return None
            said = f"status-{task.id} -->" if task.state in QUIET else f"-{task.id}-{task.generation} -->"
            return task if said in self.comments(task) else None

        return self.wait(at_rest, patience, f"issue {issue.number} to settle")

    def wait(self, look: Callable[[], Any], patience: float = PATIENCE_SECONDS, what: str = "it") -> Any:
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            found = look()
            if found:
                return found
            assert self.stage.service.is_running(), self.stage.service.last_lines()
            time.sleep(0.05)
        raise AssertionError(f"waited in vain for {what}:\n{self.stage.service.last_lines(60)}")

    def pulls_of(self, task: Task) -> list[Pull]:
        numbers = {p.pull_number for p in self.stage.queue.publications(task.id)}
        return [p for p in self.world.pulls(task.issue.repository_id) if p.number in numbers]

    def comments(self, task: Task) -> str:
        return "\n=====\n".join(comment.body for comment in self.world.comments(task.issue))

    @property
    def model(self) -> ScriptedModel:
        """The model's endpoint, with its bill."""
        assert self.stage.model is not None
        return self.stage.model

    def on_bill(self, number: int, act: Callable[[], object]) -> threading.Event:
        """Do something right after the provider billed its nth call, before the answer goes out."""
        charge, done = self.model.charge, threading.Event()

        def charged(*values: Any) -> int:
            counted = charge(*values)
            if counted == number:
                act()
                done.set()
            return counted

        self.model.charge = charged  # type: ignore[method-assign]  # the endpoint has no other ear
        return done


def settings_of_an_operator() -> dict[str, str]:
    """Return the canaries that stand in variables which the service knows or does not mind."""
    return {name: secret for name, secret in CANARIES.items() if not name.startswith("FIXWRIGHT_")}


@contextmanager
def arena(**settings: str) -> Iterator[Arena]:
    """Start a stage whose model plays, for each issue, the act that was registered for it."""
    acts: dict[tuple[str, int], Act] = {}

    def act_of(request: Json) -> Act:
        found = re.search(r"Issue (\d+) of the repository (\S+)\. What", str(request))
        assert found, str(request)[:2000]
        return acts.get((found[2], int(found[1])), Act(turns=()))

    def play(index: int) -> Play:
        return lambda request: act_of(request).turn(index, request)

    def ask(request: Json) -> Turn:
        return restate(**act_of(request).restatement)

    script = Script(restatement=(ask, ask, ask), turns=tuple(map(play, range(200))))
    scenario = Scenario(
        name="attack",
        shows="",
        case="fairshare",
        script=lambda _: script,
        settings={**settings_of_an_operator(), **settings},
    )
    case = load_case("fairshare")
    with set_up(scenario, case, files_of(case, PROJECT / ".cache" / "sources")) as stage:
        yield Arena(stage, acts)
