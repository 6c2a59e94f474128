"""The way out of a set-up: what passes, what is refused, in which words, and that it all ends."""

from __future__ import annotations

import ipaddress
import os
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from domain.hosts import Target
from harness.setup.proxy import ProxyCaps, SetupProxy
from harness.setup.rules import Allowance
from harness.setup.upstream import OperatorProxy, Upstream
from tests.harness.setup.tls_world import HOST, Authority, Registry, connect, fetch, serving

LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"),)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def registry(authority: Authority) -> Iterator[Registry]:
    with serving(authority) as registry:
        yield registry


@pytest.fixture
def upstream(registry: Registry) -> Upstream:
    targets = frozenset({Target(HOST, registry.port)})
    return Upstream(
        allowance=Allowance(targets=targets, networks=LOOPBACK), resolve=lambda host, port: ["127.0.0.1"]
    )


def copy(source: socket.socket, target: socket.socket) -> None:
    while chunk := source.recv(65536):
        target.sendall(chunk)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@contextmanager
def proxied(tmp_path: Path, upstream: Upstream, caps: ProxyCaps | None = None) -> Iterator[SetupProxy]:
    with SetupProxy(tmp_path / "p.sock", upstream, caps=caps) as proxy:
        yield proxy


def test_an_allowed_host_is_reached_and_certified_by_itself(
    tmp_path: Path, upstream: Upstream, registry: Registry, authority: Authority
) -> None:
    with proxied(tmp_path, upstream) as proxy:
        for spelling in (HOST, HOST.upper()):
            assert fetch(proxy.path, f"{spelling}:{registry.port}", authority).endswith(b"yes")
        assert proxy.refused == ()
    assert not proxy.path.exists()


def test_another_host_is_refused_by_name_with_the_line_that_allows_it(
    tmp_path: Path, upstream: Upstream, authority: Authority
) -> None:
    with proxied(tmp_path, upstream) as proxy:
        answer = fetch(proxy.path, "files.example:443", authority)
        assert answer.startswith(b"HTTP/1.1 403") and b"FIXWRIGHT_SETUP_HOSTS=auto,files.example" in answer
        fetch(proxy.path, "files.example:443", authority)
        (refusal,) = proxy.refused
    assert refusal.what == "files.example" and refusal.way_out == "FIXWRIGHT_SETUP_HOSTS=auto,files.example"


@pytest.mark.parametrize(
    ("request_line", "status", "word"),
    [
        (f"CONNECT {HOST}:22 HTTP/1.1", 403, "not allowed"),
        ("CONNECT 127.0.0.1:443 HTTP/1.1", 403, "not the name of a host"),
        ("CONNECT [::1]:443 HTTP/1.1", 403, "not the name of a host"),
        ("CONNECT 2130706433:443 HTTP/1.1", 403, "not the name of a host"),
        ("CONNECT 0x7f.1:443 HTTP/1.1", 403, "not the name of a host"),
        (f"CONNECT {HOST}.:443 HTTP/1.1", 403, "not the name of a host"),
        (f"CONNECT user@{HOST}:443 HTTP/1.1", 403, "not the name of a host"),
        (f"CONNECT {HOST}:443:443 HTTP/1.1", 403, "not the name of a host"),
        (f"CONNECT {HOST}:99999 HTTP/1.1", 403, "not the name of a host"),
        (f"GET http://{HOST}/simple/ HTTP/1.1", 405, "only HTTPS"),
        (f"POST https://{HOST}/ HTTP/1.1", 405, "only HTTPS"),
        ("\x16\x03\x01", 400, "cannot be read"),
        ("connect x HTTP/1.1", 400, "cannot be read"),
    ],
)
def test_whatever_is_no_plain_connect_is_refused(
    tmp_path: Path, upstream: Upstream, request_line: str, status: int, word: str
) -> None:
    with proxied(tmp_path, upstream) as proxy:
        client, answer = connect(proxy.path, f"{request_line}\r\n\r\n")
        client.close()
        assert answer.startswith(f"HTTP/1.1 {status} ".encode())
        assert word in str(proxy.refused[0])


def test_an_oversized_head_is_refused(tmp_path: Path, upstream: Upstream) -> None:
    with proxied(tmp_path, upstream) as proxy:
        client, answer = connect(proxy.path, f"CONNECT {HOST}:443 HTTP/1.1\r\nX: {'y' * 9000}\r\n\r\n")
        client.close()
        assert answer.startswith(b"HTTP/1.1 431") and "too long" in str(proxy.refused[0])


def test_a_name_that_resolves_to_a_private_address_is_refused(
    tmp_path: Path, upstream: Upstream, registry: Registry, authority: Authority
) -> None:
    closed = replace(upstream, allowance=replace(upstream.allowance, networks=()))
    with proxied(tmp_path, closed) as proxy:
        assert fetch(proxy.path, f"{HOST}:{registry.port}", authority).startswith(b"HTTP/1.1 403")
        assert "FIXWRIGHT_SETUP_NETWORKS=127.0.0.1/32" in str(proxy.refused[0])
    assert registry.connections == 0


def test_a_name_is_looked_up_once_and_connected_to_by_what_was_checked(
    tmp_path: Path, upstream: Upstream, registry: Registry, authority: Authority
) -> None:
    answers = iter([["127.0.0.1"], ["10.0.0.1"]])
    with proxied(tmp_path, replace(upstream, resolve=lambda host, port: next(answers))) as proxy:
        assert fetch(proxy.path, f"{HOST}:{registry.port}", authority).endswith(b"yes")
        assert next(answers) == ["10.0.0.1"]


def test_a_host_behind_the_name_is_not_reached(
    tmp_path: Path, upstream: Upstream, registry: Registry, authority: Authority
) -> None:
    with proxied(tmp_path, upstream) as proxy:
        with pytest.raises((ssl.SSLError, OSError)):
            fetch(proxy.path, f"{HOST}:{registry.port}", authority, name="elsewhere.example")
        assert "'elsewhere.example' was asked for" in str(proxy.refused[0])


@pytest.mark.parametrize(
    "said", ["GET / HTTP/1.1\r\n\r\n", "SSH-2.0-x\r\n", "\x16\x03\x01\x00\x05\x02\x00\x00\x00\x00"]
)
def test_what_is_not_tls_is_cut_before_a_byte_is_passed_on(
    tmp_path: Path, upstream: Upstream, registry: Registry, said: str
) -> None:
    with proxied(tmp_path, upstream) as proxy:
        client, answer = connect(proxy.path, f"CONNECT {HOST}:{registry.port} HTTP/1.1\r\n\r\n")
        with closing(client):
            assert answer.startswith(b"HTTP/1.1 200")
            client.sendall(said.encode("latin-1"))
            assert client.recv(100) == b""
        assert "was cut" in str(proxy.refused[0])


@pytest.mark.parametrize(
    ("caps", "word"), [({"down_bytes": 10_000}, "received"), ({"up_bytes": 300}, "sent")]
)
def test_bytes_are_bounded(
    tmp_path: Path,
    upstream: Upstream,
    registry: Registry,
    authority: Authority,
    caps: dict[str, int],
    word: str,
) -> None:
    registry.answer = b"x" * 200_000
    with proxied(tmp_path, upstream, ProxyCaps(**caps)) as proxy:
        try:
            got = fetch(proxy.path, f"{HOST}:{registry.port}", authority)
        except OSError:
            got = b""
        assert len(got) < 200_000
        assert word in str(proxy.refused[0])


def test_connections_at_once_are_bounded(tmp_path: Path, upstream: Upstream) -> None:
    with proxied(tmp_path, upstream, ProxyCaps(at_once=1)) as proxy:
        idle = [socket.socket(socket.AF_UNIX) for _ in range(2)]
        for each in idle:
            each.connect(str(proxy.path))
        client, answer = connect(proxy.path, f"CONNECT {HOST}:443 HTTP/1.1\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 429") or answer == b""
        assert "at once" in str(proxy.refused[0])
        for each in (*idle, client):
            each.close()


def test_a_silent_client_is_let_go_of(tmp_path: Path, upstream: Upstream) -> None:
    with proxied(tmp_path, upstream, ProxyCaps(greeting_seconds=0.05)) as proxy:
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(10)
        client.connect(str(proxy.path))
        assert client.recv(10) == b""
        client.close()


def test_closing_ends_open_connections(tmp_path: Path, upstream: Upstream, registry: Registry) -> None:
    before = threading.active_count()
    with proxied(tmp_path, upstream) as proxy:
        client, _ = connect(proxy.path, f"CONNECT {HOST}:{registry.port} HTTP/1.1\r\n\r\n")
    with closing(client):
        assert client.recv(10) == b""
    assert threading.active_count() <= before


def test_the_socket_is_for_the_sandboxs_user_alone(tmp_path: Path, upstream: Upstream) -> None:
    owner = (43210, 43211) if os.geteuid() == 0 else None
    with SetupProxy(tmp_path / "p.sock", upstream, owner=owner) as proxy:
        found = proxy.path.stat()
        assert found.st_mode & 0o777 == 0o600
        assert owner is None or (found.st_uid, found.st_gid) == owner


def test_the_operators_own_proxy_is_gone_through_with_its_password(
    tmp_path: Path, upstream: Upstream, registry: Registry, authority: Authority
) -> None:
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def chain() -> None:
            client, _ = listener.accept()
            with client, socket.create_connection(("127.0.0.1", registry.port)) as server:
                heard.append(client.recv(65536))
                client.sendall(b"HTTP/1.1 200 fine\r\nX: y\r\n\r\n")
                there = threading.Thread(target=copy, args=(client, server))
                there.start()
                copy(server, client)
                there.join()

        thread = threading.Thread(target=chain, daemon=True)
        thread.start()
        through = OperatorProxy(host="127.0.0.1", port=listener.getsockname()[1], authorization="c2VjcmV0")
        unknown = replace(upstream, proxy=through, resolve=lambda host, port: pytest.fail("looked up"))
        with proxied(tmp_path, unknown) as proxy:
            assert fetch(proxy.path, f"{HOST}:{registry.port}", authority).endswith(b"yes")
        thread.join()
    assert heard[0].startswith(f"CONNECT {HOST}:{registry.port} HTTP/1.1\r\n".encode())
    assert b"Proxy-Authorization: Basic c2VjcmV0\r\n" in heard[0]


def test_a_refusal_by_the_operators_proxy_is_told(
    tmp_path: Path, upstream: Upstream, registry: Registry, authority: Authority
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse() -> None:
            client, _ = listener.accept()
            with client:
                client.recv(65536)
                client.sendall(b"HTTP/1.1 407 no\r\n\r\n")

        threading.Thread(target=refuse, daemon=True).start()
        through = OperatorProxy(host="127.0.0.1", port=listener.getsockname()[1])
        with proxied(tmp_path, replace(upstream, proxy=through)) as proxy:
            assert fetch(proxy.path, f"{HOST}:{registry.port}", authority).startswith(b"HTTP/1.1 502")
            assert "answered 407" in str(proxy.refused[0])
