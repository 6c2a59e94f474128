"""The HTTP server's own limits, over real sockets: heads without an end, and requests that dribble in."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from app.http_limits import LONGEST_HEAD, PunctualHttp, PunctualServer
from tests.app.senders import Sender

HEAD = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"


async def _hello(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@contextmanager
def _serving(request_seconds: float) -> Iterator[int]:
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(_hello, http=PunctualHttp, ws="none", lifespan="off", log_config=None)
    server = PunctualServer(config, request_seconds)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(10)


@pytest.fixture(scope="module")
def impatient() -> Iterator[Sender]:
    with _serving(0.2) as port:
        yield Sender(port, b"")


@pytest.fixture(scope="module")
def patient() -> Iterator[Sender]:
    with _serving(60) as port:
        yield Sender(port, b"")


@pytest.mark.long
@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"GET /hea", id="half a request line"),
        pytest.param(HEAD, id="headers without an end"),
    ],
)
def test_f110_a_request_that_does_not_come_is_cut_off_without_an_answer(
    impatient: Sender, sent: bytes
) -> None:
    assert impatient.raw(sent, timeout=10) == b""


@pytest.mark.long
def test_a_body_that_does_not_come_ends_the_connection(impatient: Sender) -> None:
    received = impatient.raw(HEAD + b"Content-Length: 9\r\n\r\nabc", timeout=10)
    assert received.startswith(b"HTTP/1.1 200")


@pytest.mark.long
def test_a_second_slow_request_on_a_good_connection_is_cut_off(impatient: Sender) -> None:
    received = impatient.raw(HEAD + b"\r\n" + b"GET /", timeout=10)
    assert received.count(b"HTTP/1.1 200") == 1


def test_f110_a_head_without_an_end_is_cut_off_by_its_length(patient: Sender) -> None:
    header = b"X-Filler: " + b"a" * 8000 + b"\r\n"
    with socket.create_connection(("127.0.0.1", patient.port), timeout=10) as connection:
        connection.sendall(HEAD)
        with pytest.raises((ConnectionResetError, BrokenPipeError, AssertionError)):
            for _ in range(200):
                connection.sendall(header)
            assert connection.recv(10) != b"", "closed"


def test_a_long_but_finished_head_is_answered(patient: Sender) -> None:
    filler = b"X-Filler: " + b"a" * (LONGEST_HEAD // 2) + b"\r\n"
    received = patient.raw(HEAD + filler + b"Connection: close\r\n\r\n")
    assert received.startswith(b"HTTP/1.1 200")


def test_requests_in_a_row_on_one_connection_are_all_answered(patient: Sender) -> None:
    received = patient.raw((HEAD + b"\r\n") * 3 + HEAD + b"Connection: close\r\n\r\n")
    assert received.count(b"HTTP/1.1 200") == 4
