"""The yardstick of `make load`: the receiver that people write with FastAPI and huey on SQLite."""

from __future__ import annotations

import hashlib
import hmac
import json
import sys
from pathlib import Path
from typing import Annotated

import uvicorn
from fastapi import FastAPI, Header, HTTPException, Request
from huey import SqliteHuey
from starlette.concurrency import run_in_threadpool

FILE = "huey.sqlite3"


def queue_in(directory: Path) -> SqliteHuey:
    """Return huey's queue: write-ahead log, and `fsync`, which is synchronous=FULL, as ours is."""
    return SqliteHuey("deliveries", filename=str(directory / FILE), fsync=True)


def receiver(queue: SqliteHuey, secret: bytes) -> FastAPI:
    """Return an application that verifies, parses and enqueues; 202 after the commit."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    @queue.task()  # type: ignore[untyped-decorator]  # huey ships no types
    def handle(event: str, payload: dict[str, object]) -> None:
        """Stand for the work; nobody runs it here."""

    @app.post("/webhooks/local", status_code=202)
    async def webhook(
        request: Request,
        x_fixwright_event: Annotated[str, Header()],
        x_fixwright_signature_256: Annotated[str, Header()],
    ) -> dict[str, str]:
        body = await request.body()
        expected = "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(expected, x_fixwright_signature_256):
            raise HTTPException(401)
        await run_in_threadpool(handle, x_fixwright_event, json.loads(body))
        return {"decision": "queued"}

    return app


def main(arguments: list[str]) -> int:
    """PORT DIRECTORY, the secret on standard input; serves until a signal."""
    port, directory = arguments
    secret = sys.stdin.readline().strip().encode("ascii")
    application = receiver(queue_in(Path(directory)), secret)
    uvicorn.run(
        application, port=int(port), http="httptools", loop="asyncio", log_level="error", access_log=False
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
