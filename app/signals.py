"""Turns SIGTERM and SIGINT into a call from an ordinary thread, where locks may be taken."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
from collections.abc import Callable, Iterator

_STOPPING = (signal.SIGTERM, signal.SIGINT)


@contextlib.contextmanager
def stopping_on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop`, from a thread of its own, for each signal that asks this process to end.

    A Python signal handler runs between any two steps of the main thread, which may hold the very lock that
    the handler needs. So the handlers do nothing, and the interpreter writes to a socket that a thread reads.
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    before = {number: signal.signal(number, lambda *_: None) for number in _STOPPING}
    former_descriptor = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    listener = threading.Thread(target=_listen, args=(reader, stop), name="signals", daemon=True)
    listener.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(former_descriptor)
        for number, handler in before.items():
            signal.signal(number, handler)
        with contextlib.suppress(OSError):
            writer.shutdown(socket.SHUT_RDWR)
        listener.join()
        reader.close()
        writer.close()


def _listen(reader: socket.socket, stop: Callable[[], None]) -> None:
    while heard := reader.recv(16):
        if any(number in _STOPPING for number in heard):
            stop()
