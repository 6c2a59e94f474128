"""`fixwright deploy`: prints the commands for a host."""

from __future__ import annotations

from typing import Annotated

import typer

from domain.errors import ConfigurationError

deploy = typer.Typer(
    help="Print the commands that bring the service to a host.", no_args_is_help=True, add_completion=False
)


@deploy.callback()
def hosts() -> None:
    """Keep `fly` a command of its own while it is the only one."""


@deploy.command()
def fly(
    app: Annotated[str, typer.Option("--app", help="Name of the app on Fly; it becomes NAME.fly.dev.")],
    repositories: Annotated[
        str, typer.Option("--repositories", help="Who is served: github:owner/name, comma separated.")
    ],
    model: Annotated[
        str, typer.Option("--model", help="The model, by its LiteLLM name.")
    ] = "anthropic/claude-sonnet-4-5",
    region: Annotated[str, typer.Option("--region", help="Region of the machine and its volume.")] = "fra",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the commands; this is all that it does.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a script.")] = False,
) -> None:
    """Print the exact flyctl commands, in order; run them from a checkout, where fly.toml lies."""
    from app.deploy.fly import FlyPlan, words
    from app.settings import inherited_environment

    plan = FlyPlan(app=app, region=region, repositories=repositories, model=model)
    if not dry_run:
        raise ConfigurationError(
            "--dry-run is missing: nothing is deployed by itself, since it costs money; look at what it "
            "prints, and run that"
        )
    typer.echo(words(plan, environment=inherited_environment(), as_json=as_json))
