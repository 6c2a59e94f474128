"""The disk watch counts what a session adds; removal copes with what an agent can leave."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.errors import SandboxError
from harness.sandbox.disk import DiskWatch, remove_tree

MIB = 2**20


def write(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.write(b"\x01" * size)
        file.flush()
        os.fsync(file.fileno())


def test_what_was_there_before_does_not_count(tmp_path: Path) -> None:
    write(tmp_path / "old", 8 * MIB)
    watch = DiskWatch([tmp_path], 4 * MIB)
    assert not watch.measure()
    write(tmp_path / "new", 3 * MIB)
    assert not watch.measure()


def test_growth_over_several_directories_counts_together(tmp_path: Path) -> None:
    roots = [tmp_path / "a", tmp_path / "b"]
    for root in roots:
        root.mkdir()
    watch = DiskWatch(roots, 4 * MIB)
    write(roots[0] / "x", 3 * MIB)
    write(roots[1] / "x", 3 * MIB)
    assert watch.measure()


def test_hard_links_count_once_and_holes_not_at_all(tmp_path: Path) -> None:
    watch = DiskWatch([tmp_path], 4 * MIB)
    write(tmp_path / "one", 2 * MIB)
    for number in range(5):
        os.link(tmp_path / "one", tmp_path / f"link-{number}")
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    write(tmp_path / "other", MIB)
    assert not watch.measure()


def test_the_walk_is_made_when_the_limit_comes_into_reach(tmp_path: Path) -> None:
    watch = DiskWatch([tmp_path], 4 * MIB)
    assert not watch.exceeded()
    write(tmp_path / "new", 48 * MIB)
    assert watch.exceeded()


def test_names_count_as_well_as_bytes(tmp_path: Path) -> None:
    watch = DiskWatch([tmp_path], MIB)
    for number in range(1100):
        (tmp_path / f"empty-{number}").touch()
    assert watch.measure()


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A directory without a disk behind it: thousands of directories are slow on a busy one."""
    shared = Path("/dev/shm")
    directory = Path(tempfile.mkdtemp(dir=shared if os.access(shared, os.W_OK) else None))
    yield directory
    remove_tree(directory)


@pytest.mark.long
def test_a_path_longer_than_the_kernel_takes_is_over_the_limit(in_memory: Path) -> None:
    watch = DiskWatch([in_memory], 64 * MIB)
    dig(in_memory, 6000)
    assert watch.measure()
    with pytest.raises(SandboxError, match="longer than the kernel takes"):
        DiskWatch([in_memory], MIB)
    remove_tree(in_memory)
    assert not in_memory.exists()


def test_removal_copes_with_unreadable_directories_and_spares_what_links_point_to(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").touch()
    victim = tmp_path / "victim"
    (victim / "shut/inner").mkdir(parents=True)
    (victim / "out").symlink_to(tmp_path / "kept")
    (victim / "shut").chmod(0)
    remove_tree(victim)
    assert not victim.exists() and (tmp_path / "kept/file").exists()


def test_removing_a_link_or_nothing_does_nothing(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    remove_tree(tmp_path / "link")
    remove_tree(tmp_path / "absent")
    assert (tmp_path / "kept").is_dir()


def dig(directory: Path, levels: int) -> None:
    """Make directories within one another, by descriptor: no path could name the last."""
    current = os.open(directory, os.O_DIRECTORY)
    for _ in range(levels):
        try:
            os.mkdir("d", dir_fd=current)
        except OSError as error:
            pytest.skip(f"this file system stops earlier: {error}")
        below = os.open("d", os.O_DIRECTORY, dir_fd=current)
        os.close(current)
        current = below
    os.close(current)
