"""What is written in one turn of the event loop leaves in one piece, in order, and nothing is left behind."""

from __future__ import annotations

import asyncio
import re
import socket
from pathlib import Path

import pytest

from app.one_send import MOST_HELD, GatheringTransport
from tests.app.web_process import running_web_process


class Beneath(asyncio.Transport):
    """Notes what reaches the connection."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 7)})
        self.happened: list[bytes | str] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.happened.append(bytes(data))

    def close(self) -> None:
        self.happened.append("closed")

    def abort(self) -> None:
        self.happened.append("aborted")

    def is_closing(self) -> bool:
        return bool(set(self.happened) & {"closed", "aborted"})

    def pause_reading(self) -> None:
        self.happened.append("paused")

    def resume_reading(self) -> None:
        self.happened.append("resumed")


def played(*acts: tuple[str, *tuple[object, ...]]) -> list[bytes | str]:
    """Return what reached the connection when all of this was done in one turn of the loop."""

    async def play() -> Beneath:
        beneath = Beneath()
        transport = GatheringTransport(beneath, asyncio.get_running_loop())
        for act, *values in acts:
            getattr(transport, act)(*values)
        assert transport.get_extra_info("peername") == ("127.0.0.1", 7)
        assert transport.is_closing() is beneath.is_closing()
        await asyncio.sleep(0)
        return beneath

    return asyncio.run(play()).happened


def test_head_and_body_leave_together() -> None:
    assert played(("write", b"head "), ("write", b"body"), ("write", b"")) == [b"head body"]


def test_nothing_is_sent_where_nothing_was_written() -> None:
    assert played(("write", b""), ("pause_reading",), ("resume_reading",)) == ["paused", "resumed"]


def test_what_was_written_is_sent_before_the_end_and_nothing_after_an_abort() -> None:
    assert played(("write", b"last words"), ("close",)) == [b"last words", "closed"]
    assert played(("write", b"dropped"), ("abort",)) == ["aborted"]


def test_a_long_answer_meets_the_flow_control_beneath() -> None:
    assert played(("write", b"x" * MOST_HELD), ("write", b"y"), ("write", b"z")) == [
        b"x" * MOST_HELD + b"y",
        b"z",
    ]


@pytest.mark.long
def test_every_answer_of_the_process_arrives_whole(tmp_path: Path) -> None:
    with (
        running_web_process(tmp_path) as web,
        socket.create_connection(("127.0.0.1", web.port), timeout=20) as client,
    ):
        paths = ("/healthz", "/nowhere", "/webhooks/nobody")
        client.sendall(b"".join(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode() for path in paths))
        received = b""
        while received.count(b"\r\n\r\n") < 3 or not received.endswith(b"}"):
            received += client.recv(65536)
    assert re.findall(rb"HTTP/1.1 (\d+)", received) == [b"200", b"404", b"404"]
