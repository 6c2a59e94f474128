"""The operator's tools and our helpers: visible at their place, read-only, and never led astray."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path, PurePosixPath

import pytest

from domain.errors import SandboxError
from harness.sandbox.bubblewrap import BubblewrapSandbox
from harness.sandbox.mountpoints import MountPoints, Point
from harness.sandbox.mounts import needed_of_etc, search_path, tool_mounts


def make_program(path: Path, says: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {says}\n")
    path.chmod(0o755)


def test_helpers_come_before_tools_and_tools_before_the_system(room: Path, policy, uid: int | None) -> None:
    make_program(room / "kit/bin/id", "tool")
    make_program(room / "kit/bin/edit", "tool")
    make_program(room / "ours/edit", "helper")
    sandbox = BubblewrapSandbox(
        uid=uid, nice=False, tools=[room / "kit"], helpers={"/opt/fixwright/bin": room / "ours"}
    )
    with closing(sandbox.open(policy())) as session:
        shown = session.run("edit; id; echo $PATH", 10).output.splitlines()
        assert shown[:2] == ["helper", "tool"]
        assert shown[2].split(":")[:2] == ["/opt/fixwright/bin", f"{room}/kit/bin"]
        for place in (f"{room}/kit/bin/id", "/opt/fixwright/bin/edit", f"{room}/kit/new"):
            assert session.run(f"echo x >> {place}", 10).exit_code != 0


def test_a_link_left_in_the_way_of_a_tool_is_removed(room: Path, policy, uid: int | None) -> None:
    make_program(room / "kit/bin/hello", "hello")
    (room / "victim").mkdir(mode=0o777)
    sandbox = BubblewrapSandbox(uid=uid, nice=False, tools=[room / "kit"])
    with closing(sandbox.open(policy())) as session:
        swap = session.run(f"mv {room} /tmp/away; ln -s /work {room}; ls -ld {room}", 10)
        assert "-> /work" in swap.output
        assert session.run("hello; ls /work", 10).output == "hello\n"


@pytest.mark.parametrize("shut", ["chmod 000 /work", "chmod 000 /tmp", "chmod 000 /tmp/fixwright-room-*"])
def test_an_agent_that_shuts_its_own_directories_can_go_on(
    room: Path, policy, uid: int | None, shut: str
) -> None:
    make_program(room / "kit/bin/hello", "hello")
    sandbox = BubblewrapSandbox(uid=uid, nice=False, tools=[room / "kit"])
    with closing(sandbox.open(policy())) as session:
        session.run(shut, 10)
        assert session.run("hello", 10).output == "hello\n"


def test_a_virtual_environment_brings_its_interpreter_along(tmp_path: Path) -> None:
    base, environment = tmp_path / "base", tmp_path / "venv"
    (base / "lib/python3.11").mkdir(parents=True)
    (base / "lib/python3.11/os.py").touch()
    make_program(base / "bin/python3.11", "python")
    (environment / "bin").mkdir(parents=True)
    (environment / "bin/python").symlink_to(base / "bin/python3.11")
    (environment / "pyvenv.cfg").write_text(f"home = {base}/bin\nversion = 3.11.0\n")
    assert [mount.source for mount in tool_mounts([environment])] == [environment, base]


def test_a_home_directory_is_not_taken_for_an_interpreter(tmp_path: Path) -> None:
    environment = tmp_path / "venv"
    environment.mkdir()
    (environment / "pyvenv.cfg").write_text("home = /root/bin\n")
    assert [mount.source for mount in tool_mounts([environment])] == [environment]


def test_an_interpreter_in_usr_is_there_already(tmp_path: Path) -> None:
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\n")
    assert len(tool_mounts([tmp_path])) == 1


@pytest.mark.parametrize(
    "tool", ["/", "/proc", "/dev/shm", "/etc/x", "/work", "/tmp", "/usr", "relative", "/opt/../x"]
)
def test_a_tool_cannot_take_the_place_of_the_system(tool: str) -> None:
    with pytest.raises(SandboxError, match="own path"):
        tool_mounts([Path(tool)])


def test_a_missing_tool_is_named() -> None:
    with pytest.raises(SandboxError, match="/opt/nowhere-at-all does not exist"):
        tool_mounts([Path("/opt/nowhere-at-all")])


def test_a_tool_out_of_reach_is_named_with_the_way_out(room: Path, policy, as_root: int) -> None:
    make_program(room / "closed/kit/bin/hello", "hello")
    (room / "closed").chmod(0o700)
    sandbox = BubblewrapSandbox(uid=as_root, tools=[room / "closed/kit"])
    with pytest.raises(SandboxError, match=rf"{room}/closed has mode 0700.*chmod o\+x {room}/closed"):
        sandbox.self_test()


def test_a_directory_without_bin_is_itself_on_the_path(tmp_path: Path) -> None:
    (tmp_path / "with/bin").mkdir(parents=True)
    (tmp_path / "without").mkdir()
    shown = search_path({"/opt/h": tmp_path}, [tmp_path / "with", tmp_path / "without"])
    assert shown == ["/opt/h", f"{tmp_path}/with/bin", f"{tmp_path}/without"]


def test_only_the_needed_part_of_etc_is_shown(tmp_path: Path) -> None:
    for name in ("shadow", "gitconfig", "ld.so.cache", "services"):
        (tmp_path / name).write_text(name)
    assert needed_of_etc(tmp_path) == ([], {"/etc/ld.so.cache": b"ld.so.cache", "/etc/services": b"services"})


def test_a_few_small_files_of_etc_are_copied_and_the_rest_is_mounted(tmp_path: Path) -> None:
    for directory, count in (("python3.11", 2), ("alternatives", 9), ("ssl/certs", 1), ("java-17", 0)):
        (tmp_path / directory).mkdir(parents=True)
        for number in range(count):
            (tmp_path / directory / f"file{number}").write_text("x")
    (tmp_path / "ssl/certs/link").symlink_to("file0")
    (tmp_path / "ld.so.cache").write_bytes(b"x" * 200_000)
    mounts, files = needed_of_etc(tmp_path)
    assert files == {"/etc/python3.11/file0": b"x", "/etc/python3.11/file1": b"x"}
    assert [str(mount.target) for mount in mounts] == [
        "/etc/alternatives", "/etc/java-17", "/etc/ld.so.cache", "/etc/ssl/certs",
    ]  # fmt: skip


@pytest.mark.parametrize("shut", ["ssl/openssl.cnf", "ssl"])
def test_what_not_everybody_may_read_is_never_copied(tmp_path: Path, shut: str) -> None:
    (tmp_path / "ssl").mkdir()
    (tmp_path / "ssl/openssl.cnf").write_text("private")
    (tmp_path / shut).chmod(0o750 if shut == "ssl" else 0o640)
    mounts, files = needed_of_etc(tmp_path)
    assert files == {} and [str(mount.target) for mount in mounts] == ["/etc/ssl/openssl.cnf"]


def test_a_file_of_the_repository_in_the_way_is_reported(tmp_path: Path) -> None:
    (tmp_path / "main").write_text("tracked")
    with pytest.raises(SandboxError, match="main is in the way"):
        MountPoints([tmp_path], [Point(tmp_path, PurePosixPath("main/tools"))])


def test_mount_points_are_removed_if_they_are_ours_and_empty(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    paths = ("there/ours", "new/a/b", "new/used")
    points = MountPoints([tmp_path], [Point(tmp_path, PurePosixPath(path)) for path in paths])
    for path in ("there/ours", "new/a/b", "new/used"):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "new/used/file").touch()
    points.remove()
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")) == [
        "new", "new/used", "new/used/file", "there",
    ]  # fmt: skip


def test_a_link_deep_in_the_way_is_unlinked_and_not_followed(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "a").mkdir(parents=True)
    outside.mkdir()
    points = MountPoints([root], [Point(root, PurePosixPath("a/b/c"))])
    (root / "a/b").symlink_to(outside)
    points.clear_the_way()
    assert not os.path.lexists(root / "a/b") and outside.is_dir()
