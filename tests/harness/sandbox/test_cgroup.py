"""Control groups are found where they can be made, used, and cleared away."""

from __future__ import annotations

import os
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from domain.ports import SandboxPolicy
from harness.sandbox.bubblewrap import BubblewrapSandbox
from harness.sandbox.cgroup import Delegation, find_delegation

MIB = 2**20


@pytest.fixture
def delegation() -> Delegation:
    found = find_delegation()
    if found is None:
        pytest.skip("no control group can be made here")
    return found


def wanted(tmp_path: Path) -> SandboxPolicy:
    return SandboxPolicy(writable=tmp_path, scratch=tmp_path, memory_bytes=64 * MIB)


def test_a_group_takes_a_process_kills_it_and_goes(delegation: Delegation, tmp_path: Path) -> None:
    group = delegation.make_group(wanted(tmp_path))
    assert group is not None
    with subprocess.Popen(["/bin/sleep", "300"]) as process:
        group.admit(process.pid)
        for directory in group.directories.values():
            assert str(process.pid) in (directory / "cgroup.procs").read_text()
        group.kill()
    assert process.returncode == -9 and group.memory_kills() == 0
    group.close()
    assert not any(directory.exists() for directory in group.directories.values())


def test_a_session_leaves_no_group(delegation: Delegation, policy, uid: int | None) -> None:
    with closing(BubblewrapSandbox(uid=uid, nice=False).open(policy())) as session:
        session.run("true", 10)
        assert any(list(parent.glob(f"fixwright-{os.getpid()}-*")) for parent in delegation.parents.values())
    assert not any(list(parent.glob(f"fixwright-{os.getpid()}-*")) for parent in delegation.parents.values())


@pytest.mark.long
def test_without_groups_memory_is_watched_all_the_same(policy, uid: int | None) -> None:
    sandbox = BubblewrapSandbox(uid=uid, nice=False, cgroups=False)
    hog = "python3 -c 'import time; kept = bytearray(40 << 20); time.sleep(60)'"
    with closing(sandbox.open(policy(memory_bytes=96 * MIB))) as session:
        assert session.run(f"{hog} & {hog} & {hog} & {hog} & wait", 50).killed == "memory"


def lay_out(tmp_path: Path, *, kind: str, controllers: str) -> tuple[Path, Path]:
    """Write what /proc would say, for one mount of control groups; return the two files."""
    mounts, own = tmp_path / "mounts", tmp_path / "own"
    options = "rw" if kind == "cgroup2" else f"rw,{controllers}"
    mounts.write_text(f"proc /proc proc rw 0 0\nnone {tmp_path}/groups {kind} {options} 0 0\n")
    own.write_text("0::/service\n" if kind == "cgroup2" else f"4:{controllers}:/service\n")
    (tmp_path / "groups/service").mkdir(parents=True)
    for group in ("groups", "groups/service"):
        (tmp_path / group / "cgroup.procs").touch()
    return mounts, own


def test_version_2_is_used_where_its_controllers_are_on(tmp_path: Path) -> None:
    mounts, own = lay_out(tmp_path, kind="cgroup2", controllers="")
    (tmp_path / "groups/service/cgroup.subtree_control").write_text("cpu io memory pids\n")
    found = find_delegation(mounts, own)
    assert found is not None and str(found) == "cgroup v2 (memory, pids, cpu)"
    assert set(found.parents.values()) == {tmp_path / "groups/service"}


def test_a_delegated_group_is_preferred_to_our_own(tmp_path: Path) -> None:
    mounts, own = lay_out(tmp_path, kind="cgroup2", controllers="")
    for name in ("service", "fixwright"):
        (tmp_path / "groups" / name).mkdir(exist_ok=True)
        (tmp_path / "groups" / name / "cgroup.subtree_control").write_text("cpu memory pids\n")
    found = find_delegation(mounts, own)
    assert found is not None and found.parents["memory"] == tmp_path / "groups/fixwright"


@pytest.mark.parametrize("others", [[], [1]])
def test_a_worker_that_is_alone_in_its_group_steps_aside(tmp_path: Path, others: list[int]) -> None:
    """As systemd's Delegate= leaves it. What the kernel says to that is not shown by these files."""
    mounts, own = lay_out(tmp_path, kind="cgroup2", controllers="")
    service = tmp_path / "groups/service"
    (service / "cgroup.procs").write_text("".join(f"{pid}\n" for pid in (os.getpid(), *others)))
    found = find_delegation(mounts, own)
    assert found is None
    moved = service / "worker/cgroup.procs"
    assert (moved.read_text() == str(os.getpid())) if not others else not moved.exists()


def test_a_worker_that_has_stepped_aside_uses_the_group_above(tmp_path: Path) -> None:
    mounts, own = lay_out(tmp_path, kind="cgroup2", controllers="")
    service = tmp_path / "groups/service"
    own.write_text("0::/service/worker\n")
    (service / "worker").mkdir()
    (service / "cgroup.subtree_control").write_text("cpu memory pids\n")
    found = find_delegation(mounts, own)
    assert found is not None and found.parents["memory"] == service


def test_a_group_that_nothing_can_be_moved_into_is_not_used(tmp_path: Path) -> None:
    mounts, own = lay_out(tmp_path, kind="cgroup2", controllers="")
    (tmp_path / "groups/service/cgroup.subtree_control").write_text("cpu io memory pids\n")
    (tmp_path / "groups/service/cgroup.procs").unlink()
    assert find_delegation(mounts, own) is None


def test_version_1_is_used_with_what_it_has(tmp_path: Path) -> None:
    mounts, own = lay_out(tmp_path, kind="cgroup", controllers="memory")
    found = find_delegation(mounts, own)
    assert found is not None and str(found) == "cgroup v1 (memory)"


def test_without_the_memory_controller_there_is_no_use(tmp_path: Path) -> None:
    mounts, own = lay_out(tmp_path, kind="cgroup", controllers="cpu")
    assert find_delegation(mounts, own) is None


def test_groups_of_dead_workers_are_cleared_away(tmp_path: Path) -> None:
    mounts, own = lay_out(tmp_path, kind="cgroup", controllers="memory")
    service = tmp_path / "groups/service"
    for name in ("fixwright-4999999-ab", f"fixwright-{os.getpid()}-cd", "other"):
        (service / name).mkdir()
    find_delegation(mounts, own)
    assert sorted(path.name for path in service.iterdir() if path.is_dir()) == [
        f"fixwright-{os.getpid()}-cd",
        "other",
    ]
