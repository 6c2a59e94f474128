"""Waking the worker: a datagram on a Unix socket in the data directory, so that nobody has to poll fast.

A wake-up carries nothing: whoever hears it looks into the database. A lost one costs a poll interval.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

from domain.errors import ConfigurationError
from domain.file_modes import file_mode

_LONGEST_PATH = 107
"""Bytes that fit into sockaddr_un.sun_path beside its final zero."""


class Bell:
    """The ringing side. Safe to use from several threads and from a signal handler."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._socket = _datagram_socket()

    def ring(self) -> bool:
        """Wake the listener; tell whether there was one to hear it. Never raises, never waits."""
        try:
            with _address(self._path) as address:
                self._socket.sendto(b"!", address)
        except BlockingIOError:
            return True  # its queue of wake-ups is full, so it has been woken
        except OSError:
            return False
        return True

    def is_heard(self) -> bool:
        """Tell whether there is a listener, without waking it."""
        try:
            with _address(self._path) as address, _datagram_socket() as probe:
                probe.connect(address)
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Give the socket back."""
        self._socket.close()


class BellListener:
    """The listening side: one per data directory. Wake-ups that come between two waits are kept."""

    def __init__(self, path: Path) -> None:
        """Bind the socket, readable and writable by this user alone, or by the group of a shared directory.

        Raises:
            ConfigurationError: another worker listens there, or the path cannot be bound.
        """
        self._path = path
        self._socket = _datagram_socket()
        try:
            self._bind()
        except OSError as error:
            self._socket.close()
            why = error.strerror or str(error)
            raise ConfigurationError(
                f"FIXWRIGHT_DATA_DIR: the wake-up socket {path} cannot be bound ({why}); "
                "use a writable local directory, for example FIXWRIGHT_DATA_DIR=./data"
            ) from None
        self._inode = path.lstat().st_ino

    def wait(self, timeout: float) -> bool:
        """Wait for a wake-up, or for `timeout` seconds; tell whether there was one.

        All wake-ups that have come by then count as one. A signal handler that should end the wait early
        rings the bell itself.
        """
        ready = select.poll()  # select() takes no descriptor above 1023
        ready.register(self._socket, select.POLLIN)
        return bool(ready.poll(max(0.0, timeout) * 1000)) and self._drain()

    def close(self) -> None:
        """Stop listening, and remove the socket file if it is still ours."""
        self._socket.close()
        with contextlib.suppress(FileNotFoundError):
            if self._path.lstat().st_ino == self._inode:
                self._path.unlink()

    def __enter__(self) -> BellListener:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _bind(self) -> None:
        # The socket file takes its mode from the socket's inode, so it is never open to others for a moment.
        wanted = file_mode(self._path.parent.stat().st_mode)
        os.fchmod(self._socket.fileno(), wanted)
        with _address(self._path) as address:
            try:
                self._socket.bind(address)
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                self._remove_stale(address)
                self._socket.bind(address)
        if stat.S_IMODE(self._path.lstat().st_mode) != wanted:
            self._path.chmod(wanted)  # the umask has taken the group's right to write

    def _remove_stale(self, address: str) -> None:
        """Remove the socket file of a listener that is gone; leave a living one and other files alone."""
        if not stat.S_ISSOCK(self._path.lstat().st_mode):
            raise OSError(errno.EEXIST, "a file that is not a socket is in the way")
        with _datagram_socket() as probe:
            try:
                probe.connect(address)
            except ConnectionRefusedError:
                self._path.unlink()
            else:
                raise OSError(errno.EADDRINUSE, "another worker listens there")

    def _drain(self) -> bool:
        heard = False
        with contextlib.suppress(BlockingIOError):
            while True:
                self._socket.recv(1)
                heard = True
        return heard


def _datagram_socket() -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    made.setblocking(False)
    return made


@contextlib.contextmanager
def _address(path: Path) -> Iterator[str]:
    """Give the address of a socket path of any length.

    A path that is too long for the kernel is reached through a descriptor of its directory, which keeps the
    socket inside the data directory and under its permissions (an abstract name would be open to everyone).
    """
    if len(os.fsencode(path)) <= _LONGEST_PATH:
        yield str(path)
        return
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)
