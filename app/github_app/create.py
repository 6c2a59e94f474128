"""The command `fixwright app create`: serves the flow for one browser, and says what is next."""

from __future__ import annotations

import json
import secrets
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import partial

import structlog
import typer
import uvicorn

from app.github_app.flow import Done, ManifestFlow
from app.github_app.lock import CODE_SECONDS, CodeLock
from app.github_app.pages import SetupPages
from app.github_app.site import SetupSite
from app.github_app.stored import DIRECTORY, Room
from app.http_limits import Ending, PunctualHttp, PunctualServer
from app.log import configure_logging
from app.settings import CommonSettings, github_settings_given, load_common_settings
from domain.errors import ConfigurationError
from domain.text import one_line
from providers.github.manifest import WEBHOOK_PATH, Wishes, checked, installing_address, web_root
from providers.github.plugin import checked_api_url

log = structlog.get_logger(__name__)

WAIT_SECONDS = 2 * CODE_SECONDS
"""For a person to go through GitHub's page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What was asked for on the command line; "" takes the setting or the default."""

    organization: str = ""
    public_url: str = ""
    name: str = ""
    api_url: str = ""
    replace: bool = False
    as_json: bool = False


def create(command: Command) -> None:
    """Make the App and tell what is next.

    Raises:
        AlreadyConfigured: there is an App, and it is not to be replaced.
        StoreUnavailable: its keys could not be stored.
        ConfigurationError: a setting or an option is wrong, or nobody finished in time.
    """
    settings = load_common_settings()
    configure_logging("auto", stream=sys.stderr)
    given = github_settings_given()
    flow, wishes = _prepared(command, settings, given)
    done = _made(flow, wishes, settings)
    _tell(command, settings, given, done)


def _prepared(
    command: Command, settings: CommonSettings, given: dict[str, str]
) -> tuple[ManifestFlow, Wishes]:
    with Room(settings.data_dir, replace=command.replace):
        pass  # what cannot be stored is better known before somebody goes to GitHub
    public_url = command.public_url or settings.public_url
    if not public_url:
        raise ConfigurationError(
            "FIXWRIGHT_PUBLIC_URL: is not set, and GitHub must know where to send its deliveries; for "
            "example fixwright app create --url https://fixwright.example.org"
        )
    suffix = command.organization.lower() or secrets.token_hex(3)
    name = command.name or f"fixwright-{suffix}"[:34].rstrip("-")
    wishes = checked(Wishes(name=name, public_url=public_url, organization=command.organization))
    api_url = checked_api_url(command.api_url or given.get("FIXWRIGHT_GITHUB_API_URL", ""))
    return ManifestFlow(settings.data_dir, api_url, replace=command.replace), wishes


def _made(flow: ManifestFlow, wishes: Wishes, settings: CommonSettings) -> Done:
    """Serve the flow until the App is made. Raises ConfigurationError when it takes too long."""
    with socket.create_server(("127.0.0.1", 0)) as listener, _ending(flow) as ending:
        lock = CodeLock(partial(_invite, listener.getsockname()[1], web_root(flow.api_url)))
        site = SetupSite(
            flow=flow,
            lock=lock,
            repositories=tuple(sorted(settings.repositories)),
            wishes=wishes,
            taken_up=False,
        )
        lock.renew()
        _run(SetupPages(site), listener, ending)
    if flow.done is None:
        raise ConfigurationError("no App was made; start the command again")
    return flow.done


@contextmanager
def _ending(flow: ManifestFlow) -> Iterator[Ending]:
    """Give an end that is asked for once the App is made, or when the time is over."""
    ending, left = Ending(), threading.Event()

    def watch() -> None:
        waited = 0.0
        while flow.done is None and waited < WAIT_SECONDS and not left.wait(0.2):
            waited += 0.2
        ending.ask()

    watcher = threading.Thread(target=watch, name="flow", daemon=True)
    watcher.start()
    try:
        yield ending
    finally:
        left.set()
        watcher.join()


def _run(pages: SetupPages, listener: socket.socket, ending: Ending) -> None:
    config = uvicorn.Config(
        pages.application(once=True),
        http=PunctualHttp,
        loop="asyncio",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        limit_concurrency=32,
        timeout_graceful_shutdown=3,
    )
    PunctualServer(config, ending=ending).run(sockets=[listener])


def _invite(port: int, github: str, code: str) -> None:
    """Print the address that opens the page. Once it is too old, the next one is printed for who comes."""
    minutes = timedelta(seconds=CODE_SECONDS) // timedelta(minutes=1)
    lines = [
        f"Open this address in a browser on this machine, within {minutes} minutes. It opens once:",
        f"\n  http://127.0.0.1:{port}/setup/once/{code}\n",
        "No browser here? Bring the port to your own machine, and open the same address there:",
        f"\n  ssh -N -L {port}:127.0.0.1:{port} {socket.gethostname()}\n",
        f"You look the App over there, and create it on {github}. Waiting; Ctrl-C ends without an App.",
    ]
    typer.echo("\n".join(lines), err=True)


def _tell(command: Command, settings: CommonSettings, given: dict[str, str], done: Done) -> None:
    install, directory = installing_address(done.app.page), settings.data_dir / DIRECTORY
    notes = list(_notes(given, done, settings))
    if command.as_json:
        shown = {"app": asdict(done.app), "directory": str(directory), "install": install, "notes": notes}
        typer.echo(json.dumps(shown))
        return
    owner, name = one_line(done.app.owner, 60), one_line(done.app.name, 60)
    lines = [
        f"Made: the GitHub App {name} ({done.app.id}) of {owner}.",
        f"Its keys are in {directory}, for their owner only.",
        *notes,
        f"\nNext, install it on the repositories that are served:\n\n  {install}\n",
        "Then check all of it: fixwright doctor",
    ]
    sys.stdout.write("\n".join(lines) + "\n")


def _notes(given: dict[str, str], done: Done, settings: CommonSettings) -> Iterator[str]:
    if done.aside:
        yield f"The App from before was put aside: {done.aside}"
    shadowing = sorted(name for name in given if name != "FIXWRIGHT_GITHUB_API_URL")
    if shadowing:
        yield f"NOT YET IN USE: {', '.join(shadowing)} of the environment come first; remove them."
    if not settings.public_url:
        yield f"Set FIXWRIGHT_PUBLIC_URL={done.app.webhook_url.removesuffix(WEBHOOK_PATH)}"
    if not settings.repositories:
        yield "Nobody is served yet: set FIXWRIGHT_REPOSITORIES=github:owner/name"
    yield "A service that waits for its App takes it up by itself; restart one that runs already."
