"""A package registry on loopback, over TLS: a shelf of files by path, as Go, Cargo and Bundler read them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network
from pathlib import Path

from harness.setup.site import SetupRules
from tests.harness.setup.tls_world import HOST, Authority


class Shelf:
    """What is served, by path, and what was asked for."""

    def __init__(self, directory: Path) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.authority = Authority(directory)
        self.port = 0

    @property
    def url(self) -> str:
        """The address that clients are told."""
        return f"https://{HOST}:{self.port}"

    def put(self, files: Mapping[str, bytes]) -> None:
        """Serve some files more."""
        self.files |= files

    def rules(self) -> SetupRules:
        """Let set-ups reach the shelf, and nothing else, under its name."""
        return SetupRules(
            setting=f"auto,{HOST}:{self.port}",
            networks=(ip_network("127.0.0.0/8"),),
            certificates=self.authority.file,
            resolve=lambda host, port: ["127.0.0.1"],
        )


@contextmanager
def serving_shelf(directory: Path) -> Iterator[Shelf]:
    """Serve an empty shelf until the end of the block."""
    shelf = Shelf(directory)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            shelf.asked.append(self.path)
            body = shelf.files.get(self.path)
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, format: str, *args: object) -> None:
            """Keep silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = shelf.authority.server_context(HOST).wrap_socket(server.socket, server_side=True)
    shelf.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield shelf
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
