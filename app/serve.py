"""The web process: the only place that joins settings, database, providers and web server."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Mapping
from importlib.metadata import entry_points

import structlog
import uvicorn
from starlette.types import ASGIApp

from app.api.application import PREFIX, api_application
from app.api.wiring import api_parts, replayer_of
from app.clock import SystemClock
from app.console_site import console_of
from app.group_commit import DeliveryWriter
from app.health import Signs, health_of
from app.http_limits import Ending, PunctualHttp, PunctualServer
from app.intake import Door
from app.log import configure_logging
from app.metrics.wiring import metrics_of
from app.request_body import BodyReader
from app.settings import WebSettings, load_web_settings
from app.wake import Bell
from app.web import create_app
from domain.errors import ConfigurationError
from domain.operators import OWN_PROVIDERS
from domain.policy import admit
from domain.ports import WebhookDialect
from domain.text import Redactor
from store.database import Database
from store.depth import QueueDepth
from store.inbox import SqliteInbox
from store.vitals import read_vitals

log = structlog.get_logger(__name__)

PROVIDER_GROUP = "fixwright.providers"

MOST_CONNECTIONS = 256
"""At once. More are told 503; forges and one operator need a handful."""

STORE_PATIENCE_SECONDS = 3.0
"""For another process' write, so that a sender hears within its forge's ten seconds."""

SWITCH_SECONDS = 0.0005
"""How long a thread keeps the interpreter. At the default 5 ms, the event loop waits for the writer."""

GRACE_SECONDS = 3
"""After SIGTERM, for answers that are under way. A supervisor kills after 5."""


def serve(settings: WebSettings, dialects: Mapping[str, WebhookDialect]) -> None:
    """Run the web process until SIGTERM or SIGINT, then return. `dialects` is `webhook_dialects()`.

    Raises:
        ConfigurationError: the data directory, the database or the address cannot be used.
    """
    configure_logging(settings.log_format, redact=Redactor(settings.secrets()))
    log.info("settings", **settings.effective())
    if not settings.repositories:
        log.warning("nobody is served", set="FIXWRIGHT_REPOSITORIES=forge:owner/name")
    if settings.awaits_app:
        _serve_setup(settings)
        return
    ending = Ending()
    application = build(settings, dialects, ending)
    with _listen(settings.host, settings.port) as listener:
        _run(application, listener, ending)
    log.info("stopped")


def _serve_setup(settings: WebSettings) -> None:
    """Serve the setup page; once there is an App, start anew with it, under the same process id."""
    from app.github_app.first_start import serve_until_configured
    from app.own_process import start_anew

    def run(application: ASGIApp, ending: Ending) -> None:
        with _listen(settings.host, settings.port) as listener:
            _run(application, listener, ending)
        log.info("stopped")

    is_configured = serve_until_configured(settings, run)
    if is_configured:
        start_anew()


def build(
    settings: WebSettings, dialects: Mapping[str, WebhookDialect], ending: Ending | None = None
) -> ASGIApp:
    """Join the parts of the web application on the settings' database.

    Answers without an end of their own end once `ending` was asked for.

    Raises:
        ConfigurationError: the data directory or the database cannot be used.
    """
    clock = SystemClock()
    database = _open_database(settings)
    serving = settings.serving({})
    writer = DeliveryWriter(
        SqliteInbox(database, settings.labels, settings.max_queued),
        lambda event: admit(event, serving, clock.now()),
        after_commit=Bell(settings.bell_path).ring,
    )
    door = Door(
        dialects,
        settings.webhook_secrets,
        writer=writer,
        reader=BodyReader(settings.max_body_bytes),
        clock=clock,
    )
    ending = ending or Ending()
    console = console_of(
        settings,
        database,
        clock,
        tell=writer.store,
        is_ending=lambda: ending.is_asked,
        replay=replayer_of(settings, database, dialects).replay,
    )
    mounted = {}
    if settings.console_token.get_secret_value() or settings.api_open:
        mounted[PREFIX] = api_application(api_parts(settings, database, writer, ending, dialects))
    signs = Signs(
        vitals=lambda: read_vitals(database),
        depth=QueueDepth(database),
        clock=clock,
        data_dir=settings.data_dir,
        takes_deliveries=lambda: writer.is_alive,
        worker_listens=Bell(settings.bell_path).is_heard,
    )
    more = [metrics_of(settings, database), health_of(signs)]
    return create_app(door, writer, console, settings.data_dir, mounted=mounted, more=more)


def webhook_dialects() -> dict[str, WebhookDialect]:
    """Return the webhook side of every installed provider, by name; their forge clients stay unloaded.

    Raises:
        ConfigurationError: a provider cannot be loaded, or none is installed.
    """
    dialects: dict[str, WebhookDialect] = {}
    for entry in entry_points(group=PROVIDER_GROUP):
        if entry.name in OWN_PROVIDERS:
            raise ConfigurationError(f"the provider of {entry.value} cannot be called {entry.name}")
        try:
            dialects[entry.name] = entry.load()().dialect()
        except (ImportError, AttributeError) as error:
            raise ConfigurationError(
                f"the provider {entry.name} cannot be loaded from {entry.value}: {error}"
            ) from error
    if not dialects:
        raise ConfigurationError("no provider is installed; install the service first: pip install .")
    return dialects


def _open_database(settings: WebSettings) -> Database:
    try:
        settings.data_dir.mkdir(mode=0o711, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(
            f"FIXWRIGHT_DATA_DIR: {settings.data_dir} cannot be made ({error.strerror}); "
            "for example FIXWRIGHT_DATA_DIR=./data"
        ) from None
    database = Database(
        settings.database_path,
        patience_seconds=STORE_PATIENCE_SECONDS,
        checkpoints=settings.checkpoints == "service",
    )
    database.migrate()
    return database


def _listen(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    The protocol is named because asyncio turns Nagle's algorithm off only then; with it, each answer would
    wait for a delayed acknowledgement, 40 ms.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(1024)
    except OSError as error:
        listener.close()
        raise ConfigurationError(
            f"FIXWRIGHT_HOST, FIXWRIGHT_PORT: cannot listen on {host} port {port} ({error}); "
            "for example FIXWRIGHT_HOST=127.0.0.1 FIXWRIGHT_PORT=8400"
        ) from None
    return listener


def _run(application: ASGIApp, listener: socket.socket, ending: Ending) -> None:
    """Serve until SIGTERM or SIGINT, or until `ending` was asked for."""
    sys.setswitchinterval(SWITCH_SECONDS)
    config = uvicorn.Config(
        application,
        http=PunctualHttp,
        loop="asyncio",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    # A signal may come before uvicorn hears signals. It raises them again when it is done; an orderly end is
    # then not a death by signal.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, ending.ask)
    host, port = listener.getsockname()[:2]
    log.info("listening", host=host, port=port)
    PunctualServer(config, ending=ending).run(sockets=[listener])


def main() -> None:
    """Run the web process with the settings of the environment.

    Raises:
        ConfigurationError: one line per problem; the command line makes it exit status 2.
    """
    serve(load_web_settings(), webhook_dialects())


if __name__ == "__main__":
    main()
