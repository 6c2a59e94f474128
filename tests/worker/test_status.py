"""The one status comment: what it says at each turn, when it is written, and that there is never a second."""

from __future__ import annotations

import pytest

from domain.model import IssueRef, Outcome, Permission
from domain.repo_config import RepoConfig
from domain.states import State
from providers.local.faulty import Fault, FaultyForge
from providers.local.forge import LocalForge
from tests.worker.town import CLEAR, FIX, SHOW, WRITE, WRONG_FIX, Stage, Town, caps, plays
from worker.journal import hypothesis_in
from worker.status_board import StatusBoard
from worker.status_desk import StatusDesk
from worker.status_words import PhaseLine, Round, lasting, with_current
from worker.turns import ordinal
from worker.voice import Voice
from worker.waiting_room import AGAIN, BEGINS_SOON


def statuses(town: Town, issue: IssueRef) -> list[str]:
    return [each.body for each in town.said(issue) if "<!-- fixwright:status-" in each.body]


def status(town: Town, issue: IssueRef) -> str:
    (only,) = statuses(town, issue)
    return only


class Written:
    """The embedded forge, and each text of a status comment in the order in which it was written."""

    def __init__(self, town: Town) -> None:
        self.forge, self.texts = LocalForge(town.root / "forge"), list[str]()

    def __getattr__(self, name: str) -> object:
        return getattr(self.forge, name)

    def ensure_comment(self, issue: IssueRef, topic: str, body: str) -> object:
        if topic.startswith("status-"):
            self.texts.append(body)
        return self.forge.ensure_comment(issue, topic, body)


def board_of(town: Town, forge: object, every_seconds: float = 20) -> StatusBoard:
    task = town.queue.claim("worker/one", 60)
    assert task is not None
    desk = StatusDesk(queue=town.queue, ledger=town.ledger, caps=caps(), pages="https://fixwright.example/")
    voice = Voice(forge, town.secrets)  # type: ignore[arg-type]
    board = StatusBoard(task, desk, voice, town.clock, every_seconds=every_seconds)
    board.begin(town.queue.begin_attempt(task))
    return board


# -- pure ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0.0 s"),
        (2.14, "2.1 s"),
        (59.94, "59.9 s"),
        (59.99, "1 min 00 s"),
        (3599.4, "59 min 59 s"),
        (3600, "1 h 00 min"),
    ],
)
def test_a_stretch_of_time_is_written_for_people(seconds: float, said: str) -> None:
    assert lasting(seconds) == said


def test_a_place_is_written_as_english_has_it() -> None:
    written = [ordinal(number) for number in (1, 2, 3, 4, 11, 12, 13, 21, 102, 111)]
    assert written == ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "111th"]


def test_an_attempt_is_counted_from_the_last_request() -> None:
    assert Round(number=1, place=1, most=2).in_words == "attempt 1 of at most 2"
    assert (
        Round(number=4, place=1, most=2).in_words
        == "attempt 4, number 1 of at most 2 since this was last asked for"
    )
    assert Round(number=4, place=1).in_words == "attempt 4"


def test_what_is_to_come_begins_after_the_furthest_phase() -> None:
    names = [line.name for line in with_current([], PhaseLine(name="set-up"))]
    assert names[:3] == ["set-up", "prepare", "baseline"]
    verifying = with_current([PhaseLine(name="prepare"), PhaseLine(name="agent")], PhaseLine(name="verify"))
    assert [line.name for line in verifying] == ["prepare", "agent", "verify", "publish"]


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("Hypothesis: the cache keeps old rows.", "the cache keeps old rows."),
        ("Let me look.\n**Hypothesis:** a `round()`\nMore.\nhypothesis: an off by one", "an off by one"),
        ("My hypothesis is weak: no.", ""),
        ("Hypothesis:\n\n", ""),
    ],
)
def test_a_hypothesis_is_read_from_what_the_model_says(said: str, found: str) -> None:
    record = {
        "messages": [{"role": "assistant", "content": said}, {"role": "tool", "content": "Hypothesis: x"}]
    }
    assert hypothesis_in(record) == found
    assert hypothesis_in({"messages": [{"role": "assistant", "content": None}, 3]}) == ""
    assert hypothesis_in({}) == ""


# -- while it is worked on ----------------------------------------------------------------------------


def test_a_change_is_written_once_the_last_writing_is_long_enough_ago(notes: Town) -> None:
    issue, forge = notes.issue("docs"), Written(notes)
    board = board_of(notes, forge)
    for phase in ("prepare", "baseline", "agent"):
        board.began(phase)
        board.tick()
    assert len(forge.texts) == 1 and "prepare: not yet" in forge.texts[0]

    notes.clock.forward(seconds=20)
    board.tick()
    board.tick()
    assert len(forge.texts) == 2 and "agent: under way since" in forge.texts[1]
    assert "https://fixwright.example/console/tasks/" in status(notes, issue)


def test_nothing_is_written_where_nothing_has_changed_nor_after_the_end(notes: Town) -> None:
    notes.issue("docs")
    forge = Written(notes)
    board = board_of(notes, forge)
    notes.clock.forward(seconds=60)
    board.tick()
    board.thinks("the cache")
    board.rest()
    notes.clock.forward(seconds=60)
    board.tick()
    assert len(forge.texts) == 1


def test_the_hypothesis_is_shown_as_the_agent_s_word_and_does_nothing(notes: Town) -> None:
    issue = notes.issue("docs")
    board = board_of(notes, LocalForge(notes.root / "forge"))
    board.thinks("the `cache` is stale, @everyone\n# fixes #1")
    notes.clock.forward(seconds=20)
    board.tick()
    said = status(notes, issue)
    assert "Hypothesis, in the agent's words, not verified: the `cache` is stale" in said
    assert "@everyone" not in said and "fixes #1" not in said and "\n# " not in said


def test_a_forge_that_is_away_is_asked_again_after_a_while_and_not_at_each_beat(notes: Town) -> None:
    notes.issue("docs")
    faulty = FaultyForge(
        LocalForge(notes.root / "forge"), [Fault(method="ensure_comment"), Fault(method="ensure_comment")]
    )
    board = board_of(notes, faulty)
    for _ in range(50):
        board.tick()
    notes.clock.forward(seconds=20)
    board.tick()
    notes.clock.forward(seconds=20)
    board.tick()
    (task,) = notes.queue.tasks()
    assert "Working on it" in status(notes, task.issue)


def test_the_repository_s_own_limits_count_for_what_is_said_to_be_left(notes: Town) -> None:
    issue = notes.issue("docs")
    board = board_of(notes, LocalForge(notes.root / "forge"))
    board.follow("This follows the file.", RepoConfig(max_cost_per_task_usd=1, max_attempts=1))
    assert "(attempt 1 of at most 1, at most $1.00)" in status(notes, issue)
    assert "This attempt has $1.00 left" in status(notes, issue)


def test_the_agent_s_phase_is_shown_while_it_works_and_all_of_them_at_the_end(notes: Town) -> None:
    issue, stage, seen = notes.issue("docs"), Stage(), list[str]()
    loop = notes.loop(plays("echo now", WRITE, said=CLEAR), sandbox=stage)
    room = loop.shop.waiting

    def look() -> None:
        notes.clock.forward(seconds=60)

    stage.cues["echo now"] = look
    assert room is not None
    loop.turn()
    seen.append(status(notes, issue))
    assert notes.stands == (State.IN_REVIEW, None), notes.text(issue)
    for phase in ("prepare", "baseline", "localize", "agent", "check", "verify", "publish"):
        assert f"- [x] {phase}: began " in seen[0]
    assert "took 1 min 00 s" in seen[0] and "[ ]" not in seen[0]
    assert "Next: a maintainer reviews it." in seen[0]


# -- at rest ------------------------------------------------------------------------------------------


@pytest.mark.long
def test_an_attempt_that_is_not_accepted_says_why_and_that_another_one_comes(calc: Town) -> None:
    issue, forge = calc.issue(), Written(calc)
    loop = calc.loop(plays(SHOW, WRONG_FIX), plays(SHOW, FIX), forge=forge)  # type: ignore[arg-type]
    loop.turn()
    assert calc.outcomes == [Outcome.UNVERIFIED]
    said = status(calc, issue)
    assert "Attempt 1 was not accepted; I try again." in said and "Exact commands" in said
    assert "**Waiting for its turn:** next in the queue." in said
    loop.turn()
    assert "**In review:**" in status(calc, issue)
    assert any("(attempt 2 of at most 2" in text for text in forge.texts)


@pytest.mark.parametrize("state", [State.CANCELLED, State.BLOCKED])
def test_every_end_says_who_is_next_and_what_is_left(notes: Town, state: State) -> None:
    issue = notes.issue("docs")
    if state is State.CANCELLED:
        notes.comment(issue, "/fixwright cancel")
        notes.loop(plays(WRITE)).turn()
    else:
        notes.loop(plays("true")).turn()
    assert notes.task.state is state
    said = status(notes, issue)
    assert "\n\nNext: " in said and "This issue has $" in said
    assert ("**Stopped, as asked.**" in said) == (state is State.CANCELLED)


def test_a_person_s_edit_of_the_status_is_written_over_and_no_second_one_appears(notes: Town) -> None:
    issue = notes.issue("docs")
    loop = notes.loop(plays(WRITE))
    loop.turn()
    (task,) = notes.queue.tasks()
    for _ in range(3):
        assert loop.shop.notices.post(task)
    assert len(statuses(notes, issue)) == 1


# -- while it waits -----------------------------------------------------------------------------------


def waiting(town: Town, count: int) -> list[IssueRef]:
    issues = [town.issue("docs", title=f"Issue {number}", body=f"Text {number}") for number in range(count)]
    town.clock.forward(seconds=BEGINS_SOON.total_seconds() + 1)
    return issues


def test_those_who_wait_are_told_their_place_a_few_at_a_time(notes: Town) -> None:
    issues = waiting(notes, 5)
    room = notes.loop(plays(WRITE)).shop.waiting
    assert room is not None
    list(room.steps())
    assert [len(statuses(notes, issue)) for issue in issues] == [1, 1, 1, 0, 0]
    assert "**Waiting for its turn:** 2nd of 5 in the queue." in status(notes, issues[1])
    list(room.steps())
    assert "5th of 5" in status(notes, issues[4])


def test_a_place_that_changes_is_written_anew_after_a_while(notes: Town) -> None:
    issues = waiting(notes, 3)
    loop = notes.loop(plays(WRITE))
    room = loop.shop.waiting
    assert room is not None
    list(room.steps())
    loop.turn()
    list(room.steps())
    assert "2nd of 3" in status(notes, issues[1])
    notes.clock.forward(seconds=AGAIN.total_seconds())
    list(room.steps())
    assert "next in the queue" in status(notes, issues[1]) and "2nd of 2" in status(notes, issues[2])


def test_nothing_is_said_where_it_begins_soon_or_nobody_may_ask_for_it(notes: Town) -> None:
    fresh = notes.issue("docs")
    room = notes.loop(plays(WRITE)).shop.waiting
    assert room is not None
    list(room.steps())
    assert statuses(notes, fresh) == []
    notes.world.grant(notes.repository.id, notes.maintainer, Permission.READ)
    notes.clock.forward(seconds=60)
    list(room.steps())
    assert statuses(notes, fresh) == []


def test_a_forge_that_was_away_is_told_later(notes: Town) -> None:
    issues = waiting(notes, 2)
    away = FaultyForge(LocalForge(notes.root / "forge"), [Fault(method="ensure_comment", times=2)])
    room = notes.loop(plays(WRITE), forge=away).shop.waiting
    assert room is not None
    list(room.steps())
    assert [statuses(notes, issue) for issue in issues] == [[], []]
    list(room.steps())
    assert statuses(notes, issues[0]) == [], "not at once"
    notes.clock.forward(seconds=AGAIN.total_seconds())
    list(room.steps())
    assert "2nd of 2" in status(notes, issues[1])


def test_a_round_is_made_only_now_and_then(notes: Town) -> None:
    issues = waiting(notes, 4)
    room = notes.loop(plays(WRITE)).shop.waiting
    assert room is not None
    room.tick()
    room.tick()
    assert statuses(notes, issues[3]) == []
    notes.clock.forward(seconds=16)
    room.tick()
    assert "4th of 4" in status(notes, issues[3])


def test_a_task_that_waits_for_a_later_day_says_until_when(notes: Town) -> None:
    issue = notes.issue("docs")
    loop = notes.loop(plays(WRITE), caps=caps(max_daily_cost_usd=0))
    loop.turn()
    assert notes.task.not_before is not None, notes.text(issue)
    said = status(notes, issue)
    assert f"**Waiting until {notes.task.not_before:%Y-%m-%d %H:%M} UTC.**" in said
    assert "A daily budget is used up" in said
