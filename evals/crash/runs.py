"""Runs a journey in lives: each a forked process that works until nothing is left to do, or is killed."""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evals.crash import remains
from evals.crash.fuse import Fuse
from evals.crash.journeys import Journey
from evals.crash.judgement import steps_lost, violations
from evals.crash.world import World

MOST_LIVES = 12
MOST_TURNS = 30
LIFE_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """When a life ends by SIGKILL: before its n-th changing call (`at`), or `after` seconds."""

    at: int = 0
    after: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One run of the proof. `deaths` holds, by the number of the life (from 0), how that life ends."""

    journey: Journey
    deaths: dict[int, Death]
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of a run. `lives` are the calls that each life made, `seconds` how long each took."""

    plan: Plan
    kills: int
    lost: int
    problems: tuple[str, ...]
    lives: tuple[tuple[str, ...], ...]
    seconds: tuple[float, ...]


def play(plan: Plan, templates: Path) -> Result:
    """Play a plan in a world of its own; one that shows a violation is kept, and its place is told."""
    root = Path(tempfile.mkdtemp(prefix="fixwright-crash-"))
    root.chmod(0o711)
    shutil.copytree(templates / _slug(plan.journey), root, dirs_exist_ok=True)
    kills, seconds, lives = _lives(root, plan)
    world = World(root, plan.journey)
    try:
        left = remains.read(world)
    finally:
        world.close()
    problems = violations(left, plan.journey, kills=kills)
    if problems:
        problems.append(f"what is left of it: {root}")
    else:
        shutil.rmtree(root, ignore_errors=True)
    return Result(
        plan=plan,
        kills=kills,
        lost=steps_lost(left, plan.journey),
        problems=tuple(problems),
        lives=tuple(tuple(names) for names in lives),
        seconds=tuple(seconds),
    )


def prepare(templates: Path, journeys: Sequence[Journey]) -> None:
    """Build each journey's world once, to be copied."""
    for journey in journeys:
        World.build(templates / _slug(journey), journey)


def _lives(root: Path, plan: Plan) -> tuple[int, list[float], list[list[str]]]:
    kills, said = 0, list(plan.journey.said)
    seconds: list[float] = []
    lives: list[list[str]] = []
    for number in range(MOST_LIVES):
        began = time.monotonic()
        was_killed = _live(root, plan.journey, plan.deaths.get(number, Death()), number)
        seconds.append(time.monotonic() - began)
        calls = root / f"calls-{number}"
        lives.append(calls.read_text().splitlines() if calls.exists() else [])
        if was_killed:
            kills += 1
            continue
        if not said:
            break
        world = World(root, plan.journey)
        world.says(said.pop(0))
        world.close()
    return kills, seconds, lives


def _live(root: Path, journey: Journey, death: Death, number: int) -> bool:
    """Live one life in a forked process; tell whether it was killed."""
    child = os.fork()
    if child == 0:
        _be_a_worker(root, journey, death, number)
    descriptor = os.pidfd_open(child)
    try:
        patience = LIFE_SECONDS if death.after is None else death.after
        if not select.select([descriptor], [], [], patience)[0]:
            os.kill(child, signal.SIGKILL)
    finally:
        os.close(descriptor)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def _be_a_worker(root: Path, journey: Journey, death: Death, number: int) -> None:
    """Work until nothing is left to do; never returns."""
    code = 1
    try:
        log = os.open(root / "life.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        fuse = Fuse(death.at, really=True, every=False)
        loop = World(root, journey).loop(fuse)
        for _ in range(MOST_TURNS):
            if not loop.turn():
                break
        (root / f"calls-{number}").write_text("\n".join(fuse.calls))
        code = 0
    except BaseException:  # noqa: BLE001 - a forked process must not run on in its parent's place
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _slug(journey: Journey) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in journey.name)
