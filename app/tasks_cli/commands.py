"""Adds the commands about tasks to the command line, each a thin layer over what does its work."""

from __future__ import annotations

from typing import Annotated

import typer

Number = Annotated[int, typer.Argument(min=1, help="The task's number; `fixwright tasks` lists them.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")]


def add_task_commands(cli: typer.Typer) -> None:
    """Add them."""
    cli.command("tasks")(tasks)
    cli.command("show")(show)
    cli.command("retry")(retry)
    cli.command("cancel")(cancel)
    cli.command("replay")(replay)


def tasks(
    state: Annotated[str, typer.Option("--state", help="Only tasks in this state, such as blocked.")] = "",
    repo: Annotated[str, typer.Option("--repo", help="Only this repository: owner/name.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many at most.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List tasks, newest first: where each stands, and what it has cost."""
    from app.tasks_cli.reading import tasks_text, wanted_state
    from store.task_pages import Wanted

    wanted = Wanted(state=wanted_state(state), repository=repo)
    typer.echo(tasks_text(wanted, limit, as_json=as_json), nl=False)


def show(
    number: Number,
    transcript: Annotated[
        bool, typer.Option("--transcript", help="Also all that happened: prompts, commands, outputs, cost.")
    ] = False,
    export: Annotated[
        str, typer.Option("--export", help="Print task and transcript as one file instead: json or html.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Show a task: its attempts, verdicts, pull requests, and what it waits with."""
    from app.tasks_cli.acting import unknown_format
    from app.tasks_cli.page import page_of
    from app.tasks_cli.reading import document, show_text, told

    if not export:
        typer.echo(show_text(number, transcript=transcript, as_json=as_json), nl=False)
        return
    if export not in {"json", "html"}:
        raise unknown_format(export)
    run, events = told(number)
    typer.echo(page_of(run, events) if export == "html" else document(run, events), nl=False)


def retry(number: Number, as_json: AsJson = False) -> None:
    """Have another attempt made at a task, as its operator; waits a little for the worker's decision."""
    from app.tasks_cli.acting import command_text
    from domain.events import Verb

    typer.echo(command_text(number, Verb.RETRY, as_json=as_json), nl=False)


def cancel(number: Number, as_json: AsJson = False) -> None:
    """End a task, as its operator: an attempt stops at once, and nothing more is published."""
    from app.tasks_cli.acting import command_text
    from domain.events import Verb

    typer.echo(command_text(number, Verb.CANCEL, as_json=as_json), nl=False)


def replay(
    delivery: Annotated[int, typer.Argument(min=1, help="The delivery's number.")], as_json: AsJson = False
) -> None:
    """Bring a delivery in once more from the body that was kept, whatever its age."""
    from app.serve import webhook_dialects
    from app.tasks_cli.acting import replay_text

    typer.echo(replay_text(delivery, webhook_dialects(), as_json=as_json), nl=False)
