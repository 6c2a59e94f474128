"""A story in a database with transcripts beside it, and the API over both, for tests."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from fastapi.testclient import TestClient

from app.api.application import ApiParts, api_application
from app.api.caller import Rules
from app.api.health import HealthReader
from app.api.news import NewsReader
from app.api.stream import TaskStreams
from app.api.views import RunReader
from domain.model import Attempt
from domain.text import Redactor
from harness.transcript import Transcript
from store.database import Database
from store.depth import QueueDepth
from store.history import History
from store.progress import Progress
from store.task_pages import TaskPages
from tests.app.stories import Story

TOKEN = "an-operators-token-of-the-tests"
SECRET = "sk-a-secret-of-this-process"
OPERATOR = {"Authorization": f"Bearer {TOKEN}"}


class ApiWorld:
    """The API on a database of its own; `over` makes its streams end."""

    def __init__(self, folder: Path, **rules: object) -> None:
        self.database = Database(folder / "api.sqlite3")
        self.story = Story(self.database)
        self.transcripts = folder / "transcripts"
        self.redact = Redactor([SECRET])
        self.reader = NewsReader(Progress(self.database), self.transcripts, self.redact)
        self.over = False
        self.streams = self.make_streams()
        self.parts = ApiParts(
            rules=Rules(token=TOKEN, **rules),  # type: ignore[arg-type]  # as the tests say them
            runs=RunReader(
                queue=self.story.queue,
                ledger=self.story.ledger,
                pages=TaskPages(self.database),
                redact=self.redact,
                public_url="https://fixwright.example",
            ),
            streams=self.streams,
            health=HealthReader(
                depth=QueueDepth(self.database),
                clock=self.story.clock,
                takes_deliveries=lambda: True,
                worker_listens=lambda: False,
            ),
        )
        self.history = History(self.database)

    def make_streams(self, **limits: float) -> TaskStreams:
        own = {"beat_seconds": 30.0, "look_seconds": 0.01, **limits}
        return TaskStreams(self.reader, is_ending=lambda: self.over, **own)  # type: ignore[arg-type]

    def client(self, headers: Mapping[str, str] = OPERATOR, **changes: object) -> TestClient:
        application = api_application(dataclasses.replace(self.parts, **changes))  # type: ignore[arg-type]
        return TestClient(application, headers=dict(headers), follow_redirects=False)

    def transcript(self, attempt: Attempt) -> Transcript:
        return Transcript(self.transcripts / f"attempt-{attempt.id}.jsonl", Redactor())

    def step(self, attempt: Attempt, number: int, command: str = "ls", output: str = "a.py") -> None:
        """Write a step as the agent's process has it recorded."""
        arguments = f'{{"command": "{command}"}}'
        call = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": arguments}}
        self.transcript(attempt).append(
            {
                "kind": "step",
                "step": number,
                "at": self.story.clock.now().isoformat(),
                "cost": "0.001000000",
                "seconds": 1.5,
                "usage": {"input_tokens": 10, "output_tokens": 2},
                "messages": [
                    {"role": "assistant", "content": "Let me look.", "tool_calls": [call], "extra": {}},
                    {
                        "role": "tool",
                        "content": output,
                        "tool_call_id": "c",
                        "extra": {"observation": True, "exit_code": 0, "seconds": 0.2, "timed_out": False},
                    },
                ],
            }
        )
