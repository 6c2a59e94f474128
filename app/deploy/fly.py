"""The commands that bring the service to Fly.io: `fixwright deploy fly` prints them, and runs none."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

from domain.errors import ConfigurationError

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,28}[a-z0-9]")
_REGION = re.compile(r"[a-z]{3}")
VOLUME = "fixwright_data"
"""As fly.toml mounts it."""

VOLUME_GB = 3
"""Room for the database, a gigabyte of mirrors and as much of set-ups; `fly volumes extend` gives more."""

PROVIDER_KEYS = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY", "gemini": "GEMINI_API_KEY"}
"""The usual variable of a model's key, by the part of its LiteLLM name before the slash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One command, as a shell takes it, and what it is for. It holds no secret: the shell fills them in."""

    why: str
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FlyPlan:
    """What is to be deployed. `repositories` are forge:owner/name."""

    app: str
    region: str
    repositories: str
    model: str

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.app):
            raise ConfigurationError(
                f"--app: {self.app!r} cannot be the name of an app on Fly; take 2 to 30 letters a-z, digits "
                "and hyphens, for example fixwright-acme"
            )
        if not _REGION.fullmatch(self.region):
            raise ConfigurationError(
                f"--region: {self.region!r} is no region, for example fra; `fly platform regions` has all"
            )
        if not self.repositories.strip():
            raise ConfigurationError("--repositories: name at least one, for example github:acme/shop")
        if "/" not in self.model:
            raise ConfigurationError(
                f"--model: {self.model!r} is no LiteLLM name; for example anthropic/claude-sonnet-4-5"
            )

    @property
    def key(self) -> str:
        """Return the variable that holds the model's key."""
        provider = self.model.partition("/")[0].lower()
        return PROVIDER_KEYS.get(provider, re.sub(r"\W", "_", provider).upper() + "_API_KEY")

    def steps(self) -> Iterator[Step]:
        """Give the commands in their order; each ends before the next may begin."""
        app = f"--app {self.app}"
        yield Step(why="sign in", command="fly auth login")
        yield Step(
            why="make the app from fly.toml, and start nothing yet",
            command=f"fly launch --copy-config --no-deploy --yes --name {self.app} --region {self.region}",
        )
        yield Step(
            why="the disk for the database, mirrors and work under way",
            command=f"fly volumes create {VOLUME} {app} --region {self.region} --size {VOLUME_GB} --yes",
        )
        settings = {
            "FIXWRIGHT_REPOSITORIES": self.repositories,
            "FIXWRIGHT_MODEL": self.model,
            "FIXWRIGHT_PUBLIC_URL": f"https://{self.app}.fly.dev",
        }
        pairs = " ".join(f"{name}={shlex.quote(value)}" for name, value in settings.items())
        yield Step(
            why="settings and secrets; your shell puts the key and a fresh console token in",
            command=f"fly secrets set --stage {app} {pairs} "
            f'FIXWRIGHT_CONSOLE_TOKEN="$(openssl rand -hex 16 | tee /dev/stderr)" {self.key}="${self.key}"',
        )
        yield Step(why="build the image and start one machine", command=f"fly deploy {app} --ha=false")
        yield Step(
            why="the one-time code of the setup page stands in the log",
            command=f"fly logs {app} --no-tail | grep 'setup page'",
        )
        yield Step(
            why="open the page, give the code, make the GitHub App, and install it on the repositories",
            command=f"open https://{self.app}.fly.dev/setup",
        )
        yield Step(
            why="see that everything is reachable and safe",
            command=f"fly ssh console {app} -C 'fixwright doctor'",
        )


def words(plan: FlyPlan, *, environment: Mapping[str, str], as_json: bool) -> str:
    """Return what is printed: a script that a shell can run, or JSON. Secrets' values are never in it."""
    steps = list(plan.steps())
    if as_json:
        return json.dumps(
            {"app": plan.app, "key": plan.key, "steps": [asdict(step) for step in steps]}, indent=2
        )
    lines = [f"# Fixwright on Fly.io: {plan.app}, one machine of 1 GB, a volume of {VOLUME_GB} GB."]
    if not environment.get(plan.key):
        lines.append(f"# First: export {plan.key}=…   (the key of {plan.model}; it is not set in this shell)")
    for number, step in enumerate(steps, 1):
        lines += ["", f"# {number}. {step.why}", step.command]
    return "\n".join(lines)
