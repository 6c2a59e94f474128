"""Adds `fixwright solve` to the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def add_solve_command(cli: typer.Typer) -> None:
    """Add it."""
    cli.command("solve")(solve)


def solve(
    issue: Annotated[
        str,
        typer.Argument(
            help="A file with the issue, title first; `-`; or a public issue's address on GitHub."
        ),
    ],
    repo: Annotated[
        Path, typer.Option("--repo", help="Your git repository; what is committed counts.")
    ] = Path(),
    model: Annotated[str, typer.Option("--model", help="The model; else FIXWRIGHT_MODEL.")] = "",
    branch: Annotated[
        str, typer.Option("--branch", help="Put the verified commit on a new branch of this name there.")
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask about the plan.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON; progress goes to standard error.")
    ] = False,
) -> None:
    """Solve one issue here, without a service: work in the sandbox, verify, and show the diff.

    Nothing is pushed, and your working copy stays as it is. Exit status 0: verified; 1: not.
    """
    from app.solve.command import Wish
    from app.solve.command import solve as solved

    wish = Wish(source=issue, checkout=repo, model=model, yes=yes, branch=branch, as_json=as_json)
    raise typer.Exit(solved(wish))
