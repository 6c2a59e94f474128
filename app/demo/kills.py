"""Kills a process of the running service at random instants, over and over, and checks what is left."""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import time
from dataclasses import dataclass

from rich.console import Console

from app.demo.cases import load_case
from app.demo.narrator import Narrator
from app.demo.play import has_settled, problems_of
from app.demo.scenarios import scenario_named
from app.demo.service import PROJECT
from app.demo.sources import files_of
from app.demo.stage import Stage, set_up
from domain.errors import FixwrightError

PATIENCE_SECONDS = 240
CALLS_OF_A_QUIET_RUN = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One run: what was killed and when, and what was wrong afterwards."""

    victim: str
    after_seconds: float
    problems: tuple[str, ...]
    repeated_calls: int


def run(seed: int, window_seconds: float) -> Outcome:
    """Play the plain scenario once, kill one process at a random instant, start again, look."""
    dice = random.Random(seed)
    victim, instant = dice.choice(("serve", "work")), dice.uniform(0.0, window_seconds)
    scenario = scenario_named("fix")
    case = load_case(scenario.case)
    with set_up(scenario, case, files_of(case, PROJECT / ".cache" / "sources")) as stage:
        narrator = Narrator(Console(quiet=True))
        stage.world.label(stage.issue, stage.maintainer, case.label)
        narrator.follow(stage, lambda: False, instant)
        _kill(stage, victim)
        stage.service.start()
        for delivery in stage.world.deliveries():
            if delivery.status == "failed":
                stage.world.redeliver(delivery.guid)
        narrator.follow(stage, lambda: has_settled(stage), PATIENCE_SECONDS)
        outcome = _judged(stage, victim, instant)
        stage.directory.keep = bool(outcome.problems)
        return outcome


def _kill(stage: Stage, victim: str) -> None:
    try:
        os.kill(stage.service.pid_of(victim), signal.SIGKILL)
    except (FixwrightError, ProcessLookupError):
        return
    stage.service.wait_ended(20)


def _judged(stage: Stage, victim: str, instant: float) -> Outcome:
    tasks = stage.queue.tasks()
    if len(tasks) != 1:
        problems = [f"{len(tasks)} tasks for one issue: a delivery was lost or doubled"]
    else:
        pulls = stage.world.pulls(stage.repository.id)
        problems = problems_of(stage, scenario_named("fix"), tasks[0], pulls)
    bodies = [comment.body for comment in stage.world.comments(stage.issue)]
    if len(bodies) != len(set(bodies)):
        problems.append("a comment was written twice")
    calls = len(stage.model.bill) if stage.model else CALLS_OF_A_QUIET_RUN
    repeated = max(0, calls - CALLS_OF_A_QUIET_RUN)
    if repeated > 1:
        problems.append(f"{repeated} calls were made again; at most one step may be")
    return Outcome(
        victim=victim, after_seconds=round(instant, 2), problems=tuple(problems), repeated_calls=repeated
    )


def main() -> int:
    """Run as often as told; one line per run, then one line of JSON; 1 when anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--window", type=float, default=6.0, help="seconds after the label")
    options = parser.parse_args()
    outcomes = []
    for number in range(options.runs):
        outcome = run(options.seed + number, options.window)
        outcomes.append(outcome)
        verdict = "; ".join(outcome.problems) or "as it must"
        sys.stdout.write(
            f"{number + 1:3}  kill {outcome.victim:5} after {outcome.after_seconds:5.2f} s: {verdict}\n"
        )
        sys.stdout.flush()
    violations = sum(bool(outcome.problems) for outcome in outcomes)
    figures = {
        "runs": len(outcomes),
        "violations": violations,
        "calls_repeated": sum(outcome.repeated_calls for outcome in outcomes),
        "seed": options.seed,
    }
    sys.stdout.write(json.dumps(figures) + "\n")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
