"""An HTTP endpoint on loopback that says one thing to every request, or breaks off; it counts."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Misbehaving:
    """Use it as a context manager. `status` 0 resets the connection in place of an answer."""

    def __init__(self, status: int, body: str = "", headers: Mapping[str, str] | None = None) -> None:
        self.status = status
        self.body = body.encode()
        self.headers = dict(headers or {})
        self.paths: list[str] = []
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.endpoint = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Misbehaving:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    endpoint: Misbehaving

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was cut off is what the test is about."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        endpoint = self.server.endpoint
        endpoint.paths.append(self.path)
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not endpoint.status:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.rfile.close()
            self.wfile.close()
            self.connection.close()
            return
        self.send_response(endpoint.status)
        for name, value in {"Content-Type": "application/json", **endpoint.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(endpoint.body)))
        self.end_headers()
        self.wfile.write(endpoint.body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Stay silent."""
