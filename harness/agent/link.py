"""The child's end of the pipes: ask and be answered, and end when the worker is gone."""

from __future__ import annotations

import ctypes
import os
import queue
import signal
import threading
from collections.abc import Callable, Mapping
from typing import IO, ClassVar

from harness.agent.protocol import BadMessage, Message, decode, encode

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
LINUX_CAPABILITY_VERSION_3 = 0x20080522
ORPHANED = 3
"""Exit status of a child whose worker went away."""


class Link:
    """Messages to and from the worker. Everything sent passes `redact`: no key can leave in a text."""

    def __init__(self, reader: IO[bytes], writer: IO[bytes], *, orphaned: Callable[[], None]) -> None:
        self.redact: Callable[[str], str] = str
        self._writer = writer
        self._arrived: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._reader = reader
        self._orphaned = orphaned
        threading.Thread(target=self._listen, name="link", daemon=True).start()

    def _listen(self) -> None:
        for line in self._reader:
            self._arrived.put(line)
        self._orphaned()

    def receive(self, kind: str) -> Message:
        """Wait for the worker's next message, which must be of this kind. Raises BadMessage."""
        message = decode(self._arrived.get())
        if message["type"] != kind:
            raise BadMessage(f"{message['type']} instead of {kind}")
        return message

    def tell(self, kind: str, /, **fields: object) -> None:
        """Send a message that has no answer."""
        self._writer.write(encode({"type": kind, **_redacted(fields, self.redact)}))
        self._writer.flush()

    def ask(self, kind: str, /, **fields: object) -> Message:
        """Send a message and return its answer."""
        self.tell(kind, **fields)
        return self.receive("reply")


def _redacted(fields: Mapping[str, object], redact: Callable[[str], str]) -> Message:
    return {key: _clean(value, redact) for key, value in fields.items()}


def _clean(value: object, redact: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {key: _clean(item, redact) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item, redact) for item in value]
    return value


def leave() -> None:
    """End this process at once: nobody is left to report to, and no call may follow the one in flight."""
    os._exit(ORPHANED)


def end_with(parent: int) -> None:
    """Ask the kernel to end this process with the worker; end it now if the worker is gone already."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        leave()


def shut_out() -> None:
    """Close this process' memory to others of the same user: a model's key is going to be in it.

    Raises OSError.
    """
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_DUMPABLE) failed")


class _CapabilityHeader(ctypes.Structure):
    _fields_: ClassVar = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


def lay_down_rights() -> None:
    """Give up every capability: what the worker may do to users and files is not for the model's process.

    Raises OSError.
    """
    library = ctypes.CDLL(None, use_errno=True)
    none = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; twice 32 bits
    if library.capset(ctypes.byref(_CapabilityHeader(LINUX_CAPABILITY_VERSION_3, 0)), none) != 0:
        raise OSError(ctypes.get_errno(), "capset failed")


def step_back(niceness: int) -> None:
    """Give way to everything else on the machine; at 19, take only what nobody else wants."""
    os.nice(niceness)
    if niceness >= 19:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
