"""The profile is a list that can be read: what it must contain, and in which order."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from harness.sandbox.environment import command_environment
from harness.sandbox.mounts import Mount
from harness.sandbox.profile import Profile, bubblewrap_arguments


@pytest.fixture
def arguments() -> list[str]:
    profile = Profile(
        work=Path("/srv/tree"),
        scratch=Path("/srv/scratch"),
        mounts=(Mount(Path("/tmp/kit"), PurePosixPath("/tmp/kit")),),
        environment={"PATH": "/usr/bin"},
        tmpfs_bytes=1024,
    )
    return bubblewrap_arguments(profile, seccomp_fd=7, info_fd=8, files={"/etc/passwd": 9})


@pytest.mark.parametrize(
    "words",
    [
        ["--unshare-all"], ["--unshare-user"], ["--disable-userns"], ["--die-with-parent"], ["--new-session"],
        ["--clearenv"], ["--cap-drop", "ALL"], ["--hostname", "sandbox"], ["--ro-bind", "/usr", "/usr"],
        ["--seccomp", "7"], ["--info-fd", "8"], ["--file", "9", "/etc/passwd"], ["--chdir", "/work"],
        ["--bind", "/srv/tree", "/work"], ["--bind", "/srv/scratch", "/tmp"],
        ["--setenv", "PATH", "/usr/bin"],
        ["--size", "1024", "--tmpfs", "/dev/shm"], ["--size", "1024", "--tmpfs", "/home/agent"],
    ],
)  # fmt: skip
def test_the_profile_has(arguments: list[str], words: list[str]) -> None:
    assert any(arguments[at : at + len(words)] == words for at in range(len(arguments)))


def test_the_root_becomes_read_only_last(arguments: list[str]) -> None:
    assert arguments[-2:] == ["--remount-ro", "/"]


def test_only_two_places_are_writable(arguments: list[str]) -> None:
    assert [arguments[at + 2] for at, word in enumerate(arguments) if word == "--bind"] == ["/work", "/tmp"]


def test_tools_below_tmp_are_mounted_over_it(arguments: list[str]) -> None:
    assert arguments.index("/srv/scratch") < arguments.index("/tmp/kit")


def test_the_policys_variables_come_last_and_win() -> None:
    shown = command_environment({"CI": "false", "MINE": "1"}, path=["/a", "/b"])
    assert (shown["PATH"], shown["CI"], shown["MINE"]) == ("/a:/b", "false", "1")
