"""A disk that is really full, under each thing that the worker writes: it waits, says so, and goes on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from domain.errors import StoreUnavailable
from domain.model import Issue, IssueRef, Outcome, Reason
from domain.policy import MAX_RECOVERIES
from domain.states import State
from harness.git import Mirror
from harness.workspace import remove_tree
from providers.local.faulty import FaultyForge
from providers.local.forge import LocalForge
from tests.small_disk import SmallDisk, small_disk
from tests.worker.conftest import BuildTown
from tests.worker.town import NOTES, WRITE, Stage, Town, plays

Mount = Callable[..., SmallDisk]
WORDS = "The operator makes room in the data directory"


@pytest.fixture
def mount() -> Iterator[Mount]:
    with ExitStack() as stack:
        yield lambda *size: stack.enter_context(small_disk(*size))


def waits(town: Town) -> None:
    """The task waits, unharmed, and the issue says for what."""
    assert town.stands == (State.QUEUED, None)
    assert town.outcomes in ([None], [])
    assert town.task.attempts == 0 and town.task.not_before is not None
    assert WORDS in town.said(town.task.issue)[0].body


def goes_on(town: Town) -> None:
    """There is room again: the task is finished as if nothing had been."""
    town.clock.forward(minutes=10)
    town.loop(plays(WRITE), life="two").turn()
    assert town.stands == (State.IN_REVIEW, None)
    assert len(town.world.pulls(town.repository.id)) == 1
    assert town.outcomes == [Outcome.VERIFIED]


@pytest.mark.long
def test_a_transcript_without_room_stops_the_attempt_at_its_last_step(notes: Town, mount: Mount) -> None:
    notes.issue("docs")
    disk = mount(notes.root / "transcripts", 1)
    stage = Stage({"true fill": lambda: disk.fill(leave=4096)})
    long_output = "true fill; head -c 9000 /dev/zero | tr '\\0' x"

    notes.loop(plays(WRITE, long_output), sandbox=stage).turn()

    waits(notes)
    lines = notes.transcript().splitlines()
    assert lines and all(line.endswith("}") for line in lines), "no line is cut"
    disk.make_room()
    goes_on(notes)


@pytest.mark.long
def test_a_fetch_that_finds_no_room_leaves_nothing_and_is_made_again(build: BuildTown, mount: Mount) -> None:
    town = build({**NOTES, "big.bin": os.urandom(3 * 2**20).hex()[: 3 * 2**20]})
    town.issue("docs")
    town.loop(plays(WRITE))
    disk = mount(town.root / "ground", 40)
    loop = town.loop(plays(WRITE))
    disk.fill(leave=2**20)
    before = disk.free()

    for _ in range(2):
        loop.turn()
        waits(town)
        town.clock.forward(minutes=10)

    assert disk.free() > before - 400_000, "what could not be finished is not left behind"
    disk.make_room()
    goes_on(town)


@pytest.mark.long
def test_a_worktree_that_finds_no_room_is_given_up_and_made_again(build: BuildTown, mount: Mount) -> None:
    town = build({**NOTES, "big.txt": "a line of text\n" * 200_000})
    town.issue("docs")
    town.loop(plays(WRITE))
    disk = mount(town.root / "ground" / "work", 8)
    disk.fill(leave=2**20)

    town.loop(plays(WRITE)).turn()

    waits(town)
    assert disk.free() > 2**20 - 200_000
    disk.make_room()
    goes_on(town)


class FillingForge(FaultyForge):
    """The forge; once armed, the disk is full when it is next asked about the issue."""

    def __init__(self, town: Town, disk: SmallDisk) -> None:
        super().__init__(LocalForge(town.root / "forge"))
        self.disk, self.is_armed = disk, False

    def arm(self) -> None:
        self.is_armed = True

    def issue(self, issue: IssueRef) -> Issue:
        if self.is_armed:
            self.is_armed = False
            self.disk.fill()
        return super().issue(issue)


@pytest.mark.long
def test_a_publication_that_finds_no_room_is_made_later(notes: Town, mount: Mount) -> None:
    notes.issue("docs")
    notes.loop(plays(WRITE))
    disk = mount(notes.root / "ground", 8)
    forge = FillingForge(notes, disk)

    notes.loop(plays(WRITE, "true now"), sandbox=Stage({"true now": forge.arm}), forge=forge).turn()

    waits(notes)
    assert not notes.branches
    disk.make_room()
    goes_on(notes)


@pytest.mark.long
def test_a_disk_without_the_least_room_begins_nothing(notes: Town) -> None:
    notes.issue("docs")
    loop = notes.loop(plays(WRITE))
    loop.shop = replace(loop.shop, least_free_bytes=2**60)
    loop.turn()
    waits(notes)
    assert "MiB are free" in notes.said(notes.task.issue)[0].body
    goes_on(notes)


@pytest.mark.long
def test_a_disk_that_stays_full_blocks_the_task_with_words_for_the_operator(notes: Town) -> None:
    issue = notes.issue("docs")
    loop = notes.loop(plays(WRITE))
    loop.shop = replace(loop.shop, least_free_bytes=2**60)
    for _ in range(MAX_RECOVERIES + 1):
        assert loop.turn()
        notes.clock.forward(hours=1)
    assert notes.stands == (State.BLOCKED, Reason.ENVIRONMENT)
    assert WORDS in notes.said(issue)[-1].body

    notes.comment(issue, "/fixwright resume")
    goes_on(notes)


@pytest.mark.long
def test_queue_writes_that_find_no_room_change_nothing_and_the_worker_waits(
    build: BuildTown, mount: Mount, tmp_path: Path
) -> None:
    town = build(NOTES)
    town.issue("docs")
    town.close()
    disk = mount(tmp_path / "small", 4)
    here = tmp_path / "small" / "fixwright.db"
    for suffix in ("", "-wal"):
        old = town.database_path.with_name(town.database_path.name + suffix)
        if old.exists():
            here.with_name(here.name + suffix).write_bytes(old.read_bytes())
    town.database_path = here
    town.reopen()
    loop = town.loop(plays(WRITE))
    town.database.checkpoint()
    disk.fill()

    with pytest.raises(StoreUnavailable, match="full"):
        while True:  # until the log's pages that are there already are used up
            loop.turn()
            town.issue("docs", title="x" * 200)
    state = town.queue.tasks()
    with pytest.raises(StoreUnavailable):
        town.issue("docs", body="x" * 60_000)
    assert town.queue.tasks() == state

    disk.make_room()
    town.clock.forward(minutes=10)
    town.deliver()
    while loop.turn():
        town.clock.forward(minutes=10)
    assert {task.state for task in town.queue.tasks()} == {State.IN_REVIEW}
    with town.database.read() as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def test_a_tree_is_removed_from_a_disk_without_room_for_a_directory(tmp_path: Path, mount: Mount) -> None:
    disk = mount(tmp_path / "small", 1, 30)
    tree = disk.path / "tree" / "deep"
    tree.mkdir(parents=True)
    (tree / "file").write_bytes(b"x" * 50_000)
    (tree / "link").symlink_to("/etc/passwd")
    with pytest.raises(OSError, match="No space"):
        for number in range(40):
            (disk.path / f"empty-{number}").mkdir()

    remove_tree(disk.path / "tree")

    assert not (disk.path / "tree").exists() and Path("/etc/passwd").exists()


def test_what_a_killed_fetch_left_goes_with_the_next(notes: Town) -> None:
    notes.issue("docs")
    loop = notes.loop(plays(WRITE))
    made = notes.workspaces.mirror_for(notes.repository)
    left = made.path / "objects" / "pack" / "tmp_pack_abc"
    left.write_bytes(b"half")
    Mirror(made.path, made.runner).fetch(loop.shop.forges["local"].clone_access(notes.repository.id))
    assert not left.exists()
