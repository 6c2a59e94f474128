"""A door on a real database, driven through ASGI without a web server, for what HTTP cannot bring about."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from starlette.types import Message

from app.clock import SystemClock
from app.group_commit import DeliveryWriter
from app.intake import Door
from app.request_body import BodyReader
from domain.model import Category
from domain.policy import Serving, admit
from providers.webhooks import sign
from store.database import Database
from store.history import History
from store.inbox import SqliteInbox
from tests.app.senders import DIALECT, SECRET, encoded, labelled

LABELS = {"bug": Category.BUG}

SERVING = Serving(repositories=frozenset({"local:acme/shop"}), own_ids={}, labels=LABELS)


class Shop:
    """Database, writer and door, as the web process joins them."""

    def __init__(self, directory: Path, *, patience: float = 5.0, read_seconds: float = 5.0) -> None:
        self.database = Database(directory / "shop.sqlite3", patience_seconds=patience)
        self.database.migrate()
        self.rings: list[bool] = []
        inbox = SqliteInbox(self.database, LABELS)
        self.writer = DeliveryWriter(
            inbox, partial(admit, serving=SERVING), after_commit=lambda: self.rings.append(True)
        )
        self.reader = BodyReader(2**20, seconds=read_seconds, most_held=4 * 2**20)
        self.door = Door(
            {"local": DIALECT}, (SECRET,), writer=self.writer, reader=self.reader, clock=SystemClock()
        )

    def run(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """Run a coroutine with the writer at work, and stop it after."""

        async def with_writer() -> Any:
            self.writer.start()
            try:
                return await work()
            finally:
                assert await asyncio.to_thread(self.writer.stop, 5)

        return asyncio.run(with_writer())

    async def deliver(self, delivery: str, payload: object | None = None) -> int:
        """Deliver a label on an issue and return the status."""
        body = encoded(labelled() if payload is None else payload)
        return (await self.request([{"type": "http.request", "body": body}], body, delivery))["status"]

    async def request(self, messages: Sequence[Message], signed: bytes, delivery: str = "d") -> Message:
        """Send one request as the ASGI messages given, then silence; return the response's start."""
        waiting = list(messages)
        sent: list[Message] = []

        async def receive() -> Message:
            if waiting:
                return waiting.pop(0)
            return await asyncio.get_running_loop().create_future()

        async def send(message: Message) -> None:
            sent.append(message)

        headers = [
            (b"content-type", b"application/json"),
            (b"x-fixwright-event", b"issues"),
            (b"x-fixwright-delivery", delivery.encode()),
            (b"x-fixwright-signature-256", sign(signed, SECRET).encode()),
        ]
        scope = {"type": "http", "method": "POST", "path": "/webhooks/local", "headers": headers}
        await self.door(scope, receive, send)
        return sent[0] if sent else {"status": None}

    def stored(self) -> list[str]:
        return [each.delivery_id for each in History(self.database).deliveries(1000)]
