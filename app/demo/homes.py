"""Where the demo's repository lives: on the embedded forge, or on a GitHub on loopback."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from app.demo.github.exchange import Judge, approve
from app.demo.github.server import GithubServer
from app.demo.github.state import APP_ID, GITHUB_HOOKS, GithubState, app_key
from domain.errors import ConfigurationError
from domain.model import Pull, Repository
from providers.local.outbox import WebhookTarget
from providers.local.people import LocalWorld

FORGES = ("local", "github")


class Home(Protocol):
    """A forge with people in it, as a scenario and the service see it."""

    name: str
    world: LocalWorld

    def announce_to(self, service: str, secret: str) -> None:
        """Send webhooks from now on to the service at this address."""

    def settings(self) -> Mapping[str, str]:
        """Return what the service has to know of this forge."""

    def introduction(self) -> str:
        """Return what the spectators should know of this forge, in one line."""

    def address(self, repository: Repository, pull: Pull) -> str:
        """Return where a pull request can be looked at."""

    def summary(self) -> str:
        """Return what the service did here, in one line; "" where nothing is known."""

    def problems(self) -> list[str]:
        """Return what the service asked for and no real forge would have answered."""

    def close(self) -> None:
        """Stop serving."""


def check_forge(name: str) -> None:
    """Raise ConfigurationError if the demo has no such forge."""
    if name not in FORGES:
        known = ", ".join(FORGES)
        raise ConfigurationError(f"no forge {name!r}; there are {known}; for example make demo FORGE=github")


def open_home(name: str, data: Path, owner: str) -> Home:
    """Open a forge in `data`, on which the service works for `owner`. Raises ConfigurationError."""
    check_forge(name)
    return GithubHome(data, owner) if name == "github" else LocalHome(data)


class LocalHome:
    """The embedded forge; the service works on its files."""

    def __init__(self, data: Path) -> None:
        self.name = "local"
        self.world = LocalWorld(data / "forge")

    def announce_to(self, service: str, secret: str) -> None:
        """See `Home`. The service's own acts send webhooks too."""
        self.world.hooks.configure(WebhookTarget(url=f"{service}/webhooks/local", secret=secret))

    def settings(self) -> Mapping[str, str]:
        """See `Home`."""
        return {"FIXWRIGHT_LOCAL_FORGE": str(self.world.root)}

    def introduction(self) -> str:
        """See `Home`."""
        return "the embedded forge, in the demo's own directory"

    def address(self, repository: Repository, pull: Pull) -> str:
        """See `Home`."""
        return pull.url

    def summary(self) -> str:
        """See `Home`."""
        return ""

    def problems(self) -> list[str]:
        """See `Home`."""
        return []

    def close(self) -> None:
        """See `Home`."""


class GithubHome:
    """A GitHub on loopback: an App with its key, signed webhooks, tokens, git over HTTP."""

    def __init__(self, data: Path, owner: str, judge: Judge = approve) -> None:
        self.name = "github"
        self.state = GithubState(data / "forge")
        self.state.install(owner)
        self.world = self.state.local
        self._key = data / "app.pem"
        self._key.touch(mode=0o600)
        self._key.write_text(app_key())
        self._server = GithubServer(self.state, judge)

    def announce_to(self, service: str, secret: str) -> None:
        """See `Home`."""
        target = WebhookTarget(url=f"{service}/webhooks/github", secret=secret, headers=GITHUB_HOOKS)
        self.world.hooks.send_to(target)

    def settings(self) -> Mapping[str, str]:
        """See `Home`."""
        return {
            "FIXWRIGHT_GITHUB_APP_ID": str(APP_ID),
            "FIXWRIGHT_GITHUB_PRIVATE_KEY_FILE": str(self._key),
            "FIXWRIGHT_GITHUB_PRIVATE_KEY": "",  # whatever the spectator's shell has set
            "FIXWRIGHT_GITHUB_API_URL": self._server.url,
        }

    def introduction(self) -> str:
        """See `Home`."""
        return f"a GitHub on loopback, {self._server.url}: an App's tokens, signed webhooks, git over HTTP"

    def address(self, repository: Repository, pull: Pull) -> str:
        """See `Home`."""
        return f"{self._server.origin}/{repository.full_name}/pull/{pull.number}"

    def summary(self) -> str:
        """See `Home`."""
        state = self.state
        sent = sum(hook.sent_at is not None for hook in self.world.deliveries())
        return (
            f"GitHub's side: API requests {len(state.seen)}, tokens minted {state.minted} "
            f"(given back so far {len(state.revoked)}), git requests to fetch {state.fetches} "
            f"and to push {state.pushes}, webhooks sent {sent}"
        )

    def problems(self) -> list[str]:
        """See `Home`."""
        return [f"GitHub: {said}" for said in self.state.broken]

    def close(self) -> None:
        """See `Home`."""
        self._server.close()
