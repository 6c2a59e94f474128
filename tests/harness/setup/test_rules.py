"""Addresses, names, requests and greetings, taken apart without any network."""

from __future__ import annotations

import ipaddress
import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import ConfigurationError
from domain.hosts import Target, parse_target
from harness.setup.client_hello import NotTls, server_name
from harness.setup.rules import Allowance, Refused, is_public, parse_request
from harness.setup.upstream import operator_proxy

PRIVATE = (
    *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1"),
    *("224.0.0.1", "255.255.255.255", "198.18.0.1", "::1", "::", "fe80::1", "fc00::1", "ff02::1"),
    *("2001:db8::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"),
)


def hello(host: str) -> bytes:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    client = context.wrap_bio(incoming, outgoing, server_hostname=host)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1", True),
        *((address, False) for address in PRIVATE),
        ("::ffff:8.8.8.8", True),
    ],
)
def test_only_the_public_internet_is_public(address: str, public: bool) -> None:
    assert is_public(ipaddress.ip_address(address)) is public


def test_of_several_addresses_only_those_that_are_allowed_are_used() -> None:
    allowance = Allowance(targets=frozenset())
    assert allowance.addresses(Target("a.example"), ["10.0.0.1", "8.8.8.8"]) == ["8.8.8.8"]
    with pytest.raises(Refused, match="not a public one"):
        allowance.addresses(Target("a.example"), ["10.0.0.1"])
    with pytest.raises(Refused, match="no address"):
        allowance.addresses(Target("a.example"), [])


def test_the_line_that_allows_a_host_keeps_what_is_allowed() -> None:
    empty = Allowance(targets=frozenset(), setting="")
    assert empty.line_for(Target("a.example")) == "FIXWRIGHT_SETUP_HOSTS=a.example"
    more = Allowance(targets=frozenset(), setting="auto,b.example")
    assert more.line_for(Target("a.example", 8443)) == "FIXWRIGHT_SETUP_HOSTS=auto,b.example,a.example:8443"


@pytest.mark.parametrize(
    "text", ["", "a b", "-a.example", "a..b", "1.2.3.4", "127.1", "0x7f000001", "[::1]", "a:0", "a_b"]
)
def test_what_is_no_host_name(text: str) -> None:
    assert parse_target(text) is None


@given(st.binary(max_size=300))
def test_no_request_breaks_the_reader(data: bytes) -> None:
    try:
        assert isinstance(parse_request(data), Target)
    except Refused as refused:
        assert refused.refusal.why


@pytest.mark.parametrize("size", [1, 3, 700])
def test_a_name_is_read_from_a_hello_in_pieces_of_any_size(size: int) -> None:
    whole = hello("packages.example")
    for end in range(1, len(whole), size):
        assert server_name(whole[:end]) is None
    assert server_name(whole) == "packages.example"


def test_a_hello_that_is_spread_over_several_records_is_put_together() -> None:
    message = hello("packages.example")[5:]
    parts = [message[:10], message[10:60], message[60:]]
    records = b"".join(b"\x16\x03\x01" + len(part).to_bytes(2, "big") + part for part in parts)
    assert server_name(records) == "packages.example"
    assert server_name(records[:-1]) is None


def test_a_hello_that_hides_its_name_is_refused() -> None:
    message = bytearray(hello("packages.example")[5:])
    place = 4 + 2 + 32
    place += 1 + message[place]
    place += 2 + int.from_bytes(message[place : place + 2], "big")
    place += 1 + message[place]
    extension = b"\xfe\x0d\x00\x01\x00"
    size = int.from_bytes(message[place : place + 2], "big") + len(extension)
    body = bytes(message[4:place]) + size.to_bytes(2, "big") + extension + bytes(message[place + 2 :])
    framed = b"\x01" + len(body).to_bytes(3, "big") + body
    with pytest.raises(NotTls, match="encrypted"):
        server_name(b"\x16\x03\x01" + len(framed).to_bytes(2, "big") + framed)


HELLO = hello("packages.example")


@given(st.binary(max_size=400), st.integers(0, 500), st.integers(0, 255))
def test_no_greeting_breaks_the_reader(noise: bytes, place: int, value: int) -> None:
    changed = bytearray(HELLO)
    changed[place % len(changed)] = value
    for data in (noise, bytes(changed), bytes(changed) + noise):
        try:
            assert server_name(data) is None or isinstance(server_name(data), str)
        except NotTls as error:
            assert str(error)


def test_the_operators_proxy_is_read_from_the_usual_variables() -> None:
    proxy = operator_proxy({"HTTPS_PROXY": "http://u:p%40@proxy.example:3128", "NO_PROXY": ".corp.example,x"})
    assert proxy is not None and (proxy.host, proxy.port) == ("proxy.example", 3128)
    assert "dTpwQA" not in repr(proxy) and proxy.authorization == "dTpwQA=="
    assert proxy.serves("y.example") and not proxy.serves("a.corp.example") and not proxy.serves("x")
    assert operator_proxy({"HTTP_PROXY": "http://other.example"}) is None
    with pytest.raises(ConfigurationError, match="HTTPS_PROXY"):
        operator_proxy({"https_proxy": "socks5://s.example"})
