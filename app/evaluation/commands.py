"""The commands below `fixwright eval`, each a thin layer over the module that does its work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.evaluation.walks import Walk

evaluation = typer.Typer(
    help="Measure localization and models on a repository's own fixes.",
    no_args_is_help=True,
    add_completion=False,
)


@evaluation.callback()
def evaluation_root() -> None:
    """Hold the commands about evaluation together."""


@evaluation.command("build")
def build(
    repo: Annotated[Path, typer.Option("--repo", help="A repository with its history.")] = Path(),
    out: Annotated[Path, typer.Option("--out", help="Directory for the cases; run again to go on.")] = Path(
        "fixwright-cases"
    ),
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many cases to make.")] = 20,
    scan: Annotated[int, typer.Option("--scan", min=1, help="How many commits to look at, at most.")] = 1000,
    commits: Annotated[
        Walk, typer.Option("--commits", help="Which: see docs/reference/evaluation.md.")
    ] = Walk.FIXES,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")] = False,
) -> None:
    """Make ground-truth cases from bug-fix commits: red with the bug, green with the fix, in the sandbox."""
    from app.evaluation.build import Order
    from app.evaluation.build import build as make

    order = Order(repository=repo, out=out, limit=limit, scan=scan, commits=commits)
    typer.echo(make(order, as_json=as_json), nl=False)


@evaluation.command("profile")
def profile(
    directory: Annotated[
        Path | None, typer.Argument(help="A directory of transcripts; without one, the service's own.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show what agents' steps and dollars went to: searching, reading, editing, testing; by role and kind."""
    from app.evaluation.profile import profile as show

    if directory is not None:
        typer.echo(show(directory, None, as_json=as_json), nl=False)
        return
    from app.settings import load_common_settings

    settings = load_common_settings()
    typer.echo(show(settings.data_dir / "transcripts", settings.database_path, as_json=as_json), nl=False)


_CASES = typer.Argument(help="A directory that `fixwright eval build` made.")
_OUT = typer.Option("--out", help="Directory for results; run again to go on.")
_LIMIT = typer.Option("--limit", min=1, help="How many cases.")
_YES = typer.Option("--yes", help="Spend up to the bound that is printed, without being asked.")
_JSON = typer.Option("--json", help="Print JSON instead of a table.")


@evaluation.command("ablation")
def ablation(
    cases: Annotated[Path, _CASES],
    out: Annotated[Path, _OUT] = Path("fixwright-ablation"),
    strategies: Annotated[
        str, typer.Option("--strategies", help="Of localization, comma separated.")
    ] = "null,grep,bm25,symbols,full",
    limit: Annotated[int, _LIMIT] = 10,
    yes: Annotated[bool, _YES] = False,
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """Let the same agent work on cases with each stage of localization. Spends money, after asking."""
    from app.evaluation.models import AGENT, Order, compare, ways_of

    order = Order(cases=cases, out=out, ways=ways_of(AGENT, strategies), limit=limit, yes=yes)
    typer.echo(compare(order, as_json=as_json), nl=False)


@evaluation.command("baseline")
def baseline(
    cases: Annotated[Path, _CASES],
    out: Annotated[Path, _OUT] = Path("fixwright-baseline"),
    strategies: Annotated[
        str, typer.Option("--strategies", help="Of localization, comma separated.")
    ] = "full",
    limit: Annotated[int, _LIMIT] = 10,
    yes: Annotated[bool, _YES] = False,
    as_json: Annotated[bool, _JSON] = False,
) -> None:
    """Ask the model for a patch in one call per case, without tools. Spends money, after asking."""
    from app.evaluation.models import ONE_SHOT, Order, compare, ways_of

    order = Order(cases=cases, out=out, ways=ways_of(ONE_SHOT, strategies), limit=limit, yes=yes)
    typer.echo(compare(order, as_json=as_json), nl=False)
