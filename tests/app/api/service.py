"""The API over a small town with a worker that is turned by hand, for tests of what is asked for."""

from __future__ import annotations

from typing import Any

from fastapi.testclient import TestClient

from app.api.act_routes import ActParts, act_routes
from app.api.application import ApiParts, api_application
from app.api.asking import AskingDesk
from app.api.caller import Rules
from app.api.guests import GuestCaps
from app.api.health import HealthReader
from app.api.news import NewsReader
from app.api.record_routes import RecordParts, record_routes
from app.api.stream import TaskStreams
from app.api.views import RunReader
from app.replay import Replayer
from domain.model import Money
from domain.policy import admit
from domain.ports import Admitted, Delivery
from providers.local.plugin import LocalProvider
from store.decisions import Decisions
from store.depth import QueueDepth
from store.guest_runs import GuestRuns
from store.history import History
from store.progress import Progress
from store.spend import SpendLines
from store.task_pages import TaskPages
from tests.app.api.world import OPERATOR, TOKEN
from tests.worker.town import CLEAR, WRITE, Town, plays

ISSUE = "local:acme/lamp#1"


class Service:
    """A town with its API; `hears` False: the worker is away."""

    def __init__(self, town: Town, *, guest_usd: str = "1.00", guest_runs: int = 2) -> None:
        self.town = town
        self.hears = True
        self.loop = town.loop(plays(WRITE, said=CLEAR))
        self.reader = RunReader(
            queue=town.queue, ledger=town.ledger, pages=TaskPages(town.database), redact=town.secrets
        )
        decisions = Decisions(town.database)
        self.desk = AskingDesk(tell=self._tell, decisions=decisions, clock=town.clock, patience_seconds=0.0)
        self.acts = ActParts(
            reader=self.reader,
            desk=self.desk,
            serving=town.serving,
            github_api_url="https://api.github.com",
            guests=GuestCaps(
                runs=GuestRuns(town.database),
                clock=town.clock,
                most_runs=guest_runs,
                daily_usd=Money(guest_usd),
            ),
        )
        self.records = RecordParts(
            decisions=decisions,
            replayer=Replayer(
                history=History(town.database),
                decisions=decisions,
                dialects={"local": LocalProvider().dialect()},
                inbox=town.inbox,
                serving=town.serving,
                clock=town.clock,
                rung=lambda: None,
            ),
            spend=SpendLines(town.database),
            clock=town.clock,
            cap_today=Money(20),
        )

    def parts(self, **rules: Any) -> ApiParts:
        town = self.town
        reader = NewsReader(Progress(town.database), town.root / "transcripts", town.secrets)
        return ApiParts(
            rules=Rules(token=TOKEN, **rules),
            runs=self.reader,
            streams=TaskStreams(reader, is_ending=lambda: True),
            health=HealthReader(
                depth=QueueDepth(town.database),
                clock=town.clock,
                takes_deliveries=lambda: True,
                worker_listens=lambda: True,
            ),
            more=(act_routes(self.acts), record_routes(self.records)),
        )

    def client(self, **rules: Any) -> TestClient:
        return TestClient(api_application(self.parts(**rules)), headers=OPERATOR)

    def guest(self) -> TestClient:
        return TestClient(api_application(self.parts(is_open=True)))

    async def _tell(self, delivery: Delivery) -> Admitted:
        """Store as the web process does, and let the worker hear."""
        town = self.town
        (admitted,) = town.inbox.accept(
            [delivery], lambda event: admit(event, town.serving, town.clock.now())
        )
        if self.hears:
            self.loop.shop.desk.clear()
            self.loop.shop.desk.clear()  # what an errand brought in
        return admitted
