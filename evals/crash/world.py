"""One journey's world under one directory: embedded forge, people, store, git, sandbox; all of it real."""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import cast

from domain.model import Category, IssueRef, Money, Permission, Price, Repository
from domain.policy import Serving, admit
from domain.ports import Delivery, Forge, Ledger, ReceiptLog, SandboxPolicy, TaskQueue
from domain.text import Redactor
from evals.crash.agent import Bill, Cast
from evals.crash.fuse import Fuse, Fused, FusedGit
from evals.crash.journeys import Journey
from harness.attempt import Bench
from harness.git import GitRunner
from harness.localize import NullLocalizer
from harness.receipt_key import ReceiptKey
from harness.sandbox.bubblewrap import BubblewrapSandbox
from harness.workspace import Workspaces
from providers.local.forge import LocalForge
from providers.local.people import LocalWorld
from providers.local.plugin import LocalProvider
from store.contracts import SqliteContracts
from store.database import Database
from store.inbox import SqliteInbox
from store.ledger import SqliteLedger
from store.receipts import SqliteReceipts
from store.reviews import SqliteReviews
from store.tasks import SqliteTaskQueue
from store.watches import SqliteWatches
from worker.loop import Loop
from worker.receipts import ReceiptClerk
from worker.signals import SignalDesk
from worker.task_work import Shop, transcript_path

SANDBOX_UID = 64_124
PRICE = Price(input=Money("0.000001"), output=Money("0.000004"), source="the proof")
CATEGORIES = {category.value: category for category in Category}
REPOSITORY = "acme/lamp"
LEASE_SECONDS = 60.0


class SystemClock:
    """The machine's time."""

    def now(self) -> datetime:
        """Return the moment, aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return time.monotonic()


class NoBell:
    """A listener for loops that are turned by hand."""

    def wait(self, timeout: float) -> bool:
        """Nobody waits here."""
        raise AssertionError("a loop that is turned by hand waits for nothing")


class World:
    """Opens what `build` made, as often and in as many processes as wanted. `close` ends this opening."""

    def __init__(self, root: Path, journey: Journey) -> None:
        self.root, self.journey = root, journey
        self.forge = LocalWorld(root / "forge")
        self.bill = Bill(root / "bill")
        self.clock = SystemClock()
        self.database_path = root / "fixwright.db"
        self.database = Database(self.database_path)
        self.database.migrate()
        self.queue = SqliteTaskQueue(self.database, self.clock)
        self.ledger = SqliteLedger(self.database, self.clock)
        self._serving = Serving(
            repositories=frozenset({f"local:{REPOSITORY}"}),
            own_ids={"local": self.forge.bot.id},
            labels=CATEGORIES,
        )

    def close(self) -> None:
        """Let go of the store."""
        self.database.close()

    @property
    def repository(self) -> Repository:
        """The one repository."""
        return self.forge.repositories()[0]

    @property
    def issue(self) -> IssueRef:
        """The one issue."""
        return IssueRef(forge="local", repository_id=self.repository.id, number=1)

    # -- people -------------------------------------------------------------------------------------

    @classmethod
    def build(cls, root: Path, journey: Journey) -> None:
        """Make a world in an empty directory: a labelled issue waits, and the service has heard of it."""
        root.mkdir(parents=True, exist_ok=True)
        root.chmod(0o711)  # the sandbox's user goes through here
        forge = LocalWorld(root / "forge")
        maintainer, reporter = forge.create_user("mika"), forge.create_user("robin")
        files = {path: text.encode() for path, text in journey.files.items()}
        repository = forge.create_repository(REPOSITORY, files=files)
        forge.grant(repository.id, maintainer, Permission.WRITE)
        issue = forge.open_issue(repository.id, reporter, title="double(5) is 7", body="I expect 10.")
        forge.label(issue, maintainer, journey.label)
        world = cls(root, journey)
        world.deliver()
        world.close()

    def says(self, text: str) -> None:
        """Let the maintainer push what the journey has, and comment; the service hears of it."""
        maintainer, repository = self.queue.tasks()[0].requested_by, self.repository
        if self.journey.pushed:
            self.forge.git.push(repository.id, repository.default_branch, self.journey.pushed, by=maintainer)
        self.forge.comment(self.issue, maintainer, text)
        self.deliver()

    def deliver(self) -> None:
        """Bring all that the forge has to tell through the front door; what is known changes nothing."""
        inbox = SqliteInbox(self.database, CATEGORIES)
        inbox.accept(self._deliveries(), lambda event: admit(event, self._serving))

    def _deliveries(self) -> list[Delivery]:
        dialect = LocalProvider().dialect()
        batch = []
        for hook in self.forge.deliveries():
            headers = [
                (b"x-fixwright-event", hook.event.encode()),
                (b"x-fixwright-delivery", hook.guid.encode()),
            ]
            batch.append(
                Delivery(
                    provider="local",
                    delivery_id=hook.guid,
                    body_sha256=hashlib.sha256(hook.payload).hexdigest(),
                    body=hook.payload,
                    received_at=self.clock.now(),
                    event=dialect.parse(hook.payload, headers),
                )
            )
        return batch

    # -- the service --------------------------------------------------------------------------------

    def loop(self, fuse: Fuse | None = None) -> Loop:
        """Put a worker of a new life together, as the wiring does; `fuse` is in all its leads."""
        forge: Forge = LocalForge(self.root / "forge")
        queue: TaskQueue = self.queue
        ledger: Ledger = self.ledger
        runner = GitRunner(self.root / "git-home")
        if fuse is not None:
            forge, queue = cast(Forge, Fused(forge, fuse)), cast(TaskQueue, Fused(queue, fuse))
            ledger, runner = cast(Ledger, Fused(ledger, fuse)), FusedGit(self.root / "git-home", fuse=fuse)
        forges = {"local": forge}
        shop = Shop(
            queue=queue,
            ledger=ledger,
            forges=forges,
            bench=self._bench(runner),
            clock=self.clock,
            desk=SignalDesk(queue, forges, self._serving),
            caps=self.journey.caps,
            model="openai/scripted",
            price_of=lambda model: PRICE,
            transcripts=self.root / "transcripts",
            redact=Redactor(),
            watches=SqliteWatches(self.database, self.clock),
            reviews=SqliteReviews(self.database, self.clock),
            contracts=SqliteContracts(self.database, self.clock),
            receipts=self._clerk(ledger, fuse),
            serving=self._serving,
            lease_seconds=LEASE_SECONDS,
        )
        return Loop(shop, NoBell(), identity=f"worker/{secrets.token_hex(4)}", poll_seconds=5)

    def _clerk(self, ledger: Ledger, fuse: Fuse | None) -> ReceiptClerk:
        """Return who writes the receipts, with a key of this world."""
        receipts: ReceiptLog = SqliteReceipts(self.database, self.clock)
        if fuse is not None:
            receipts = cast(ReceiptLog, Fused(receipts, fuse))
        return ReceiptClerk(
            receipts=receipts,
            signer=lambda: ReceiptKey(self.root),
            ledger=ledger,
            clock=self.clock,
            redact=Redactor(),
            model="openai/scripted",
            version="0",
            isolation=lambda: "scripted",
            transcript=partial(transcript_path, self.root / "transcripts"),
        )

    def _bench(self, runner: GitRunner) -> Bench:
        uid = SANDBOX_UID if os.geteuid() == 0 else None
        workspaces = Workspaces(self.root / "ground", (uid, uid) if uid is not None else None, runner)
        workspaces.sweep()
        return Bench(
            sandbox=BubblewrapSandbox(uid=uid, nice=False),
            workspaces=workspaces,
            agent=Cast(self.journey.scripts, self.bill, self.journey.restatement),
            localizer=NullLocalizer(),
            limits=lambda place: SandboxPolicy(writable=place.tree, scratch=place.scratch),
        )
