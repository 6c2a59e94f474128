"""The command line: every command, as a thin layer over the module that does its work."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Annotated

import typer

from app.deploy.commands import deploy
from app.evaluation.commands import evaluation
from app.solve.cli import add_solve_command
from app.tasks_cli.commands import add_task_commands
from domain.errors import ConfigurationError, FixwrightError
from domain.model import Category

cli = typer.Typer(
    name="fixwright",
    help="A standing service that turns a labelled issue into a verified draft pull request.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fixwright {installed_version('fixwright')}")
        raise typer.Exit


@cli.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Hold the options that come before a command."""


@cli.command()
def serve() -> None:
    """Run the web process: the webhook door and the console."""
    from app.closed_memory import shut_out
    from app.own_process import keep_own_variables
    from app.setting_groups import WebSettings

    keep_own_variables(WebSettings)
    shut_out()
    from app.serve import main

    main()


@cli.command()
def work() -> None:
    """Run the worker process: claims tasks, one at a time, and works on them."""
    from app.closed_memory import shut_out
    from app.own_process import keep_own_variables
    from app.setting_groups import WorkerSettings

    keep_own_variables(WorkerSettings)
    shut_out()
    from app.work import main

    main()


@cli.command()
def backup(
    file: Annotated[Path, typer.Argument(help="Where to write the copy.")],
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there already.")] = False,
) -> None:
    """Write a consistent copy of the database; the service may be running."""
    from app.backup import back_up_to

    typer.echo(back_up_to(file, replace=force))


@cli.command()
def restore(file: Annotated[Path, typer.Argument(help="A file that `backup` wrote.")]) -> None:
    """Put a copy in the database's place, keeping the old one beside it; the service must be stopped."""
    from app.backup import restore_from

    typer.echo(restore_from(file))


@cli.command()
def spend(
    repo: Annotated[str, typer.Option("--repo", help="Only this repository: owner/name.")] = "",
    day: Annotated[str, typer.Option("--day", help="Only this UTC day: YYYY-MM-DD, or `today`.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show what was spent, by day, repository, task and model, and what today's caps leave."""
    from app.clock import SystemClock
    from app.spend import spend as show

    show(repository=repo, day=day, as_json=as_json, clock=SystemClock())


receipt = typer.Typer(
    help="Read and check the signed receipts of attempts.", no_args_is_help=True, add_completion=False
)
cli.add_typer(receipt, name="receipt")
cli.add_typer(deploy, name="deploy")
add_task_commands(cli)
add_solve_command(cli)


@receipt.command("list")
def receipt_list(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")] = False,
) -> None:
    """List the receipts of this service, the newest first."""
    from app.receipts import list_receipts

    typer.echo(list_receipts(as_json=as_json), nl=False)


@receipt.command("show")
def receipt_show(
    name: Annotated[str, typer.Argument(help="A receipt's file, or its hash (8 digits or more).")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the signed statement as JSON.")] = False,
    envelope: Annotated[bool, typer.Option("--envelope", help="Print the signed file itself.")] = False,
) -> None:
    """Show a receipt in words; its signature is not checked here."""
    from app.receipts import show_receipt

    typer.echo(show_receipt(name, as_json=as_json, envelope=envelope), nl=False)


@receipt.command("verify")
def receipt_verify(
    name: Annotated[
        str, typer.Argument(help="A receipt's file or hash; without one, the whole chain of this service.")
    ] = "",
    key: Annotated[
        Path | None, typer.Option("--key", help="The public key; else the one in the data directory.")
    ] = None,
    tree: Annotated[
        str,
        typer.Option(
            "--tree", help="A tree's hash (git rev-parse BRANCH^{tree}) that must be the verified one."
        ),
    ] = "",
) -> None:
    """Check signature and form of a receipt, or of all and their order; exit status 1 if any fails."""
    from app.receipts import verify_receipts

    typer.echo(verify_receipts(name, key=key, tree=tree), nl=False)


@receipt.command("key")
def receipt_key() -> None:
    """Print the public key of this service, for those who check receipts elsewhere."""
    from app.receipts import public_key

    typer.echo(public_key(), nl=False)


app = typer.Typer(help="Make the GitHub App of this service.", no_args_is_help=True, add_completion=False)
cli.add_typer(app, name="app")


@app.callback()
def app_root() -> None:
    """Make the GitHub App of this service."""


@app.command("create")
def app_create(
    organization: Annotated[
        str, typer.Option("--organization", help="Whose App it is to be; without it, your own account's.")
    ] = "",
    url: Annotated[
        str, typer.Option("--url", help="Where GitHub reaches the service; else FIXWRIGHT_PUBLIC_URL.")
    ] = "",
    name: Annotated[str, typer.Option("--name", help="The App's name, free on GitHub.")] = "",
    api_url: Annotated[
        str, typer.Option("--api-url", help="GitHub's API; an Enterprise server has its own.")
    ] = "",
    replace: Annotated[
        bool, typer.Option("--replace", help="Put the App that is configured aside for the new one.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Make a GitHub App with the least permissions, by a browser; its keys land in the data directory."""
    from app.github_app.create import Command, create

    create(
        Command(
            organization=organization,
            public_url=url,
            name=name,
            api_url=api_url,
            replace=replace,
            as_json=as_json,
        )
    )


@cli.command()
def outcomes(
    days: Annotated[int, typer.Option("--days", min=0, help="Only the last days; 0: all.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")] = False,
) -> None:
    """Show what became of the pull requests: merged, closed, changes asked, approved, expired."""
    from app.clock import SystemClock
    from app.outcomes import outcomes as show

    typer.echo(show(days=days, as_json=as_json, clock=SystemClock()), nl=False)


@cli.command()
def schema() -> None:
    """Print the JSON Schema (draft 2020-12) of a repository's `.fixwright.yml`, for editors."""
    from app.repo_contract import schema_text

    typer.echo(schema_text(), nl=False)


config = typer.Typer(
    help="Look at a repository's `.fixwright.yml`.", no_args_is_help=True, add_completion=False
)
cli.add_typer(config, name="config")


@config.callback()
def config_root() -> None:
    """Hold the commands about the file together."""


@config.command("check")
def config_check(
    file: Annotated[Path, typer.Argument(help="The file, or `-` for standard input.")] = Path(
        ".fixwright.yml"
    ),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")] = False,
) -> None:
    """Print each mistake with line and column; exit status 0: none, 1: some, 2: the file cannot be read."""
    from app.repo_contract import check_file

    text, status = check_file(file, as_json=as_json)
    typer.echo(text, nl=False)
    raise typer.Exit(status)


@cli.command()
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of lines.")] = False,
) -> None:
    """Check settings, machine, sandbox, model and forges; each line ok, warn or fail, with the fix."""
    from app.doctor.check_up import check_up

    raise typer.Exit(check_up(as_json=as_json))


@cli.command()
def localize(
    repo: Annotated[Path, typer.Option("--repo", help="A checked-out repository.")] = Path(),
    issue: Annotated[
        str | None,
        typer.Option("--issue", help="A file with the issue, title first, or its URL; else standard input."),
    ] = None,
    failing_output: Annotated[
        Path | None, typer.Option("--failing-output", help="A file with a failing test's output.")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, max=1000, help="How many places to name.")] = 10,
    budget: Annotated[
        int, typer.Option("--budget", min=0, max=200_000, help="Tokens of source to print after them.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")] = False,
) -> None:
    """Name the files and definitions that a fix will likely touch, without asking any model."""
    from app.localize import Question, answer

    question = Question(repo, issue, failing_output, top, budget)
    typer.echo(answer(question, as_json=as_json), nl=False)


guard = typer.Typer(help="Judge changes as the service does.", no_args_is_help=True, add_completion=False)
cli.add_typer(guard, name="guard")


@guard.callback()
def guard_root() -> None:
    """Hold the commands about the guard together."""


@guard.command("check")
def guard_check(
    diff: Annotated[
        str, typer.Argument(help="A unified diff's file, `-` for standard input, or commits: A..B, A...B, A.")
    ],
    repo: Annotated[Path, typer.Option("--repo", help="The checked-out repository that it is for.")] = Path(),
    category: Annotated[Category, typer.Option("--category", help="What the change is for.")] = Category.BUG,
    issue: Annotated[
        Path | None, typer.Option("--issue", help="A file with the issue, which may name what may change.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")] = False,
) -> None:
    """Print what the guard finds; exit status 0: nothing refuses it, 1: something does, 2: cannot be read."""
    from app.guard_check import Question, check

    question = Question(diff=diff, repository=repo, category=category, issue=issue)
    text, status = check(question, as_json=as_json)
    typer.echo(text, nl=False)
    raise typer.Exit(status)


workspace = typer.Typer(help="Changes of a working copy.", no_args_is_help=True, add_completion=False)
cli.add_typer(workspace, name="workspace")


@workspace.callback()
def workspace_root() -> None:
    """Hold the commands about a working copy together."""


@workspace.command("recover")
def workspace_recover(
    repo: Annotated[Path, typer.Option("--repo", help="The working copy.")] = Path(),
    keep: Annotated[bool, typer.Option("--keep", help="Keep it as it is now, instead.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the receipt as JSON.")] = False,
) -> None:
    """Put a working copy back to what it was before a change whose process died; nothing to do is fine."""
    from app.workspace_recovery import recover

    typer.echo(recover(repo, keep=keep, as_json=as_json), nl=False)


cli.add_typer(evaluation, name="eval")


@cli.command()
def mcp(
    repo: Annotated[
        Path, typer.Option("--repo", help="The checked-out repository; nothing else is seen.")
    ] = Path(),
) -> None:
    """Serve localization, guard, transactions and symbols to an MCP client over standard input and output."""
    from app.mcp.start import start

    start(repo)


@cli.command()
def demo(
    scenario: Annotated[
        str, typer.Option("--scenario", "-s", help="What to show; `list` names all scenarios.")
    ] = "fix",
    case: Annotated[
        str,
        typer.Option(
            "--case", help="A case that ships, by name, or the directory of your own; for fix and real."
        ),
    ] = "",
    forge: Annotated[
        str,
        typer.Option("--forge", help="Where the repository lives: local, or github, a GitHub on loopback."),
    ] = "local",
    keep: Annotated[
        bool, typer.Option("--keep/--no-keep", help="Leave the service running until Enter is pressed.")
    ] = False,
) -> None:
    """Show the whole job with real parts on a forge of its own: label, fix, verify, draft pull request."""
    from app.demo.play import play

    raise typer.Exit(play(scenario, case=case, keep=keep, forge=forge))


def main() -> None:
    """Run the command line; a wrong setting is one line on standard error and exit status 2."""
    try:
        cli()
    except ConfigurationError as error:
        print(f"fixwright: {error}", file=sys.stderr)  # noqa: T201 - the command line's own voice
        sys.exit(2)
    except FixwrightError as error:
        print(f"fixwright: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(1)
