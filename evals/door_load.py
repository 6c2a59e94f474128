"""Load for the webhook door: unique signed deliveries over keep-alive connections, at full speed."""

from __future__ import annotations

import hmac
import json
import selectors
import socket
import sys
import time
from dataclasses import dataclass, field

FIRST_NUMBER = 1_000_000_000
"""Issue numbers count from here, so that all bodies have the same length."""

_BODY_BYTES = 19_000

_HEAD = (
    "POST /webhooks/local HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    "X-Fixwright-Event: issues\r\nX-Fixwright-Delivery: bench-{number}\r\n"
    "X-Fixwright-Signature-256: sha256={digest}\r\nContent-Length: {length}\r\n\r\n"
)


class Deliveries:
    """Makes deliveries of about 19 kB in a forge's shape, each about another issue, without much work."""

    def __init__(self, secret: bytes) -> None:
        self._prefix, self._suffix = _body_around_number()
        self._digest = hmac.new(secret, self._prefix, "sha256")

    def request(self, number: int) -> bytes:
        """Return a whole HTTP request about the issue of this number."""
        tail = str(number).encode("ascii") + self._suffix
        digest = self._digest.copy()
        digest.update(tail)
        head = _HEAD.format(number=number, digest=digest.hexdigest(), length=len(self._prefix) + len(tail))
        return head.encode("ascii") + self._prefix + tail


@dataclass(slots=True)
class Connection:
    """One keep-alive connection with at most one request under way."""

    socket: socket.socket
    sent_at: float = 0.0
    unsent: memoryview = field(default_factory=lambda: memoryview(b""))
    answer: bytes = b""


@dataclass(slots=True)
class Tally:
    """What came back: seconds of each delivery that was taken, and how many were not."""

    seconds: list[float] = field(default_factory=list)
    refused: int = 0


class Load:
    """Keeps a number of connections busy from one thread."""

    def __init__(self, port: int, deliveries: Deliveries, first_number: int) -> None:
        self._port = port
        self._deliveries = deliveries
        self._next = first_number
        self._selector = selectors.DefaultSelector()

    def run(self, connections: int, seconds: float) -> Tally:
        """Send for so long, wait for the last answers, and return what was counted."""
        tally = Tally()
        for _ in range(connections):
            made = socket.create_connection(("127.0.0.1", self._port), timeout=10)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            made.setblocking(False)
            connection = Connection(made)
            self._selector.register(made, selectors.EVENT_READ, connection)
            self._send_next(connection)
        end = time.perf_counter() + seconds
        busy = connections
        while busy:
            events = self._selector.select(timeout=10)
            if not events:
                raise RuntimeError("the server does not answer")
            for key, mask in events:
                busy -= self._advance(key.data, mask, tally, end)
        return tally

    def _advance(self, connection: Connection, mask: int, tally: Tally, end: float) -> int:
        """Go on with one connection; return 1 when it is finished, else 0."""
        if mask & selectors.EVENT_WRITE:
            self._flush(connection)
            return 0
        part = connection.socket.recv(65536)
        if not part:
            raise RuntimeError("the server closed a connection")
        connection.answer += part
        if not _is_whole(connection.answer):
            return 0
        now = time.perf_counter()
        if connection.answer.startswith(b"HTTP/1.1 202"):
            tally.seconds.append(now - connection.sent_at)
        else:
            tally.refused += 1
        if now < end:
            self._send_next(connection)
            return 0
        self._selector.unregister(connection.socket)
        connection.socket.close()
        return 1

    def _send_next(self, connection: Connection) -> None:
        request = self._deliveries.request(self._next)
        self._next += 1
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
        wanted = selectors.EVENT_WRITE if connection.unsent else selectors.EVENT_READ
        self._selector.modify(connection.socket, wanted, connection)


def _is_whole(answer: bytes) -> bool:
    """Tell whether an answer with a Content-Length has come in."""
    head, found, body = answer.partition(b"\r\n\r\n")
    if not found:
        return False
    _, _, rest = head.lower().partition(b"content-length: ")
    return len(body) >= int(rest.split(b"\r\n", 1)[0] or b"0")


def _body_around_number() -> tuple[bytes, bytes]:
    """Return what stands before and after the issue's number in a body like a forge's."""
    base = "https://forge.example/api/repositories/bench/sample"
    links = {f"link_{index}_url": f"{base}/resource_{index}{{/part}}" for index in range(90)}
    payload = {
        "action": "labeled",
        "label": {"id": 7, "name": "bug", "color": "d73a4a"},
        "repository": {"id": 42, "full_name": "bench/sample", "private": False, **links},
        "sender": {"id": 9, "login": "maintainer", "type": "User", "site_admin": False},
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
    load = Load(int(port), Deliveries(secret), int(first))
    began = time.perf_counter()
    tally = load.run(int(connections), float(seconds))
    span = time.perf_counter() - began
    sys.stdout.write(json.dumps({"latencies": tally.seconds, "refused": tally.refused, "span": span}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
