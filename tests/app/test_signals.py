"""SIGTERM becomes a call from an ordinary thread, whatever the main thread holds at that moment."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

PROGRAM = """
import os, signal, threading
from app.signals import stopping_on_signals

lock = threading.Lock()
stopped = threading.Event()

def stop():
    with lock:
        stopped.set()

with stopping_on_signals(stop):
    with lock:                       # what the main thread holds when the signal comes
        os.kill(os.getpid(), signal.SIGTERM)
        held_back = not stopped.wait(0.2)
    stopped.wait(20)
print(held_back, stopped.is_set())
"""


def test_a_signal_that_finds_a_lock_taken_waits_for_it_and_does_not_hang() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["True", "True"], done.stderr


def test_handlers_are_put_back_and_the_thread_ends() -> None:
    from app.signals import stopping_on_signals

    before = signal.getsignal(signal.SIGTERM)
    with stopping_on_signals(lambda: None):
        assert signal.getsignal(signal.SIGTERM) is not before
    assert signal.getsignal(signal.SIGTERM) is before
    assert "signals" not in [thread.name for thread in threading.enumerate()]
