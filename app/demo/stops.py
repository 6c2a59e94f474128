"""Measures how soon the running service stops, in each phase of an attempt: by a cancel, and by SIGTERM."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from app.demo.cases import Case, Files, load_case
from app.demo.scenarios import Scenario, plain_script, scenario_named
from app.demo.scripted_model import Fault, Script, Turn, bash
from app.demo.service import PROJECT
from app.demo.sources import files_of
from app.demo.stage import Stage, set_up
from domain.errors import FixwrightError
from domain.states import State

CANCEL_BAR, SHUTDOWN_BAR = 5.0, 4.0
"""Seconds."""

PATIENCE_SECONDS = 60.0
SETTLED_IN_SECONDS = 0.5
"""How long a phase has been going on when it is stopped."""

REGULAR = 0o100644
_SLOW_TEST = b"import time\n\n\ndef test_slow():\n    time.sleep(600)\n"
_SLOW_WITH_THE_FIX = (
    b"import pathlib\nimport time\n\n\ndef test_slow():\n"
    b"    if 'odd_cents' in pathlib.Path('fairshare/split.py').read_text():\n        time.sleep(600)\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A place to stop at: what makes it last for ever, and the words in the log by which it has begun."""

    name: str
    begins: str
    script: Callable[[Case], Script] = plain_script
    files: Mapping[str, bytes] = field(default_factory=dict)
    hook: str = ""
    stalled_ref: bool = False


def _hanging_model(case: Case) -> Script:
    return Script(restatement=(Turn(fault=Fault(kind="stall")),))


def _stubborn_command(case: Case) -> Script:
    stubborn = bash("trap '' TERM INT HUP; touch begun; sleep 600; sleep 600")
    return replace(plain_script(case), turns=(stubborn,))


def _without_its_own_run(case: Case) -> Script:
    """The case's turns but the last: there the agent would run the slow tests itself."""
    script = plain_script(case)
    return replace(script, turns=(*script.turns[:-2], script.turns[-1]))


PHASES = (
    Phase(name="model call", begins='"agent ready"', script=_hanging_model),
    Phase(name="command", begins='"agent ready"', script=_stubborn_command),
    Phase(name="fetch", begins='"phase": "prepare"', stalled_ref=True),
    Phase(
        name="verification",
        begins='"phase": "verify"',
        script=_without_its_own_run,
        files={"tests/test_slow.py": _SLOW_WITH_THE_FIX},
    ),
    Phase(name="baseline", begins='"phase": "baseline"', files={"tests/test_slow.py": _SLOW_TEST}),
    Phase(name="push, before it lands", begins='"change judged"', hook="pre-receive"),
    Phase(name="push, after it landed", begins='"change judged"', hook="post-receive"),
)
SHORT = tuple(phase for phase in PHASES if phase.name in {"model call", "fetch"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Seconds from the word to the end, and what was wrong then."""

    phase: str
    how: str
    seconds: float
    problems: tuple[str, ...]


def measure(phase: Phase, how: str) -> Measured:
    """Bring the service into a phase, stop it in one of three ways, and look."""
    scenario = replace(scenario_named("fix"), script=phase.script)
    case = load_case(scenario.case)
    files: Files = {
        **files_of(case, PROJECT / ".cache" / "sources"),
        **{path: (content, REGULAR) for path, content in phase.files.items()},
    }
    with _stage(scenario, case, files, phase) as stage:
        _enter(stage, case, phase)
        began = time.monotonic()
        problems = _cancelled(stage) if how == "cancel" else _shut_down(stage, twice=how == "SIGTERM twice")
        seconds = time.monotonic() - began
        bar = CANCEL_BAR if how == "cancel" else SHUTDOWN_BAR
        if seconds > bar:
            problems.append(f"took longer than {bar:g} s")
        return Measured(phase=phase.name, how=how, seconds=seconds, problems=tuple(problems))


class _stage:
    """The stage of the demo, with the remote made slow where the phase wants that."""

    def __init__(self, scenario: Scenario, case: Case, files: Files, phase: Phase) -> None:
        self._set_up = set_up(scenario, case, files)
        self._phase = phase
        self._fifo: Path | None = None

    def __enter__(self) -> Stage:
        stage = self._set_up.__enter__()
        (bare,) = (stage.data / "forge").rglob("*.git")
        if self._phase.hook:
            hook = bare / "hooks" / self._phase.hook
            hook.parent.mkdir(exist_ok=True)
            hook.write_text("#!/bin/sh\nexec sleep 600\n")
            hook.chmod(0o755)
        if self._phase.stalled_ref:
            self._fifo = bare / "refs" / "heads" / "stalled"
            os.mkfifo(self._fifo)
        return stage

    def __exit__(self, *error: object) -> None:
        if self._fifo is not None:
            self._fifo.unlink()
        self._set_up.__exit__(None, None, None)


def _enter(stage: Stage, case: Case, phase: Phase) -> None:
    stage.world.label(stage.issue, stage.maintainer, case.label)
    _await(lambda: phase.begins in _log(stage), f"the phase {phase.name}")
    time.sleep(SETTLED_IN_SECONDS)


def _cancelled(stage: Stage) -> list[str]:
    """Cancel by a comment; the attempt is over when the task says so and the worker has no child left."""
    worker = stage.service.pid_of("work")
    stage.world.comment(stage.issue, stage.maintainer, "/fixwright cancel")
    _await(lambda: _state(stage) is State.CANCELLED, "the task cancelled")
    _await(lambda: not list(_children(worker)), "the worker alone")
    pulls = stage.world.pulls(stage.repository.id)
    return ["a pull request was opened"] if pulls else []


def _shut_down(stage: Stage, *, twice: bool) -> list[str]:
    """Send SIGTERM to the whole group, as a platform does, and wait until nothing of it is left."""
    worker = stage.service.pid_of("work")
    family = {worker, *_descendants(worker)}
    stage.service.terminate()
    if twice:
        time.sleep(0.2)
        stage.service.terminate()
    _await(lambda: not stage.service.is_running(), "the end of the service")
    _await(lambda: not any(_is_alive(pid) for pid in family), "the end of what the worker started")
    task = stage.queue.tasks()[0]
    attempts = stage.queue.attempts(task.id)
    problems = []
    if task.state is not State.QUEUED:
        problems.append(f"the task is {task.state}")
    if task.recoveries or task.attempts or any(attempt.outcome is not None for attempt in attempts):
        problems.append("it was counted as an attempt")
    return problems


def _state(stage: Stage) -> State:
    return stage.queue.tasks()[0].state


def _log(stage: Stage) -> str:
    return stage.service.log.read_text(errors="replace")


def _await(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            raise FixwrightError(f"waited in vain for {what}")
        time.sleep(0.02)


def _children(pid: int) -> Iterator[int]:
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        yield from map(int, tasks.read_text().split())


def _descendants(pid: int) -> Iterator[int]:
    for child in _children(pid):
        yield child
        yield from _descendants(child)


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def main() -> int:
    """Measure; a line for each, then one line of JSON; 1 when a bar was missed or anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="the phases whose name has this in it")
    parser.add_argument("--all", action="store_true", help="every phase, and SIGTERM twice")
    options = parser.parse_args()
    ways = ("cancel", "SIGTERM", "SIGTERM twice") if options.all else ("cancel", "SIGTERM")
    measured = []
    chosen = [phase for phase in PHASES if options.only and options.only in phase.name]
    for phase in chosen or (PHASES if options.all else SHORT):
        for how in ways:
            found = measure(phase, how)
            measured.append(found)
            verdict = "; ".join(found.problems) or "as it must"
            sys.stdout.write(f"{found.phase:22} {found.how:14} {found.seconds:5.2f} s  {verdict}\n")
            sys.stdout.flush()
    figures = {
        "stops": len(measured),
        "violations": sum(bool(found.problems) for found in measured),
        "longest_cancel_seconds": _longest(measured, "cancel"),
        "longest_shutdown_seconds": _longest(measured, "SIGTERM"),
    }
    sys.stdout.write(json.dumps(figures) + "\n")
    return 1 if figures["violations"] else 0


def _longest(measured: list[Measured], how: str) -> float:
    return round(max(found.seconds for found in measured if found.how.startswith(how)), 2)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
