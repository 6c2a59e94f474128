"""Working copies whose `.git` is not what it should be: nothing is waited for, and nothing fails inside."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.git.borrowed import _common, git_directory, looking_at


@pytest.mark.parametrize(
    "content", [b"gitdir: a\0b", b"gitdir:", b"gitdir: ../elsewhere", b"\xff" * 9000, b""]
)
def test_a_pointer_to_nothing_is_no_history(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".git").write_bytes(content)
    assert git_directory(tmp_path) is None


def test_pipes_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    os.mkfifo(tmp_path / "commondir")
    assert git_directory(tmp_path) is None
    assert _common(tmp_path) == tmp_path
    with looking_at(tmp_path, upwards=False) as checkout:
        assert checkout.git_dir is None
