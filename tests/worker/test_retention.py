"""Retention: what is over is packed, forgotten and evicted; what somebody can still go on with is not."""

from __future__ import annotations

import gzip
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from domain.model import Reason
from domain.states import State
from harness.transcript import packed_path
from harness.workspace import KeptMirror
from tests.worker.town import WRITE, Town, caps, plays
from worker.retention import REGRET, REST, Keeping, MirrorKeeper, keep_transcripts

ALL = Keeping(age=timedelta(days=365), most_bytes=2**40)
NOTHING = Keeping(age=timedelta(days=365), most_bytes=0)


def keeper(town: Town, keeping: Keeping = NOTHING, *, least_free: int = 0) -> MirrorKeeper:
    return MirrorKeeper(
        town.workspaces,
        town.queue,
        town.clock,
        keeping,
        least_free_bytes=least_free,
        tidy_every=timedelta(days=7),
    )


def make_room(town: Town, keeping: Keeping = NOTHING, *, least_free: int = 0) -> None:
    for _ in keeper(town, keeping, least_free=least_free).make_room():
        pass


def mirror(town: Town) -> KeptMirror:
    (found,) = town.workspaces.mirrors()
    return found


def to_now(town: Town) -> None:
    """Bring the town's clock to that of the files."""
    town.clock.moment = datetime.now(UTC)


def transcripts(town: Town, keeping: Keeping = ALL, **later: float) -> list[str]:
    to_now(town)
    town.clock.forward(**later)
    for _ in keep_transcripts(town.root / "transcripts", town.queue, town.clock, keeping):
        pass
    kept = {path.name for path in (town.root / "transcripts").iterdir()}
    differences = {name for name in kept if name.endswith(".diff")}
    assert {name.partition(".")[0] for name in differences} <= {
        name.partition(".")[0] for name in kept - differences
    }
    return sorted(kept - differences)


# -- transcripts --------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_transcript_is_packed_some_time_after_its_attempt_and_can_still_be_read(notes: Town) -> None:
    notes.issue("docs")
    loop = notes.loop(plays(WRITE))
    loop.turn()
    path = notes.root / "transcripts" / "attempt-1.jsonl"
    before = path.read_text()

    assert transcripts(notes) == ["attempt-1.jsonl"]
    for _ in range(2):
        assert transcripts(notes, hours=2) == ["attempt-1.jsonl.gz"]

    assert gzip.decompress(packed_path(path).read_bytes()).decode() == before
    assert packed_path(path).stat().st_mode & 0o777 == 0o600


@pytest.mark.long
def test_the_transcript_of_an_attempt_that_goes_on_is_left_alone(notes: Town) -> None:
    notes.issue("docs")
    loop = notes.loop(plays(WRITE, "true stop"))
    loop.shop.bench.sandbox.cues["true stop"] = loop.stop  # type: ignore[attr-defined]  # a Stage
    loop.turn()
    assert notes.attempts[0].outcome is None
    assert transcripts(notes, NOTHING, days=4000) == ["attempt-1.jsonl"]


@pytest.mark.parametrize(
    ("keeping", "left"),
    [
        (ALL, [1, 2, 3, 4]),
        (Keeping(age=timedelta(days=2, hours=12), most_bytes=2**40), [3, 4]),
        (Keeping(age=timedelta(days=365), most_bytes=2500), [3, 4]),
        (NOTHING, []),
    ],
)
def test_transcripts_go_by_age_and_the_oldest_beyond_the_bytes(
    notes: Town, keeping: Keeping, left: list[int]
) -> None:
    directory = notes.root / "transcripts"
    directory.mkdir()
    to_now(notes)
    for number, days in ((1, 4), (2, 3), (3, 2), (4, 1)):
        path = directory / f"attempt-{number}.jsonl.gz"
        path.write_bytes(os.urandom(1000))
        then = (notes.clock.now() - timedelta(days=days)).timestamp()
        os.utime(path, (then, then))
    (directory / "notes.txt").write_text("somebody else's")

    names = transcripts(notes, keeping)

    assert names == [*(f"attempt-{number}.jsonl.gz" for number in left), "notes.txt"]


def test_there_need_be_no_transcripts(notes: Town) -> None:
    assert list(keep_transcripts(Path("/nonexistent"), notes.queue, notes.clock, ALL)) == []


def test_a_disk_without_room_for_packing_keeps_them_plain_and_still_removes_the_old(notes: Town) -> None:
    directory = notes.root / "transcripts"
    directory.mkdir()
    (directory / "attempt-1.jsonl").write_text("{}\n")
    (directory / ".attempt-1.jsonl.gz.new").mkdir()  # packing fails, as if there was no room
    (directory / ".attempt-1.jsonl.gz.new" / "x").mkdir()

    assert "attempt-1.jsonl" in transcripts(notes, hours=REST.seconds // 3600 + 1)
    assert "attempt-1.jsonl" not in transcripts(notes, NOTHING, hours=2)


# -- mirrors ------------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_mirror_is_evicted_once_its_work_is_on_the_forge_and_made_anew_when_needed(notes: Town) -> None:
    issue = notes.issue("docs")
    notes.loop(plays(WRITE)).turn()
    assert notes.stands == (State.IN_REVIEW, None)
    assert mirror(notes).attempts() == {1}

    make_room(notes, ALL)
    assert mirror(notes).attempts() == frozenset()
    make_room(notes)
    assert notes.workspaces.mirrors() == []

    notes.comment(issue, "/fixwright retry\nMore, please.")
    notes.loop(plays("echo more >> README.md")).turn()
    assert notes.stands == (State.IN_REVIEW, None)
    (pull,) = notes.world.pulls(notes.repository.id)
    assert b"more" in notes.world.git.read_file(notes.repository.id, pull.head_branch, "README.md")


@pytest.mark.long
def test_a_mirror_of_a_waiting_task_stays(notes: Town) -> None:
    notes.issue("docs")
    notes.loop(plays(WRITE)).turn()
    notes.issue("docs", title="Another")
    make_room(notes)
    assert len(notes.workspaces.mirrors()) == 1


@pytest.mark.long
def test_work_that_is_nowhere_else_is_never_lost(notes: Town) -> None:
    """The branch was moved by a person, so nothing was pushed: the work is in the mirror alone."""
    issue = notes.issue("docs")
    notes.loop(plays(WRITE, "true"), caps=caps(max_iterations=1)).turn()
    make_room(notes, ALL)
    (branch,) = notes.branches
    notes.comment(issue, "/fixwright resume")

    def push() -> None:
        notes.world.git.push(notes.repository.id, branch, {"by-hand.md": b"1\n"}, by=notes.maintainer)

    loop = notes.loop(plays("true push", "echo more >> README.md"))
    loop.shop.bench.sandbox.cues["true push"] = push  # type: ignore[attr-defined]  # a Stage
    loop.turn()
    assert notes.stands == (State.BLOCKED, Reason.BRANCH_MOVED)

    make_room(notes)
    assert mirror(notes).attempts() == {2}


@pytest.mark.long
def test_an_ended_tasks_work_is_kept_for_a_while(notes: Town) -> None:
    issue = notes.issue("docs")
    loop = notes.loop(plays(WRITE, "true stop"))
    loop.shop.bench.sandbox.cues["true stop"] = loop.stop  # type: ignore[attr-defined]  # a Stage
    loop.turn()
    assert mirror(notes).attempts() == {1}
    notes.comment(issue, "/fixwright cancel")
    notes.loop().shop.desk.clear()
    assert notes.task.state is State.CANCELLED

    make_room(notes)
    assert mirror(notes).attempts() == {1}
    notes.clock.forward(seconds=REGRET.total_seconds())
    make_room(notes, ALL)
    assert mirror(notes).attempts() == frozenset()


@pytest.mark.long
def test_the_longest_unused_mirror_goes_first_and_no_more_than_needed(notes: Town) -> None:
    notes.loop()
    for number, name in enumerate(("one", "two", "three")):
        repository = notes.world.create_repository(f"acme/{name}", files={"a": os.urandom(40_000)})
        made = notes.workspaces.mirror_for(repository)
        made.fetch(notes.loop().shop.forges["local"].clone_access(repository.id))
        os.utime(made.path / "HEAD", (1000 + number % 2, 1000 + number % 2))
    sizes = [kept.bytes() for kept in notes.workspaces.mirrors()]
    names = [kept.path for kept in notes.workspaces.mirrors()]
    notes.clock.moment = datetime.fromtimestamp(2000, UTC)

    make_room(notes, Keeping(age=timedelta(days=1), most_bytes=sum(sizes[1:])))
    assert [kept.path for kept in notes.workspaces.mirrors()] == names[1:]
    make_room(notes, Keeping(age=timedelta(days=1), most_bytes=sum(sizes)))
    assert len(notes.workspaces.mirrors()) == 2
    make_room(notes, Keeping(age=timedelta(seconds=999.5), most_bytes=sum(sizes)))
    assert [kept.path for kept in notes.workspaces.mirrors()] == names[2:]
    make_room(notes, ALL, least_free=2**60)
    assert notes.workspaces.mirrors() == []


@pytest.mark.long
def test_a_mirror_that_cannot_be_looked_into_is_kept_and_stops_nothing(notes: Town) -> None:
    notes.issue("docs")
    notes.loop(plays(WRITE)).turn()
    broken = notes.root / "ground" / "mirrors" / "local-broken.git"
    broken.mkdir()
    (broken / "HEAD").write_text("nonsense")
    os.utime(broken / "HEAD", (1, 1))
    make_room(notes)
    assert [kept.path.name for kept in notes.workspaces.mirrors()] == ["local-broken.git"]


@pytest.mark.long
def test_a_mirror_is_tidied_at_its_time_beside_the_loop(notes: Town) -> None:
    notes.issue("docs")
    notes.loop(plays(WRITE)).turn()
    used = mirror(notes).used_at
    to_now(notes)

    def tidied() -> bool:
        return bool(list(keeper(notes).tidy()))

    assert tidied()
    assert list(mirror(notes).path.glob("objects/pack/*.pack"))
    assert mirror(notes).used_at == used, "being tidied is no use"
    assert not tidied()
    notes.clock.forward(days=8)
    assert tidied()
