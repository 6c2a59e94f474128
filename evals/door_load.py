"""Load for the webhook door: unique signed deliveries over keep-alive connections, at full speed."""

from __future__ import annotations

import hmac
import itertools
import json
import selectors
import socket
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

FIRST_NUMBER = 1_000_000_000
"""Issue numbers count from here, so that all bodies have the same length."""

TAKEN = 202

_BODY_BYTES = 19_000

_HEAD = (
    "POST /webhooks/local HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    "X-Fixwright-Event: issues\r\nX-Fixwright-Delivery: {delivery_id}\r\n"
    "X-Fixwright-Signature-256: sha256={digest}\r\nContent-Length: {length}\r\n\r\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where deliveries say that they come from: the repository's id and name, who acted, the label put on."""

    repository_id: int = 42
    repository: str = "bench/sample"
    sender_id: int = 9
    sender: str = "maintainer"
    label: str = "bug"


class Deliveries:
    """Makes deliveries of about 19 kB in a forge's shape, each about another issue, without much work."""

    def __init__(self, secret: bytes, origin: Origin | None = None) -> None:
        self._prefix, self._suffix = _body_around_number(origin or Origin())
        self._digest = hmac.new(secret, self._prefix, "sha256")

    def request(self, number: int, delivery_id: str = "", *, well_signed: bool = True) -> bytes:
        """Return a whole HTTP request about the issue of this number."""
        tail = str(number).encode("ascii") + self._suffix
        digest = self._digest.copy()
        digest.update(tail if well_signed else tail[::-1])
        head = _HEAD.format(
            delivery_id=delivery_id or f"bench-{number}",
            digest=digest.hexdigest(),
            length=len(self._prefix) + len(tail),
        )
        return head.encode("ascii") + self._prefix + tail

    def body(self, number: int) -> bytes:
        """Return the body about the issue of this number."""
        return self._prefix + str(number).encode("ascii") + self._suffix


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for one request: its place in the order of sending, status, body, and seconds taken."""

    place: int
    status: int
    body: bytes
    seconds: float


@dataclass(slots=True)
class Connection:
    """One keep-alive connection with at most one request under way."""

    socket: socket.socket
    place: int = 0
    sent_at: float = 0.0
    unsent: memoryview = field(default_factory=lambda: memoryview(b""))
    waits_to_write: bool = False
    answer: bytes = b""


class Load:
    """Keeps a number of connections busy from one thread until its requests are used up."""

    def __init__(self, port: int, requests: Iterable[bytes]) -> None:
        self._port = port
        self._requests = enumerate(requests)
        self._selector = selectors.DefaultSelector()
        self._busy = 0
        self._answers: list[Answer] = []

    def run(self, connections: int) -> list[Answer]:
        """Send everything, wait for the last answers, return all. Raises RuntimeError for a dead server."""
        for _ in range(connections):
            made = socket.create_connection(("127.0.0.1", self._port), timeout=10)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            made.setblocking(False)
            connection = Connection(made)
            self._selector.register(made, selectors.EVENT_READ, connection)
            self._busy += 1
            self._send_next(connection)
        while self._busy:
            events = self._selector.select(timeout=10)
            if not events:
                raise RuntimeError("the server does not answer")
            for key, mask in events:
                self._advance(key.data, mask)
        return self._answers

    def _advance(self, connection: Connection, mask: int) -> None:
        if mask & selectors.EVENT_WRITE:
            self._flush(connection)
            return
        part = connection.socket.recv(65536)
        if not part:
            raise RuntimeError("the server closed a connection")
        connection.answer += part
        body = _whole_body(connection.answer)
        if body is None:
            return
        seconds = time.perf_counter() - connection.sent_at
        status = int(connection.answer[9:12])
        self._answers.append(Answer(connection.place, status, body, seconds))
        self._send_next(connection)

    def _send_next(self, connection: Connection) -> None:
        following = next(self._requests, None)
        if following is None:
            self._selector.unregister(connection.socket)
            connection.socket.close()
            self._busy -= 1
            return
        connection.place, request = following
        connection.answer = b""
        connection.unsent = memoryview(request)
        connection.sent_at = time.perf_counter()
        self._flush(connection)

    def _flush(self, connection: Connection) -> None:
        try:
            sent = connection.socket.send(connection.unsent)
        except BlockingIOError:
            sent = 0
        connection.unsent = connection.unsent[sent:]
        if bool(connection.unsent) != connection.waits_to_write:
            connection.waits_to_write = not connection.waits_to_write
            wanted = selectors.EVENT_WRITE if connection.waits_to_write else selectors.EVENT_READ
            self._selector.modify(connection.socket, wanted, connection)


def for_seconds(deliveries: Deliveries, first_number: int, seconds: float) -> Iterator[bytes]:
    """Give requests about one issue after another until the time is over."""
    end = time.perf_counter() + seconds
    for number in itertools.count(first_number):
        if time.perf_counter() >= end:
            return
        yield deliveries.request(number)


def _whole_body(answer: bytes) -> bytes | None:
    """Return the body of an answer with a Content-Length once it has come in, else None."""
    head, found, body = answer.partition(b"\r\n\r\n")
    if not found:
        return None
    _, _, rest = head.lower().partition(b"content-length: ")
    return body if len(body) >= int(rest.split(b"\r\n", 1)[0] or b"0") else None


def _body_around_number(origin: Origin) -> tuple[bytes, bytes]:
    """Return what stands before and after the issue's number in a body like a forge's."""
    base = f"https://forge.example/api/repositories/{origin.repository}"
    links = {f"link_{index}_url": f"{base}/resource_{index}{{/part}}" for index in range(90)}
    payload = {
        "action": "labeled",
        "label": {"id": 7, "name": origin.label, "color": "d73a4a"},
        "repository": {"id": origin.repository_id, "full_name": origin.repository, "private": False, **links},
        "sender": {"id": origin.sender_id, "login": origin.sender, "type": "User", "site_admin": False},
        "issue": {"title": "Totals are wrong when an item is free", "body": "", "state": "open"},
    }
    text = "Steps:\n1. Put a free item into the basket.\n2. Look at the “total” – it is 1 cent too high.\n"
    missing = _BODY_BYTES - len(json.dumps(payload).encode())
    payload["issue"] = {
        "title": "Totals are wrong",
        "body": text * (missing // len(json.dumps(text))),
        "number": 0,
    }
    whole = json.dumps(payload).encode("ascii")
    before, _, after = whole.rpartition(b"0")
    return before, after


def main(arguments: list[str]) -> int:
    """PORT CONNECTIONS SECONDS FIRST_NUMBER, the secret on standard input; prints the tally as JSON."""
    port, connections, seconds, first = arguments
    secret = sys.stdin.readline().strip().encode("ascii")
    load = Load(int(port), for_seconds(Deliveries(secret), int(first), float(seconds)))
    began = time.perf_counter()
    answers = load.run(int(connections))
    span = time.perf_counter() - began
    taken = [answer.seconds for answer in answers if answer.status == TAKEN]
    tally = {"latencies": taken, "refused": len(answers) - len(taken), "span": span}
    sys.stdout.write(json.dumps(tally) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
