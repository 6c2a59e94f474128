"""What the door is compared with: a bare ASGI endpoint with group commit, and a FastAPI route without."""

from __future__ import annotations

import asyncio
import hashlib
import sys
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue

import uvicorn
from fastapi import FastAPI, Request, Response
from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Receive, Scope, Send

from domain.events import Event
from domain.model import Category
from domain.ports import Admission, Delivery
from providers.webhooks import GitHubShapedDialect
from store.database import Database
from store.inbox import SqliteInbox

Headers = Sequence[tuple[bytes, bytes]]
Item = tuple[Delivery, asyncio.Future[bool]]

_DIALECT = ("local", "X-Fixwright-Event", "X-Fixwright-Delivery", "X-Fixwright-Signature-256")


class Taking:
    """Verify, hash and read a delivery: what every yardstick has to do as well."""

    def __init__(self, secret: bytes) -> None:
        self._dialect = GitHubShapedDialect(*_DIALECT)
        self._secret = secret

    def __call__(self, body: bytes, headers: Headers) -> Delivery:
        """Return the delivery. Raises ValueError."""
        if not self._dialect.verify(body, headers, (self._secret,)):
            raise ValueError("signature")
        return Delivery(
            provider="local",
            delivery_id=self._dialect.delivery_id(headers),
            body_sha256=hashlib.sha256(body).hexdigest(),
            body=body,
            received_at=datetime.now(UTC),
            event=self._dialect.parse(body, headers),
        )


def _admit(_: Event) -> Admission:
    return Admission.QUEUED


def bare_endpoint(take: Taking, inbox: SqliteInbox) -> ASGIApp:
    """Return an ASGI application that does nothing but take a delivery and answer after a group commit."""
    queue: SimpleQueue[Item] = SimpleQueue()
    threading.Thread(target=_commit_groups, args=(queue, inbox), daemon=True).start()

    async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        body = b""
        more = True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        queue.put((take(body, scope["headers"]), answer))
        await answer
        await send({"type": "http.response.start", "status": 202, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"{}"})

    return endpoint


def _commit_groups(queue: SimpleQueue[Item], inbox: SqliteInbox) -> None:
    while True:
        batch = [queue.get()]
        try:
            while True:
                batch.append(queue.get_nowait())
        except Empty:
            pass
        inbox.accept([delivery for delivery, _ in batch], _admit)
        batch[0][1].get_loop().call_soon_threadsafe(_release, [answer for _, answer in batch])


def _release(answers: list[asyncio.Future[bool]]) -> None:
    for answer in answers:
        answer.set_result(True)


def plain_route(take: Taking, inbox: SqliteInbox) -> ASGIApp:
    """Return the usual thing: a FastAPI route that writes each delivery in a transaction of its own."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    @app.post("/webhooks/{provider}")
    async def route(provider: str, request: Request) -> Response:
        delivery = take(await request.body(), request.headers.raw)
        await run_in_threadpool(inbox.accept, [delivery], _admit)
        return Response("{}", status_code=202, media_type="application/json")

    return app


_KINDS = {"raw": bare_endpoint, "route": plain_route}


def main(arguments: list[str]) -> int:
    """KIND PORT DIRECTORY, the secret on standard input; serves until a signal."""
    kind, port, directory = arguments
    secret = sys.stdin.readline().strip().encode("ascii")
    database = Database(Path(directory) / "fixwright.sqlite3")
    database.migrate()
    inbox = SqliteInbox(database, categories={"bug": Category.BUG})
    application = _KINDS[kind](Taking(secret), inbox)
    uvicorn.run(
        application,
        port=int(port),
        http="httptools",
        loop="asyncio",
        ws="none",
        lifespan="off",
        log_level="error",
        access_log=False,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
