"""A tiny HTTP server on loopback that keeps what webhooks bring."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Received:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def event(self) -> str:
        return self.headers["x-fixwright-event"]

    @property
    def guid(self) -> str:
        return self.headers["x-fixwright-delivery"]


class Receiver:
    """Answers every POST with `status` (and a redirect to itself for 3xx) and remembers it."""

    def __init__(self) -> None:
        self.status = 202
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.received: list[Received] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.received.append(Received(self.path, headers, body))
                receiver.may_answer.wait(10)
                self.send_response(receiver.status)
                if 300 <= receiver.status < 400:
                    self.send_header("location", "/elsewhere")
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/webhooks/local"
        # Polling often keeps close() short.
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def events(self) -> list[str]:
        return [received.event for received in self.received]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
