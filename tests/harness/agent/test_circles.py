"""Going in circles is noticed; working is not taken for it."""

from __future__ import annotations

from harness.agent.circles import Circles


def watch(pairs: list[tuple[str, str]]) -> list[str]:
    circles = Circles(repeats=4, alternations=6)
    return [circles.see(command, output) for command, output in pairs]


def test_the_same_four_times_is_nudged_and_four_more_stop() -> None:
    assert watch([("ls", "a")] * 8) == ["", "", "", "nudge", "", "", "", "stop"]


def test_two_in_turn_six_times_is_nudged_and_six_more_stop() -> None:
    seen = watch([("edit a", "ok"), ("edit b", "ok")] * 12)
    assert [place for place, said in enumerate(seen) if said] == [11, 23]
    assert (seen[11], seen[23]) == ("nudge", "stop")


def test_another_output_is_progress() -> None:
    assert not any(watch([("pytest", f"{n} failed") for n in range(20)]))
    assert not any(watch([("ls", "a"), ("ls", "a"), ("ls", "a"), ("edit", "ok")] * 5))


def test_durations_and_addresses_make_no_difference() -> None:
    pairs = [("pytest", f"1 failed in 0.{n}2s <object at 0x7f3a{n}c01d2>") for n in range(4)]
    assert watch(pairs)[-1] == "nudge"
    assert not any(watch([("pytest", f"{n} failed in 1.0s") for n in range(4)]))
