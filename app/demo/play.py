"""Plays a scenario from the label to its end, and judges whether it ended as it must."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from app.demo.cases import Case, Files, load_case
from app.demo.homes import check_forge
from app.demo.narrator import Narrator
from app.demo.scenarios import SCENARIOS, Meanwhile, Scenario, scenario_named
from app.demo.service import PROJECT
from app.demo.sources import files_of, is_fetched
from app.demo.stage import Stage, set_up
from app.demo.toolchain import is_ready, tools_for
from domain.budget import show_money
from domain.model import Money, PublicationKind, Pull, Task
from domain.states import State

PATIENCE_SECONDS = 300
"""How long a scenario may take on a slow machine, or with a slow model."""

KILL_AFTER_STEPS = 3

SOURCES = PROJECT / ".cache" / "sources"


def play(name: str, *, case: str = "", keep: bool = False, forge: str = "local") -> int:
    """Play a scenario; return 0 only if it ended as it must: mostly, a verified draft pull request."""
    console = Console(highlight=False)
    if name == "list":
        for scenario in SCENARIOS.values():
            console.print(f"{scenario.name:10} {scenario.shows}", soft_wrap=True)
        return 0
    scenario = scenario_named(name)
    check_forge(forge)
    chosen = load_case(case or scenario.case)
    narrator = Narrator(console)
    narrator.say(f"scenario {scenario.name}: {scenario.shows}", "bold")
    files = _prepared(narrator, chosen)
    stays = keep or (console.is_terminal and os.isatty(0))
    with _ending_on_signals(), set_up(scenario, chosen, files, forge) as stage:
        _introduce(narrator, stage, len(files))
        _act(narrator, stage, scenario, chosen.label)
        problems = _conclude(narrator, stage, scenario, stays=stays)
        stage.directory.keep = bool(problems)
        if stays:
            _wait_for_enter(console)
    return 1 if problems else 0


@contextlib.contextmanager
def _ending_on_signals() -> Iterator[None]:
    """Let a closed terminal, or a request to end, take the whole stage down as Ctrl-C does."""

    def end(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _wait_for_enter(console: Console) -> None:
    """Keep the console up for a look; Ctrl-C and the end of the input mean Enter."""
    with contextlib.suppress(KeyboardInterrupt, EOFError):
        console.input("\nThe console stays up until you press Enter. ")


def _prepared(narrator: Narrator, case: Case) -> Files:
    """Get all that the case needs from outside before anything is started; say what takes a while."""
    if case.package and not is_fetched(case, SOURCES):
        narrator.say(f"fetching the source distribution of {case.package} {case.version}")
    files = files_of(case, SOURCES)
    if not is_ready(case):
        narrator.say(f"installing what its tests need: {', '.join(case.requirements)} (once)")
    tools_for(case)
    return files


def _introduce(narrator: Narrator, stage: Stage, file_count: int) -> None:
    narrator.say(f"web process and worker are up under honcho at {stage.service.address}")
    narrator.say(f"forge: {stage.home.introduction()}")
    name, reporter = stage.repository.full_name, stage.reporter.login
    narrator.say(f"repository: {name}, {file_count} files, one issue by {reporter}")
    model = "the scripted model, over HTTP on loopback" if stage.model else "the model that you configured"
    narrator.say(f"model: {model}")


def _act(narrator: Narrator, stage: Stage, scenario: Scenario, label: str) -> None:
    narrator.say(f"{stage.maintainer.login} labels issue #{stage.issue.number} `{label}`", "bold")
    stage.world.label(stage.issue, stage.maintainer, label)
    if scenario.meanwhile is Meanwhile.KILL:
        _kill_the_worker(narrator, stage)
    narrator.follow(stage, lambda: has_settled(stage), PATIENCE_SECONDS)
    if scenario.meanwhile is Meanwhile.RESUME:
        _resume(narrator, stage)


def _kill_the_worker(narrator: Narrator, stage: Stage) -> None:
    narrator.follow(stage, lambda: _steps(stage) >= KILL_AFTER_STEPS, PATIENCE_SECONDS)
    pid = stage.service.pid_of("work")
    narrator.say(f"kill -9 {pid} (the worker, after step {_steps(stage)})", "bold red")
    os.kill(pid, signal.SIGKILL)
    stage.service.wait_ended(20)
    narrator.say("honcho has ended the web process too; starting the service again", "bold")
    stage.service.start()


def _resume(narrator: Narrator, stage: Stage) -> None:
    task = stage.queue.tasks()[0]
    branch = task.wip_branch or "no branch"
    narrator.say(
        f"unfinished work is on {branch}; {stage.maintainer.login} writes `/fixwright resume`", "bold"
    )
    stage.world.comment(stage.issue, stage.maintainer, "/fixwright resume\nPlease add a test, too.")
    generation = task.generation
    narrator.follow(
        stage,
        lambda: stage.queue.tasks()[0].generation > generation and has_settled(stage),
        PATIENCE_SECONDS,
    )


def _steps(stage: Stage) -> int:
    tasks = stage.queue.tasks()
    return sum(attempt.steps for attempt in stage.queue.attempts(tasks[0].id)) if tasks else 0


def has_settled(stage: Stage) -> bool:
    """Tell whether the task is at rest, and the issue says so."""
    tasks = stage.queue.tasks()
    if not tasks or tasks[0].state in {State.QUEUED, State.RUNNING}:
        return False
    told = f"-{tasks[0].id}-{tasks[0].generation} -->"
    return any(told in comment.body for comment in stage.world.comments(stage.issue))


# -- the end ----------------------------------------------------------------------------------------


def _conclude(narrator: Narrator, stage: Stage, scenario: Scenario, *, stays: bool) -> list[str]:
    tasks = stage.queue.tasks()
    if not tasks:
        narrator.title("No task was made. The end of the service's log:")
        narrator.console.print(stage.service.last_lines(), markup=False)
        return ["no task"]
    task = tasks[0]
    pulls = stage.world.pulls(stage.repository.id)
    for pull in pulls:
        narrator.title(f"Draft pull request #{pull.number}: {pull.title}")
        narrator.show_markdown(pull.body)
        narrator.title("The diff")
        narrator.show_diff(stage.world.pull_diff(stage.repository.id, pull.number))
    narrator.title("Comments on the issue")
    for comment in stage.world.comments(stage.issue):
        narrator.show_markdown(f"— {comment.author.login}:\n\n{comment.body}\n")
    narrator.title("Timeline")
    narrator.show_timeline(stage.queue, stage.ledger, task.id)
    problems = problems_of(stage, scenario, task, pulls)
    if summary := stage.home.summary():
        narrator.say(summary)
    for problem in problems:
        narrator.say(f"✗ {problem}", "bold red")
    if problems:
        narrator.console.print(stage.service.last_lines(), markup=False)
    else:
        narrator.say(f"✓ {_success(scenario, task, stage)}", "bold green")
        for pull in pulls:
            narrator.say(f"pull request: {stage.home.address(stage.repository, pull)}")
    page = f"{stage.service.address}/console/tasks/{task.id}"
    data = stage.service.database.parent
    for line in ways_to_look(page, stage.console_token, data, task.id, stays=stays):
        narrator.say(line)
    return problems


def ways_to_look(page: str, token: str, data: Path, task: int, *, stays: bool) -> list[str]:
    """Return how to look at what the demo has made, which is gone with it unless it stays."""
    if not stays:
        return [f"console: {page}  (gone with the demo; `fixwright demo --keep` leaves it up)"]
    return [
        f"console: {page}  (user operator, password {token})",
        f"in another shell: FIXWRIGHT_DATA_DIR={data} fixwright show {task} --transcript",
    ]


def _success(scenario: Scenario, task: Task, stage: Stage) -> str:
    spent = show_money(stage.ledger.spent_on_task(task.id))
    if scenario.blocked_by is not None:
        return f"ended as it must: blocked ({task.reason}), no pull request, {spent} spent"
    lost = stage.ledger.spent_on_task(task.id) - _billed(stage) if stage.model else Money(0)
    why = f", {show_money(lost)} of it for calls whose answer was lost, booked at their worst" if lost else ""
    return f"a verified draft pull request exists, {spent} spent{why}"


def problems_of(stage: Stage, scenario: Scenario, task: Task, pulls: list[Pull]) -> list[str]:
    """Return what is wrong with how it ended; each check looks at the forge or the store."""
    problems = [*_money_problems(stage, task), *stage.home.problems()]
    if scenario.blocked_by is not None:
        if task.state is not State.BLOCKED or task.reason is not scenario.blocked_by:
            problems.append(f"the task is {task.state} ({task.reason}), not blocked ({scenario.blocked_by})")
        if pulls:
            problems.append("there is a pull request, and there must be none")
        return problems
    if task.state is not State.IN_REVIEW:
        problems.append(f"the task is {task.state} ({task.reason}: {task.detail})")
    if len(pulls) != 1 or not pulls[0].is_draft or not pulls[0].is_open:
        return [*problems, f"there must be exactly one open draft pull request; there are {len(pulls)}"]
    return problems + _tree_problems(stage, task, pulls[0])


def _tree_problems(stage: Stage, task: Task, pull: Pull) -> list[str]:
    verdicts = [stage.queue.verdict(attempt) for attempt in stage.queue.attempts(task.id)]
    verified = {verdict.tree for verdict in verdicts if verdict is not None and verdict.verified}
    pushed = stage.world.git.tree(stage.repository.id, pull.head_branch)
    published = [p for p in stage.queue.publications(task.id) if p.kind is PublicationKind.PULL]
    problems = []
    if pushed not in verified:
        problems.append(f"the pushed tree {pushed[:12]} is not a verified one")
    if len(published) != 1:
        problems.append(f"the pull request was published {len(published)} times")
    return problems


def _money_problems(stage: Stage, task: Task) -> list[str]:
    if stage.model is None:
        return []
    spent, billed = stage.ledger.spent_on_task(task.id), _billed(stage)
    problems = []
    if spent < billed:
        problems.append(f"the ledger says {show_money(spent)}, the provider billed {show_money(billed)}")
    return problems


def _billed(stage: Stage) -> Money:
    return sum((entry.cost for entry in stage.model.bill), Money(0)) if stage.model else Money(0)
