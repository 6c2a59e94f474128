"""The command `fixwright solve`: shows what happens, asks, and ends with a diff and a summary."""

from __future__ import annotations

import io
import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from app.api.news import StreamEvent
from app.doctor.model import missing_key
from app.log import configure_logging
from app.settings import load_worker_settings
from app.solve.place import solve_place
from app.solve.solver import Solved, Solver
from app.solve.source import read_issue
from app.tasks_cli.reading import event_lines
from app.work import known_secrets
from domain.budget import show_money
from domain.claim import Restatement
from domain.errors import ConfigurationError
from domain.model import Category, Money
from domain.states import State
from domain.text import one_line, plain
from worker.announce import MODEL_REFUSED

_ENDED = "A service would try again by itself; this command has ended: run it again when that is mended."
_STOPPED = "It was stopped. Nothing is kept; a second try begins anew."


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What was asked for on the command line."""

    source: str
    checkout: Path
    model: str
    yes: bool
    branch: str
    as_json: bool


def solve(wish: Wish) -> int:
    """Solve an issue; return 0 where a change was verified, else 1.

    Raises ConfigurationError, ForgeError, GitError, SandboxError.
    """
    given = load_worker_settings()
    if not (wish.model or given.model):
        raise ConfigurationError(
            "FIXWRIGHT_MODEL: is not set; for example --model anthropic/claude-sonnet-4-5"
        )
    log = io.StringIO()
    configure_logging("json", redact=known_secrets(given), stream=log)
    issue = read_issue(wish.source, given.github_api_url)
    console = Console(file=sys.stderr if wish.as_json else None, highlight=False)
    asks = not wish.yes and sys.stdin.isatty()
    with solve_place(wish.checkout, issue, Category.BUG, plan_first=asks) as place:
        console.print(Text(f"{one_line(issue.title, 200)}  ({_named(wish.checkout)})", style="bold"))
        if wish.branch:
            place.check_new(wish.branch)
        settings = place.settings(given, wish.model)
        if wanted := missing_key(settings):
            raise ConfigurationError(f"{wanted}: is not set, nor is FIXWRIGHT_API_KEY; the model needs a key")
        solver = Solver(place, settings)
        try:
            solved = solver.solve(
                lambda plan: _is_approved(console, plan), lambda event: _show(console, event)
            )
        finally:
            solver.close()
        commit = place.hand_over(solved.branch, wish.branch) if wish.branch and solved.branch else ""
    said = _STOPPED if solved.is_stopped else ending(solved.task.state, solved.task.detail, log.getvalue())
    told = replace(solved, task=replace(solved.task, detail=said))
    _conclude(console, wish, told, commit)
    return 0 if solved.branch else 1


def ending(state: State, detail: str, log: str) -> str:
    """Return what an end says to a person at a terminal, who has neither a service nor its log."""
    if state is not State.QUEUED:
        return detail
    if detail != MODEL_REFUSED:
        return f"{detail} {_ENDED}".lstrip()
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    problem = next((str(line["problem"]) for line in reversed(lines) if "problem" in line), "")
    return f"The model's provider refuses the calls: {problem or 'it does not say why'} {_ENDED}"


def _named(checkout: Path) -> Path:
    return checkout.expanduser().absolute()


def _is_approved(console: Console, plan: Restatement) -> bool:
    console.print(Text("\nThe plan", style="bold"))
    for name, value in plan.model_dump().items():
        console.print(Text(f"  {name}: {one_line(str(value), 1000)}"))
    return console.input("Go on with it? [y/N] ").strip().lower() in {"y", "yes"}


def _show(console: Console, event: StreamEvent) -> None:
    for line in event_lines(event):
        console.print(Text(line), soft_wrap=True)


def _conclude(console: Console, wish: Wish, solved: Solved, commit: str) -> None:
    if wish.as_json:
        sys.stdout.write(json.dumps(_document(wish, solved, commit), indent=2) + "\n")
        return
    task = solved.task
    if solved.diff:
        console.print(Text("\nThe diff", style="bold"))
        console.print(Syntax(plain(solved.diff), "diff", background_color="default"))
    if solved.verdict:
        console.print(Text(f"\n{one_line(solved.verdict.summary, 1000)}", style="bold"))
    if solved.branch:
        console.print(Text(f"Verified; {show_money(Money(solved.spent))} spent."))
        if commit:
            console.print(
                Text(
                    f"Branch {wish.branch} in {_named(wish.checkout)} is at {commit[:12]}; push it yourself."
                )
            )
        return
    why = f"{task.state}" + (f" ({task.reason})" if task.reason else "")
    console.print(Text(f"Not solved: {why}. {one_line(task.detail, 1000)}".rstrip()))
    console.print(
        Text(f"{show_money(Money(solved.spent))} spent; nothing was changed in {_named(wish.checkout)}.")
    )


def _document(wish: Wish, solved: Solved, commit: str) -> dict[str, object]:
    task, verdict = solved.task, solved.verdict
    return {
        "solved": bool(solved.branch),
        "state": task.state.value,
        "reason": task.reason.value if task.reason else None,
        "detail": task.detail,
        "spent_usd": solved.spent,
        "verified": verdict.verified if verdict else None,
        "summary": verdict.summary if verdict else "",
        "diff": solved.diff,
        "text": solved.body,
        "branch": wish.branch if commit else "",
        "commit": commit,
        "is_over": task.state in {State.DONE, State.CANCELLED},
    }
