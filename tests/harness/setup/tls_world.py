"""A registry on loopback with a certificate of its own authority, and clients that ask a proxy for it."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOST = "registry.example"


@dataclass
class Authority:
    """A certificate authority for one test run; `file` is what a client has to trust."""

    directory: Path
    file: Path = field(init=False)

    def __post_init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "A test's own authority")])
        self.certificate = self._signed(self._name, self._key.public_key(), authority=True, host="")
        self.file = self.directory / "authority.pem"
        self.file.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))

    def server_context(self, host: str) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        certificate = self._signed(name, key.public_key(), authority=False, host=host)
        chain = self.directory / f"{host}.pem"
        chain.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain)
        return context

    def client_context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.file))

    def _signed(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, *, authority: bool, host: str
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )
        if host:
            builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        return builder.sign(self._key, hashes.SHA256())


@dataclass
class Registry:
    """A TLS server on loopback that answers each request with `answer`; counts its connections."""

    port: int
    connections: int = 0
    answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nyes"


@contextmanager
def serving(authority: Authority, host: str = HOST) -> Iterator[Registry]:
    context = authority.server_context(host)
    listener = socket.create_server(("127.0.0.1", 0))
    registry = Registry(listener.getsockname()[1])

    def serve() -> None:
        while True:
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            registry.connections += 1
            try:
                with context.wrap_socket(plain, server_side=True) as client:
                    client.recv(65536)
                    client.sendall(registry.answer)
            except OSError:
                plain.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield registry
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


def connect(path: Path, request: str) -> tuple[socket.socket, bytes]:
    """Ask the proxy at a socket; return the connection and the first part of its answer."""
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(10)
    client.connect(str(path))
    try:
        client.sendall(request.encode("latin-1"))
        return client, client.recv(65536)
    except ConnectionError:
        return client, b""


def fetch(path: Path, target: str, authority: Authority, *, name: str = HOST) -> bytes:
    """Fetch a page through the proxy as a package client does; `name` is the one asked for in TLS."""
    client, answer = connect(path, f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n")
    with client:
        if not answer.startswith(b"HTTP/1.1 200"):
            return answer
        context = authority.client_context()
        with context.wrap_socket(client, server_hostname=name) as secure:
            secure.sendall(b"GET / HTTP/1.1\r\n\r\n")
            return secure.makefile("rb").read()
