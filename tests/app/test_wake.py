"""The bell: heard when somebody listens, harmless when nobody does."""

from __future__ import annotations

import os
import socket
import stat
import threading
from pathlib import Path

import pytest

from app.wake import Bell, BellListener
from domain.errors import ConfigurationError


@pytest.fixture(params=["short", "long"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A socket path of ordinary length, and one that is longer than the kernel's 107 bytes."""
    if request.param == "short":
        return tmp_path / "s"
    deep = tmp_path / ("d" * 60) / ("é" * 40)
    deep.mkdir(parents=True)
    return deep / "worker.sock"


def test_a_ring_is_heard_once_and_waits_for_its_listener(path: Path) -> None:
    with BellListener(path) as listener:
        bell = Bell(path)
        assert listener.wait(0) is False
        assert bell.ring()
        assert bell.ring()
        assert listener.wait(10) is True
        assert listener.wait(0) is False


def test_a_waiting_listener_is_woken_from_another_thread(path: Path) -> None:
    with BellListener(path) as listener:
        ringer = threading.Timer(0.02, Bell(path).ring)
        ringer.start()
        assert listener.wait(10) is True
        ringer.join()


def test_ringing_never_raises_and_never_waits(path: Path) -> None:
    bell = Bell(path)
    assert bell.ring() is False
    with BellListener(path) as listener:
        for _ in range(5000):
            assert bell.ring()
        assert listener.wait(0) is True
    assert bell.ring() is False
    assert Bell(path.parent / "absent" / "x").ring() is False


def test_in_a_shared_directory_the_group_may_ring(path: Path) -> None:
    path.parent.chmod(0o2771)
    before = os.umask(0o022)
    try:
        with BellListener(path):
            mode = path.lstat().st_mode
    finally:
        os.umask(before)
    assert stat.S_IMODE(mode) == 0o660


def test_the_socket_is_for_this_user_alone_and_goes_with_its_listener(path: Path) -> None:
    before = os.umask(0)
    try:
        with BellListener(path):
            mode = path.lstat().st_mode
    finally:
        os.umask(before)
    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o600
    assert not path.exists()


def test_the_socket_of_a_listener_that_was_killed_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "worker.sock"
    dead = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    dead.bind(str(path))
    dead.close()
    with BellListener(path) as listener:
        Bell(path).ring()
        assert listener.wait(10)


def test_a_second_listener_is_told_so_and_does_not_disturb_the_first(path: Path) -> None:
    with BellListener(path) as first:
        with pytest.raises(ConfigurationError, match="another worker listens there"):
            BellListener(path)
        Bell(path).ring()
        assert first.wait(10)


def test_another_file_in_the_way_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "worker.sock"
    path.write_text("precious")
    with pytest.raises(ConfigurationError, match="not a socket"):
        BellListener(path)
    assert path.read_text() == "precious"


def test_a_directory_that_is_not_there_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="FIXWRIGHT_DATA_DIR"):
        BellListener(tmp_path / "absent" / "worker.sock")


def test_a_listener_removes_only_its_own_socket(tmp_path: Path) -> None:
    path = tmp_path / "worker.sock"
    first = BellListener(path)
    path.unlink()
    with BellListener(path):
        first.close()
        assert path.exists()
