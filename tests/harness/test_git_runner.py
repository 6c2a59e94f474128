"""The runner: a closed environment, allowed verbs, limits that hold, nothing left running."""

from __future__ import annotations

import os
import select
import signal
import stat
import threading
from pathlib import Path

import pytest

from domain.errors import GitError, GitUnavailable, Stopped
from domain.model import CloneAccess
from harness.git import GitRunner, Limits, Place
from harness.git import environment as told
from harness.stopping import StopSignal
from tests.harness.git_world import World


def _fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> GitRunner:
    """Return a runner whose `git` is a script: the search path is a constant, so it is that which changes."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "git").write_text("#!/bin/sh\n" + script)
    (folder / "git").chmod(stat.S_IRWXU)
    monkeypatch.setattr(told, "SEARCH_PATH", f"{folder}:{told.SEARCH_PATH}")
    return GitRunner(tmp_path / "home")


def test_the_environment_is_exactly_what_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TRACE", "1")
    monkeypatch.setenv("FIXWRIGHT_SECRET", "canary")
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    git = _fake(tmp_path, monkeypatch, 'env; pwd; echo "$@"; ls -A . /proc/self/fd; cat\n')
    shown = git.run(Place(git_dir=tmp_path), "fetch", "x").decode()
    names = {line.split("=", 1)[0] for line in shown.splitlines() if "=" in line and line[0].isupper()}
    assert names - {"PWD", "OLDPWD", "SHLVL", "_"} == set(told.variables(git.committer, ""))
    assert f"\n{tmp_path}/home/empty\n" in shown and "canary" not in shown
    assert "GIT_ALLOW_PROTOCOL=none" in shown and "GIT_TRACE" not in shown
    assert "core.hooksPath=/dev/null" in shown and f"--git-dir={tmp_path}" in shown
    descriptors = [line for line in shown.split("/proc/self/fd:")[1].split() if line.isdigit()]
    assert max(map(int, descriptors)) <= 3


def test_c27_only_plumbing_verbs_run(world_less: GitRunner, tmp_path: Path) -> None:
    for verb in ("status", "commit", "checkout", "stash", "submodule", "config", "-c", "diff", "gc", "clone"):
        with pytest.raises(GitError, match="not one of the verbs"):
            world_less.run(Place(git_dir=tmp_path), verb)


@pytest.fixture
def world_less(tmp_path: Path) -> GitRunner:
    return GitRunner(tmp_path / "home")


@pytest.mark.long
def test_c83_a_hanging_git_is_killed_with_all_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "pids"
    git = _fake(tmp_path, monkeypatch, f"trap '' TERM; sleep 300 & echo $! $$ > {note}; sleep 300\n")
    with pytest.raises(GitUnavailable, match=r"git fetch did not end within 0\.5 seconds"):
        git.run(Place(git_dir=tmp_path), "fetch", limits=Limits(seconds=0.5))
    assert all(_has_died(pid) for pid in note.read_text().split())


def _has_died(pid: str) -> bool:
    """Tell whether a process is dead, allowing for the moment that a kill takes."""
    try:
        descriptor = os.pidfd_open(int(pid))
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], 5)[0])
    finally:
        os.close(descriptor)


def test_a_stop_ends_what_waits_for_a_remote_and_lets_our_own_work_finish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note, stop = tmp_path / "pid", StopSignal()
    os.mkfifo(note)
    fake = _fake(tmp_path, monkeypatch, f'case "$*" in *\\ fetch) echo $$ > {note}; exec sleep 300;; esac\n')
    git, place = fake.stoppable(stop), Place(git_dir=tmp_path)
    access = CloneAccess(url="https://127.0.0.1/lamp.git", protocol="https")
    pids: list[str] = []

    def ask() -> None:
        pids.append(note.read_text().strip())
        stop.request()

    threading.Thread(target=ask).start()
    with pytest.raises(Stopped):
        git.run(place, "fetch", access=access)
    with pytest.raises(Stopped):
        git.run(place, "push", access=access)

    assert _has_died(pids[0])
    git.run(place, "write-tree")
    fake.run(place, "push", access=access)


def test_git_ends_with_the_worker_that_was_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    note = tmp_path / "pid"
    os.mkfifo(note)
    git = _fake(tmp_path, monkeypatch, f"echo $$ > {note}; exec sleep 300\n")
    worker = os.fork()
    if worker == 0:
        try:
            git.run(Place(git_dir=tmp_path), "fetch")
        finally:
            os._exit(1)
    pid = note.read_text().strip()

    os.kill(worker, signal.SIGKILL)
    os.waitpid(worker, 0)

    assert _has_died(pid)


def test_a_stray_child_that_keeps_the_pipe_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "pid"
    git = _fake(tmp_path, monkeypatch, f"sleep 300 & echo $! > {note}; echo said\n")
    assert git.run(Place(git_dir=tmp_path), "fetch", limits=Limits(seconds=30)) == b"said\n"
    assert _has_died(note.read_text().strip())


def test_output_is_capped_and_a_large_input_does_not_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = _fake(tmp_path, monkeypatch, "cat\n")
    place, content = Place(git_dir=tmp_path), os.urandom(3 * 2**20)
    assert git.run(place, "fetch", stdin=content) == content
    with pytest.raises(GitError, match="printed more than 1000 bytes"):
        git.run(place, "fetch", stdin=content, limits=Limits(output=1000))
    done = git.call(place, "fetch", stdin=content, limits=Limits(output=1000, clip=True))
    assert done.clipped and done.output == content[:1000]


def test_errors_are_one_line_redacted_and_without_control_characters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = _fake(
        tmp_path, monkeypatch, "printf 'fatal: https://u:pw@host/x \\033[31mred\\nmore\\n' >&2; exit 128\n"
    )
    with pytest.raises(GitError) as caught:
        git.run(Place(git_dir=tmp_path), "fetch")
    assert str(caught.value) == "git fetch failed (128): fatal: https://host/x red / more"


def test_only_people_may_be_set_for_a_call(world_less: GitRunner, tmp_path: Path) -> None:
    with pytest.raises(GitError, match="only author and committer"):
        world_less.call(Place(git_dir=tmp_path), "commit-tree", people={"GIT_SSH_COMMAND": "sh"})


def test_a_repository_that_somebody_else_owns_can_be_fetched_from(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("giving files away needs root")
    world = World(tmp_path)
    sha = world.commit({"a": "1"})
    for path in (world.remote, *world.remote.rglob("*")):
        os.chown(path, 12345, 12345)
    world.mirror.fetch(world.access)
    world.mirror.push(world.access, sha, "wip", "")
    assert world.mirror.default_head("main") == sha == world.mirror.remote_head(world.access, "wip")
