"""The demo's data directory: its own, gone at the end, kept after trouble, swept when its demo has died."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from app.demo.data_directory import data_directory

HOLDER = """
import sys, signal
from pathlib import Path
from app.demo.data_directory import data_directory
with data_directory(Path(sys.argv[1])) as made:
    print(made.path, flush=True)
    signal.pause()
"""


def test_two_demos_have_directories_of_their_own_and_leave_nothing(tmp_path: Path) -> None:
    with data_directory(tmp_path) as one, data_directory(tmp_path) as other:
        assert one.path != other.path
        assert one.path.is_dir()
        assert stat.S_IMODE(one.path.stat().st_mode) == 0o711
    assert not list(tmp_path.iterdir())


def test_an_error_keeps_the_data_and_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="broken"), data_directory(tmp_path) as made:
        raise ValueError("broken")
    assert made.path.is_dir()
    assert str(made.path) in capsys.readouterr().err


def test_an_interruption_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), data_directory(tmp_path):
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


def test_what_was_kept_is_gone_with_the_next_demo(tmp_path: Path) -> None:
    with data_directory(tmp_path) as made:
        made.keep = True
    assert made.path.is_dir()
    with data_directory(tmp_path):
        assert not made.path.exists()


def test_a_dead_demo_s_data_are_swept_and_a_living_one_s_are_not(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    held = Path(holder.stdout.readline().strip())
    with data_directory(tmp_path):
        assert held.is_dir()
    os.kill(holder.pid, signal.SIGKILL)
    holder.communicate()
    assert held.is_dir()
    with data_directory(tmp_path):
        assert not held.exists()


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / f"fixwright-demo-{os.getuid()}-link").symlink_to(elsewhere)
    with data_directory(tmp_path):
        pass
    assert elsewhere.is_dir()
