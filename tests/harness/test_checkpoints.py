"""After each step the work is safe: in the mirror and in the transcript, both or neither."""

from __future__ import annotations

from pathlib import Path

import pytest

from domain.claim import Restatement
from domain.text import Redactor
from harness.checkpoints import CHECKPOINT, Checkpoints, Start, last_checkpoint
from harness.transcript import Transcript
from harness.workspace import Workspace
from tests.harness.attempt_world import NOW, MemoryJournal
from tests.harness.git_world import World


class Desk:
    """A worktree, and the checkpoints that are made of it."""

    def __init__(self, root: Path) -> None:
        self.world = World(root)
        self.commit, self.tree = self.world.fetched({"a.txt": "one\n"})
        self.place: Workspace = self.world.workspace(self.commit)
        self.journal = MemoryJournal()
        self.checkpoints = self.anew()

    def anew(self, tree: str = "") -> Checkpoints:
        return Checkpoints(
            journal=self.journal,
            mirror=self.world.mirror,
            worktree=self.place.tree,
            start=Start(self.commit, tree or self.tree, NOW),
            ref="attempts/5",
        )

    def step(self, number: int, **files: str) -> str:
        for name, text in files.items():
            (self.place.tree / name).write_text(text)
        self.checkpoints.stepped(number, {"messages": []})
        return str(self.journal.steps[-1][CHECKPOINT])


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_step_that_changes_nothing_makes_no_commit(desk: Desk) -> None:
    assert desk.step(1) == ""
    assert desk.world.mirror.ref("attempts/5") == ""
    assert last_checkpoint(desk.journal.steps) == ""


def test_a_step_s_work_is_in_the_mirror_when_the_step_counts(desk: Desk) -> None:
    first = desk.step(1, new="x\n")
    again = desk.step(2)
    second = desk.step(3, new="y\n")

    assert first == again != second
    assert desk.world.mirror.ref("attempts/5") == second
    tree = desk.world.mirror.tree_of(second)
    assert desk.world.mirror.read_file(tree, "new") == b"y\n"
    assert desk.world.mirror.log(desk.commit, second)[0].parents == (desk.commit,)


def test_work_that_was_taken_back_is_no_longer_in_the_checkpoint(desk: Desk) -> None:
    desk.step(1, new="x\n")
    (desk.place.tree / "new").unlink()
    back = desk.step(2)
    assert desk.world.mirror.tree_of(back) == desk.tree


def test_what_cannot_be_stored_keeps_the_last_good_state(desk: Desk) -> None:
    good = desk.step(1, new="x\n")
    (desk.place.tree / "leak").symlink_to("/etc/passwd")
    assert desk.step(2, new="y\n") == good
    (desk.place.tree / "leak").unlink()
    assert desk.step(3) != good


def test_after_a_resume_the_first_quiet_step_does_not_lose_the_checkpoint(desk: Desk) -> None:
    kept = desk.step(1, new="x\n")
    desk.checkpoints = desk.anew(desk.world.mirror.tree_of(kept))
    desk.step(2)
    assert last_checkpoint(desk.journal.steps) == kept


def test_a_step_that_is_not_on_record_does_not_count(desk: Desk) -> None:
    """The mirror has the work, the journal failed: the next life starts from the step before."""
    first = desk.step(1, new="x\n")

    class Broken(MemoryJournal):
        def stepped(self, step: int, record: object) -> None:
            raise OSError("the disk is full")

    desk.checkpoints.journal = Broken()
    with pytest.raises(OSError, match="disk is full"):
        desk.checkpoints.stepped(2, {})
    assert last_checkpoint(desk.journal.steps) == first


def test_a_line_that_was_cut_off_takes_its_checkpoint_with_it(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    transcript = Transcript(path, Redactor())
    transcript.append({"step": 1, CHECKPOINT: "a" * 40})
    transcript.append({"step": 2, CHECKPOINT: "b" * 40})
    whole = path.read_bytes()
    second = whole.index(b"\n") + 1

    for end in range(second, len(whole) - 1):
        path.write_bytes(whole[:end])
        assert last_checkpoint(transcript.read()) == "a" * 40
        transcript.append({"step": 2, CHECKPOINT: "c" * 40})
        assert [record["step"] for record in transcript.read()] == [1, 2]
        assert last_checkpoint(transcript.read()) == "c" * 40


def test_a_stop_and_a_restatement_are_passed_on(desk: Desk) -> None:
    said = Restatement(expected="e", actual="a", confidence=1)
    desk.checkpoints.restated(said)
    assert desk.journal.restatement == said
    assert desk.checkpoints.should_stop() is False


def test_a_place_that_a_crash_left_is_swept(desk: Desk) -> None:
    left = desk.place.path
    (desk.place.tree / "deep").mkdir(mode=0o000)
    assert left.name in desk.world.places.sweep()
    assert not left.exists()
