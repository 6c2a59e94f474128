"""The forge's side in tests: signed deliveries over real HTTP."""

from __future__ import annotations

import http.client
import itertools
import json
import socket
import uuid
from dataclasses import dataclass
from typing import Any

from providers.webhooks import GitHubShapedDialect, sign

SECRET = b"the-secret-of-the-tests-32-bytes!"

DIALECT = GitHubShapedDialect(
    "local", "X-Fixwright-Event", "X-Fixwright-Delivery", "X-Fixwright-Signature-256"
)

_numbers = itertools.count(1)

Headers = list[tuple[str, str | bytes]]


def labelled(number: int | None = None, **changes: Any) -> dict[str, Any]:
    """Return the payload of a label put on an issue; a new issue unless a number is given."""
    issue = {"number": next(_numbers) if number is None else number, "title": "It breaks", "body": "Badly."}
    return {
        "action": "labeled",
        "issue": {**issue, **changes.pop("issue", {})},
        "label": {"name": "bug"},
        "repository": {"id": 42, "full_name": "acme/shop"},
        "sender": {"id": 9, "login": "mia", "type": "User"},
        **changes,
    }


def encoded(payload: object) -> bytes:
    return json.dumps(payload).encode()


@dataclass(frozen=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Sender:
    """Posts deliveries; every part of a request can be replaced."""

    port: int
    secret: bytes

    def headers(self, body: bytes, *, delivery: str = "", event: str = "issues") -> Headers:
        return [
            ("Content-Type", "application/json"),
            ("X-Fixwright-Event", event),
            ("X-Fixwright-Delivery", delivery or str(uuid.uuid4())),
            ("X-Fixwright-Signature-256", sign(body, self.secret)),
        ]

    def deliver(self, content: object, *, delivery: str = "", event: str = "issues") -> Answer:
        body = content if isinstance(content, bytes) else encoded(content)
        return self.post(body, self.headers(body, delivery=delivery, event=event))

    def post(
        self, body: bytes, headers: Headers, *, path: str = "/webhooks/local", method: str = "POST"
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.putrequest(method, path)
            for name, value in headers:
                connection.putheader(name, value)
            if not any(name.lower() in {"content-length", "transfer-encoding"} for name, _ in headers):
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def get(self, path: str, headers: Headers | None = None) -> Answer:
        return self.post(b"", headers or [], path=path, method="GET")

    def raw(self, *parts: bytes, timeout: float = 20) -> bytes:
        """Send bytes as they are, and return what comes until the server closes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as connection:
            for part in parts:
                connection.sendall(part)
            received = b""
            while part := connection.recv(65536):
                received += part
            return received


def replaced(headers: Headers, name: str, *values: str | bytes) -> Headers:
    """Return headers with the values of one of them replaced; none removes it."""
    return [pair for pair in headers if pair[0] != name] + [(name, value) for value in values]
