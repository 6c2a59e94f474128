"""Carries connections from a loopback port to a Unix socket.

usage: relay.py SOCKET PORT. Runs inside, where there is no Perl; prints the number of the listening process.
"""

import os
import socket
import sys
import threading

_CHUNK = 65536


def main(path: str, port: int) -> None:
    """Listen in a process of its own, and serve for ever."""
    listener = socket.create_server(("127.0.0.1", port), backlog=128)
    server = os.fork()
    if server:
        sys.stdout.write(f"{server}\n")
        return
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=_carry, args=(client, path), daemon=True).start()


def _carry(client: socket.socket, path: str) -> None:
    with client, socket.socket(socket.AF_UNIX) as proxy:
        try:
            proxy.connect(path)
        except OSError:
            return
        back = threading.Thread(target=_copy, args=(proxy, client), daemon=True)
        back.start()
        _copy(client, proxy)
        back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while chunk := source.recv(_CHUNK):
            target.sendall(chunk)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        for side in (source, target):
            _end(side)


def _end(side: socket.socket) -> None:
    try:
        side.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
