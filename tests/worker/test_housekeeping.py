"""Housekeeping goes on in bits: within its budget, chore after chore, and past the ones that fail."""

from __future__ import annotations

from collections.abc import Callable

from domain.errors import ForgeUnavailable
from tests.store.makers import SetClock
from worker.housekeeping import Chore, Housekeeping, Steps


def chore(name: str, steps: Callable[[], Steps], every: float = 60.0) -> Chore:
    return Chore(name=name, every_seconds=every, steps=steps)


def test_every_chore_is_done_at_start_and_then_when_it_is_due() -> None:
    clock, done = SetClock(), []

    def noting(name: str) -> Callable[[], Steps]:
        def steps() -> Steps:
            done.append(name)
            yield 0.0

        return steps

    house = Housekeeping([chore("a", noting("a"), 60), chore("b", noting("b"), 300)], clock)

    assert house.keep() == 60.0
    assert done == ["a", "b"]
    assert house.keep() == 60.0
    clock.forward(seconds=61)
    assert house.keep() == 60.0
    assert done == ["a", "b", "a"]


def test_a_long_chore_is_cut_into_bits_of_the_budget_and_gone_on_with() -> None:
    clock, done = SetClock(), []

    def steps() -> Steps:
        for number in range(5):
            clock.forward(seconds=0.4)
            done.append(number)
            yield 0.0

    house = Housekeeping([chore("long", steps)], clock, budget_seconds=1.0)

    assert house.keep() == 0.0
    assert done == [0, 1, 2]
    assert house.keep() > 0.0
    assert done == [0, 1, 2, 3, 4]


def test_a_chore_that_waits_lets_the_loop_go_meanwhile() -> None:
    done = []

    def steps() -> Steps:
        yield 0.25
        done.append("went on")
        yield 0.0

    house = Housekeeping([chore("waits", steps)], SetClock())

    assert house.keep() == 0.25
    assert done == []
    house.keep()
    assert done == ["went on"]


def test_a_chore_that_fails_keeps_nobody_from_theirs() -> None:
    clock, done = SetClock(), []

    def unlucky() -> Steps:
        yield 0.0
        raise ForgeUnavailable("asleep")

    def faulty() -> Steps:
        raise ZeroDivisionError
        yield 0.0

    def fine() -> Steps:
        done.append("fine")
        yield 0.0

    house = Housekeeping([chore("unlucky", unlucky), chore("faulty", faulty), chore("fine", fine)], clock)

    assert house.keep() == 60.0
    assert done == ["fine"]


def test_a_house_without_chores_waits_for_nothing() -> None:
    assert Housekeeping([], SetClock()).keep() == float("inf")
