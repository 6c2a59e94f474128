"""The state table: the moves of the design and no others, always a way to the end, no uncapped loop."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from domain.errors import IllegalTransition
from domain.states import (
    CAPPED_TRIGGERS,
    FIRST_STATE,
    LIVE_STATES,
    TRANSITIONS,
    State,
    Trigger,
    after,
    chart,
    is_legal,
)

DESIGNED = """
QUEUED: claimed RUNNING, deferred QUEUED, blocked BLOCKED, merged DONE, cancelled CANCELLED
RUNNING: published IN_REVIEW, watched WATCHING, retried QUEUED, released QUEUED, blocked BLOCKED
RUNNING: merged DONE, cancelled CANCELLED
WATCHING: ci_settled IN_REVIEW, retried QUEUED, blocked BLOCKED, resumed QUEUED
WATCHING: merged DONE, cancelled CANCELLED
IN_REVIEW: resumed QUEUED, merged DONE, cancelled CANCELLED
BLOCKED: resumed QUEUED, merged DONE, cancelled CANCELLED
CANCELLED: relabelled QUEUED, merged DONE
DONE:
"""

PEOPLES_TRIGGERS = frozenset({Trigger.RESUMED, Trigger.RELABELLED, Trigger.MERGED, Trigger.CANCELLED})
"""Moves that somebody outside asks for; every other one our own code makes by itself."""


def designed_moves() -> set[tuple[State, Trigger, State]]:
    moves = set()
    for line in DESIGNED.strip().splitlines():
        state, _, rest = line.partition(":")
        for move in filter(None, (part.strip() for part in rest.split(","))):
            trigger, target = move.split()
            moves.add((State[state], Trigger(trigger), State[target]))
    return moves


def table_moves() -> set[tuple[State, Trigger, State]]:
    return {(state, trigger, to) for state, moves in TRANSITIONS.items() for trigger, to in moves.items()}


def reachable(start: State, moves: set[tuple[State, Trigger, State]]) -> set[State]:
    """Return the states that at least one of the moves leads to from `start`, in any number of steps."""
    seen: set[State] = set()
    waiting = [start]
    while waiting:
        here = waiting.pop()
        fresh = {to for state, _, to in moves if state is here} - seen
        seen |= fresh
        waiting.extend(fresh)
    return seen


def test_the_table_has_the_moves_of_the_design_and_no_others() -> None:
    assert table_moves() == designed_moves()


def test_every_state_has_a_row_and_every_trigger_a_use() -> None:
    assert set(TRANSITIONS) == set(State)
    assert {trigger for _, trigger, _ in table_moves()} == set(Trigger) - {Trigger.ADMITTED}


def test_every_state_can_be_reached_from_the_first() -> None:
    assert reachable(FIRST_STATE, table_moves()) | {FIRST_STATE} == set(State)


@pytest.mark.parametrize("state", sorted(set(State) - {State.DONE}))
def test_done_is_one_move_away_from_everywhere(state: State) -> None:
    assert after(state, Trigger.MERGED) is State.DONE


@pytest.mark.parametrize("trigger", sorted(Trigger))
def test_nothing_leaves_done(trigger: Trigger) -> None:
    assert not is_legal(State.DONE, trigger)


def test_our_own_code_cannot_go_in_circles_without_a_cap() -> None:
    own_and_uncapped = {
        move for move in table_moves() if move[1] not in PEOPLES_TRIGGERS and move[1] not in CAPPED_TRIGGERS
    }
    circles = {state for state in State if state in reachable(state, own_and_uncapped)}
    assert circles == set()


def test_the_search_for_circles_finds_one() -> None:
    own = {move for move in table_moves() if move[1] not in PEOPLES_TRIGGERS}
    assert {State.QUEUED, State.RUNNING, State.WATCHING} == {s for s in State if s in reachable(s, own)}


def test_no_move_is_both_capped_and_a_persons() -> None:
    assert not CAPPED_TRIGGERS & PEOPLES_TRIGGERS


def test_a_person_can_always_stop_live_work() -> None:
    assert all(after(state, Trigger.CANCELLED) is State.CANCELLED for state in LIVE_STATES)


def test_blocked_and_in_review_leave_only_by_people() -> None:
    for state in (State.BLOCKED, State.IN_REVIEW, State.CANCELLED):
        assert set(TRANSITIONS[state]) <= PEOPLES_TRIGGERS


@given(state=st.sampled_from(State), trigger=st.sampled_from(Trigger))
def test_after_agrees_with_the_table_or_says_why_not(state: State, trigger: Trigger) -> None:
    if is_legal(state, trigger):
        assert after(state, trigger) is TRANSITIONS[state][trigger]
        return
    with pytest.raises(IllegalTransition) as refused:
        after(state, trigger)
    assert str(refused.value) == f"a task that is {state.value} cannot be {trigger.value}"
    assert refused.value.__cause__ is None


def test_the_chart_draws_each_move_exactly_once() -> None:
    header, *arrows = chart().splitlines()
    assert header == "stateDiagram-v2"
    drawn = [tuple(arrow.strip().replace(":", " -->").split(" --> ")) for arrow in arrows]
    expected = {(state.name, to.name, trigger.value) for state, trigger, to in table_moves()}
    assert len(drawn) == len(set(drawn))
    assert set(drawn) == expected | {("[*]", FIRST_STATE.name, Trigger.ADMITTED.value)}


class TaskWalk(RuleBasedStateMachine):
    """A task that is pushed about by any trigger at any time, with the counters that our code keeps."""

    def __init__(self) -> None:
        super().__init__()
        self.state = FIRST_STATE
        self.was_done = False

    @rule(trigger=st.sampled_from(Trigger))
    def push(self, trigger: Trigger) -> None:
        before = self.state
        try:
            self.state = after(before, trigger)
        except IllegalTransition:
            assert (before, trigger) not in {(state, name) for state, name, _ in designed_moves()}
        else:
            assert (before, trigger, self.state) in designed_moves()
        self.was_done = self.was_done or self.state is State.DONE

    @invariant()
    def done_is_for_ever(self) -> None:
        assert not self.was_done or self.state is State.DONE

    @invariant()
    def stands_in_a_known_state(self) -> None:
        assert self.state in TRANSITIONS


TestTaskWalk = TaskWalk.TestCase
TestTaskWalk.settings = settings(max_examples=30)


@given(st.lists(st.sampled_from(sorted(set(Trigger) - PEOPLES_TRIGGERS)), max_size=60))
def test_left_alone_a_task_comes_to_rest(triggers: list[Trigger]) -> None:
    """With each capped move allowed at most twice, our own code makes only a bounded number of moves."""
    state, left, moves = FIRST_STATE, dict.fromkeys(CAPPED_TRIGGERS, 2), 0
    for trigger in triggers:
        if not is_legal(state, trigger) or left.get(trigger, 1) == 0:
            continue
        if trigger in left:
            left[trigger] -= 1
        state, moves = after(state, trigger), moves + 1
    assert moves <= 3 * (2 * len(CAPPED_TRIGGERS) + 1)
