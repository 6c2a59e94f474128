"""The worker process: reads its settings, puts the parts together, runs the loop until it is told to stop."""

from __future__ import annotations

import hashlib
import secrets
import sys
from dataclasses import replace
from functools import partial
from importlib.metadata import version as installed_version
from pathlib import Path

import structlog

from app.chores import housekeeping
from app.clock import SystemClock
from app.forges import OwnIds, close_forges, open_forges
from app.github_app.waiting import wait_until_configured
from app.last_resort import LastResort
from app.log import configure_logging
from app.own_process import start_anew
from app.settings import (
    WorkerSettings,
    client_environment,
    load_worker_settings,
    network_variables,
    provider_keys,
    secret_values,
)
from app.signals import stopping_on_signals
from app.wake import Bell, BellListener
from app.work_rooms import errands_of, guest_room_of, waiting_room_of
from domain.errors import ConfigurationError, SandboxError, Unpriced
from domain.ports import Ledger, ReceiptLog, Sandbox, SandboxPolicy, Signer
from domain.ports import PriceList as PriceLookup
from domain.pricing import PER_MILLION
from domain.text import Redactor
from harness.agent.command_policy import CommandPolicy, is_refused
from harness.agent.confined_session import ConfinedSession
from harness.agent.process import ChildAgent
from harness.agent.settings import AgentSettings, ModelSettings
from harness.attempt import Bench
from harness.git import DEFAULT_COMMITTER, GitRunner, Person
from harness.localize import ForgivingLocalizer, localizer_named
from harness.order import SessionWrapper, as_it_is
from harness.presenting import Manners
from harness.prices import PriceList
from harness.sandbox.capabilities import may_become_others
from harness.sandbox.choice import SandboxWishes, choose_sandbox
from harness.setup.cache import SetupCache
from harness.setup.certificates import certificates
from harness.setup.phase import SetupPhase
from harness.setup.proxy import ProxyCaps
from harness.setup.registries import ask_clients
from harness.setup.site import SetupRules
from harness.setup.upstream import operator_proxy
from harness.toolbox import COMMANDS, TOOLBOX
from harness.workspace import Workspace, Workspaces
from store.contracts import SqliteContracts
from store.database import Database
from store.guest_runs import GuestRuns
from store.inbox import SqliteInbox
from store.ledger import SqliteLedger
from store.receipts import SqliteReceipts
from store.reviews import SqliteReviews
from store.tasks import SqliteTaskQueue
from store.watches import SqliteWatches
from worker.loop import Loop
from worker.model_pause import ModelPause
from worker.raising import BudgetDesk
from worker.receipts import ReceiptClerk
from worker.review_desk import ReviewDesk
from worker.signals import SignalDesk
from worker.task_work import Shop, transcript_path

log = structlog.get_logger(__name__)

ORDERLY_SECONDS = 2.5
"""For an orderly end. What supervises us kills what is left five seconds after the first process ended."""

GUEST_TOOLBOX = "/opt/fixwright/bin"
"""Where the agent finds edit, view and search in the sandbox."""


def build_loop(settings: WorkerSettings, redact: Redactor | None = None) -> Loop:
    """Put the worker together; `redact` is the log's, too. Raises ConfigurationError, SandboxError."""
    settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o711)
    database = Database(settings.database_path, checkpoints=settings.checkpoints == "service")
    database.migrate()
    clock = SystemClock()
    queue = SqliteTaskQueue(database, clock, settings.labels)
    contracts = SqliteContracts(database, clock)
    redact = redact or known_secrets(settings)  # it comes to know the tokens that are minted later
    forges = open_forges(settings, redact.lend)
    serving = replace(settings.serving(OwnIds(forges)), own_labels=contracts.labels_of)
    ledger = SqliteLedger(database, clock)
    budget = BudgetDesk(ledger=ledger, forges=forges, caps=settings.caps)
    errands = errands_of(settings, SqliteInbox(database, settings.labels), queue, forges, serving)
    bench = _bench(settings, redact)
    receipts = _clerk(settings, SqliteReceipts(database, clock), ledger, bench, redact)
    reviews = SqliteReviews(database, clock)
    desk = SignalDesk(queue, forges, serving, budget, errands=errands, clock=clock)
    wait = settings.review_wait_seconds
    desk.reviews = ReviewDesk(queue=queue, forges=forges, reviews=reviews, clock=clock, wait_seconds=wait)
    shop = Shop(
        queue=queue,
        ledger=ledger,
        forges=forges,
        bench=bench,
        clock=clock,
        desk=desk,
        contracts=contracts,
        caps=settings.caps,
        model=settings.model,
        price_of=PriceList(settings.model_prices, estimate=settings.estimate_price),
        transcripts=settings.data_dir / "transcripts",
        redact=redact,
        receipts=receipts,
        watches=SqliteWatches(database, clock),
        reviews=reviews,
        serving=serving,
        lease_seconds=settings.lease_seconds,
        least_free_bytes=settings.min_free_mb * 2**20,
        max_task_retries=settings.max_task_retries,
        pull_pace=settings.pull_pace,
        manners=_manners(settings),
        status_seconds=float(settings.status_seconds),
        pause=ModelPause(clock),
        waiting=waiting_room_of(settings, queue, ledger, forges, serving, redact),
        guests=partial(guest_room_of, settings, GuestRuns(database), clock),
    )
    return Loop(
        shop,
        BellListener(settings.bell_path),
        housekeeping=housekeeping(settings, shop, serving, database).keep,
        identity=f"{settings.worker_name}/{secrets.token_hex(4)}",
        poll_seconds=settings.poll_seconds,
    )


def _manners(settings: WorkerSettings) -> Manners:
    """Return what a commit and a draft get besides their texts."""
    return Manners(
        labels=settings.pull_labels,
        asks_for_review=settings.request_review,
        sign_off=settings.sign_off,
    )


def _clerk(
    settings: WorkerSettings, receipts: ReceiptLog, ledger: Ledger, bench: Bench, redact: Redactor
) -> ReceiptClerk:
    """Return who writes the receipts."""
    return ReceiptClerk(
        receipts=receipts,
        signer=partial(_receipt_key, settings.data_dir),
        ledger=ledger,
        clock=SystemClock(),
        redact=redact,
        model=settings.model,
        version=installed_version("fixwright"),
        isolation=lambda: bench.sandbox.isolation,
        transcript=partial(transcript_path, settings.data_dir / "transcripts"),
        pages=settings.public_url,
    )


def known_secrets(settings: WorkerSettings) -> Redactor:
    """Return a redactor that knows every secret this process was started with."""
    return Redactor([*settings.secrets(), *secret_values(provider_keys())])


def main() -> None:
    """Run the worker until SIGTERM or SIGINT; a running attempt stops at its step and goes on next time."""
    settings = load_worker_settings()
    redact = known_secrets(settings)
    configure_logging(settings.log_format, redact=redact)
    if not settings.model:
        example = WorkerSettings.model_fields["model"].examples or [""]
        raise ConfigurationError(f"FIXWRIGHT_MODEL: is not set; for example FIXWRIGHT_MODEL={example[0]}")
    if settings.awaits_app:
        if wait_until_configured(settings):
            start_anew()
        return
    loop = build_loop(settings, redact)
    try:
        loop.shop.bench.sandbox.self_test()
    except SandboxError as error:
        # Deliveries must still be heard, and people told: each task is tested again, and blocked if need be.
        log.error("the sandbox does not hold; no task will run", problem=str(error))
    tell_price(loop.shop.price_of, settings.model)
    bell = Bell(settings.bell_path)

    last_resort = LastResort(ORDERLY_SECONDS, loop.abandon)

    def stop() -> None:
        last_resort.arm()
        loop.stop()
        bell.ring()

    with stopping_on_signals(stop):
        loop.run()
        close_forges(loop.shop.forges)


def tell_price(price_of: PriceLookup, model: str) -> None:
    """Log what calls are reckoned at, or that none will be made. Raises ConfigurationError."""
    try:
        price = price_of(model)
    except Unpriced as error:
        log.error("no price is known for the model; no task will run", model=model, problem=str(error))
        return
    log.info(
        "model priced",
        model=model,
        source=price.source,
        free=price.free,
        estimated=price.estimated,
        input_per_million=f"{price.input * PER_MILLION:f}",
        output_per_million=f"{price.output * PER_MILLION:f}",
    )


def _receipt_key(directory: Path) -> Signer:
    """Return the key for receipts; its library costs memory that an idle worker does without."""
    from harness.receipt_key import ReceiptKey

    return ReceiptKey(directory)


def sandbox_for(settings: WorkerSettings) -> Sandbox:
    """Return the back end that is set. Raises SandboxError."""
    uid = settings.sandbox_uid if may_become_others() else None
    return choose_sandbox(_sandbox_wishes(settings, uid))


def _bench(settings: WorkerSettings, redact: Redactor) -> Bench:
    uid = settings.sandbox_uid if may_become_others() else None
    sandbox = sandbox_for(settings)
    owner = (uid, uid) if uid is not None else None
    committer = Person.parsed(settings.sign_off) if settings.sign_off else DEFAULT_COMMITTER
    authority = network_variables().get("REQUESTS_CA_BUNDLE")
    runner = GitRunner(
        settings.data_dir / "git-home",
        redact=redact,
        committer=committer,
        protocols=git_protocols(settings),
        ca_file=Path(authority) if authority else None,
    )
    workspaces = Workspaces(settings.data_dir / "ground", owner, runner)
    workspaces.sweep()
    return Bench(
        sandbox=sandbox,
        workspaces=workspaces,
        agent=_agent(settings),
        localizer=ForgivingLocalizer(
            localizer_named(settings.localizer, index=settings.data_dir / "localizer" / "sources.sqlite")
        ),
        limits=lambda workspace: _limits(settings, workspace),
        protected=settings.protected_paths,
        setup=_setup(settings, workspaces),
        agent_session=_agent_session(settings),
    )


def _command_policy(settings: WorkerSettings) -> CommandPolicy | None:
    """Return the argv policy, or None where the agent has a shell."""
    if settings.command_policy == "shell":
        return None
    if refused := sorted(filter(is_refused, settings.allowed_commands)):
        log.warning("some allowed commands are refused all the same", commands=refused)
    return CommandPolicy.of(settings.allowed_commands, helpers=COMMANDS)


def _agent_session(settings: WorkerSettings) -> SessionWrapper:
    policy = _command_policy(settings)
    if policy is None:
        return as_it_is
    return lambda session, workspace: ConfinedSession(session, policy, workspace.tree)


def _sandbox_wishes(settings: WorkerSettings, uid: int | None) -> SandboxWishes:
    return SandboxWishes(
        back_end=settings.sandbox_backend,
        uid=uid,
        state=settings.data_dir / "container",
        tools=settings.sandbox_tools,
        helpers={GUEST_TOOLBOX: TOOLBOX},
        image=settings.sandbox_image,
        engine=settings.sandbox_engine,
        service=service_mark(settings),
        allow_unsandboxed=settings.allow_unsandboxed,
    )


def service_mark(settings: WorkerSettings) -> str:
    """Return what tells this worker's containers from others' on the machine; the same after a restart."""
    return hashlib.sha256(f"{settings.data_dir}\0{settings.worker_name}".encode()).hexdigest()[:16]


def _setup(settings: WorkerSettings, workspaces: Workspaces) -> SetupPhase:
    cache = SetupCache(workspaces.root / "setups", settings.keep_setups_mb * 2**20)
    cache.sweep()
    disk = settings.setup_disk_mb * 2**20
    rules = SetupRules(
        setting=settings.setup_hosts,
        networks=settings.setup_networks,
        proxy=operator_proxy(network_variables()) if settings.setup_hosts else None,
        disk_bytes=disk,
        memory_bytes=settings.setup_memory_mb * 2**20,
        seconds=settings.setup_minutes * 60.0,
        caps=ProxyCaps(down_bytes=4 * disk),
        certificates=certificates(network_variables()),
    )
    return SetupPhase(cache, rules, ask_clients=lambda: ask_clients(client_environment()))


def git_protocols(settings: WorkerSettings) -> frozenset[str]:
    """Return how git may reach a remote: in clear text only on this machine, where a forge is being tried."""
    near = {"http"} if settings.github_api_url.startswith("http://") else set()
    return frozenset({"https", "file", *near})


def _agent(settings: WorkerSettings) -> ChildAgent:
    key = settings.api_key.get_secret_value()
    policy = _command_policy(settings)
    return ChildAgent(
        python=sys.executable,
        home=settings.data_dir / "agent-home",
        model=ModelSettings(
            name=settings.model,
            api_key=key,
            api_base=settings.api_base,
            keys=provider_keys(),
            max_output_tokens=settings.max_output_tokens,
            call_seconds=settings.model_timeout_seconds,
        ),
        settings=AgentSettings(
            max_steps=settings.max_iterations,
            wall_seconds=settings.max_minutes * 60,
            command_seconds=settings.command_timeout_seconds,
            programs=policy.programs if policy else (),
        ),
        network=network_variables(),
    )


def _limits(settings: WorkerSettings, workspace: Workspace) -> SandboxPolicy:
    return SandboxPolicy(
        writable=workspace.tree,
        scratch=workspace.scratch,
        memory_bytes=settings.sandbox_memory_mb * 2**20,
        disk_bytes=settings.sandbox_disk_mb * 2**20,
    )


if __name__ == "__main__":
    main()
