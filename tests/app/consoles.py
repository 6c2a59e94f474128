"""A console over a small world in tests: whom it serves, and clients that are logged in or not."""

from __future__ import annotations

import base64
import re
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path

from fastapi import FastAPI
from fastapi.testclient import TestClient

from app.console_oauth import GithubLogin
from app.console_transcript import TranscriptShelf
from app.console_view import Reading
from app.pages import ConsoleSite, console_router
from domain.errors import ConfigurationError
from domain.policy import admit
from domain.ports import Admitted, Delivery
from store.board import Board
from store.database import Database
from store.delivery_list import DeliveryList
from store.history import History
from store.spending import Spending
from store.vitals import read_vitals
from tests.app.stories import Story

TOKEN = "a-long-console-token"


class World:
    """A console on a database, with whatever was told to it."""

    def __init__(
        self, database: Database, story: Story, *, github: GithubLogin | None = None, public_url: str = ""
    ) -> None:
        assert isinstance(database.path, Path)
        self.story = story
        self.told: list[Delivery] = []
        self.shelf = database.path.parent / "transcripts"
        self.is_ending = False
        self.replayed: list[int] = []
        self._database = database
        self.site = ConsoleSite(
            reading=self.reading(),
            token=TOKEN,
            tell=self.tell,
            is_worker_heard=lambda: True,
            public_url=public_url,
            github=github,
            replay=self.replay,
            is_ending=lambda: self.is_ending,
        )
        self.app = FastAPI()
        self.app.include_router(console_router(self.site))

    def reading(self) -> Reading:
        database, story = self._database, self.story
        assert isinstance(database.path, Path)
        return Reading(
            queue=story.queue,
            ledger=story.ledger,
            history=History(database),
            clock=story.clock,
            receipts=story.receipts,
            board=Board(database),
            spending=Spending(database),
            deliveries=DeliveryList(database),
            shelf=TranscriptShelf(self.shelf),
            vitals=lambda: read_vitals(database),
            daily_cap=Decimal("5.00"),
            service_cap=Decimal("40.00"),
            repositories=frozenset({"local:acme/shop"}),
            data_dir=database.path.parent,
        )

    async def tell(self, delivery: Delivery) -> Admitted:
        """Store a press of a button as the writer does."""
        self.told.append(delivery)
        return self.story.inbox.accept([delivery], lambda event: admit(event, self.story.serving))[0]

    def replay(self, number: int) -> Admitted:
        if number > 1:
            raise ConfigurationError(f"the body of delivery {number} is not kept any more")
        self.replayed.append(number)
        return Admitted(admission=self.story.replay_admission, task_id=None)

    def client(self, **headers: str) -> TestClient:
        """Return somebody who is not logged in."""
        return TestClient(self.app, headers=headers, follow_redirects=False)

    def reader(self) -> TestClient:
        """Return somebody who gives the password with each request."""
        return self.client(**basic("operator", TOKEN))

    def operator(self) -> TestClient:
        """Return somebody with a session."""
        client = self.client()
        answer = client.post("/console/login", data={"password": TOKEN, "back": "/console"})
        assert answer.status_code == 303, answer.text
        return client


def basic(user: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


def stamp(client: TestClient, path: str = "/console") -> str:
    """Return what a form of this session has to bring along."""
    found = re.search(r'name="stamp" value="([0-9a-f]{64})"', client.get(path).text)
    assert found is not None
    return found[1]


class Seen(HTMLParser):
    """What a page consists of: its text, its tags, its links, its ids."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.feed(source)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def links(self) -> list[str]:
        return [value for name, value in self.attributes if name == "href"]


def seen(client: TestClient, path: str) -> Seen:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return Seen(answer.text)
