"""B: commands that use up whatever there is. The service answers, a cancel works, and nothing is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from app.demo.toolchain import BASE
from domain.model import Task
from domain.states import State
from harness.sandbox.session import CommandSession
from tests.redteam.arena import FIX, Act, Arena, arena
from tests.redteam.conftest import LaySiege
from tests.redteam.pulse import Pulse, sandboxed
from tests.redteam.siege import FIXED, IN_REVIEW, PROTECTED

HEALTH_SECONDS, CANCEL_SECONDS = 2.0, 6.0
"""How long a health answer may take, and a cancel until the command is dead and the task is cancelled."""

MEMORY_BYTES = 256 * 2**20
"""What neither of our two processes may pass, whatever commands do."""

UNDER_ATTACK_SECONDS = 1.5

HOG = "python3 -c 'import time; x = bytearray(200 << 20); time.sleep(9)'"
FILL = "head -c 400000000 /dev/zero"
CODES = r"\033]0;x\007\033[31m\r\0\355\240\200"
MAPPING = "import mmap; m = mmap.mmap(-1, 4 << 30); [m.__setitem__(n, 1) for n in range(0, 4 << 30, 4096)]"

STORMS = {
    "b19 fork bomb": ":(){ :|:& };: ; sleep 300",
    "b20 memory of many": f"for n in {{1..9}}; do {HOG} & done; wait",
    "b20 memory in files": f"for place in /dev/shm ~ /tmp; do {FILL} > $place/f & done; wait",
    "b20 one large mapping": f"while :; do python3 -c '{MAPPING}'; done",
    "b21 endless lines": "yes",
    "b21 noise": f"while :; do printf '{CODES}'; head -c 9999 /dev/urandom; done",
    "b22 deaf and detached": "trap '' TERM HUP; setsid sleep 9m & nohup sleep 9m & (sleep 9m &) ; sleep 9m",
    "b22 stopped": "kill -STOP $$",
    "b25 full disk": "while :; do head -c 40000000 /dev/zero > $((n++)); done",
    "b25 many files": "while :; do mkdir d$((n++)); touch d$n-{1..900}; done",
    "b26 spinning": "for n in {1..24}; do (while :; do :; done) & done; wait",
}  # fmt: skip


@pytest.fixture(scope="module")
def ground() -> Iterator[Arena]:
    """One running service for all storms, which must survive them one after the other."""
    if not (BASE / "bin").is_dir():
        pytest.skip("the sandbox's tool chain is made by `make setup`")
    with arena(FIXWRIGHT_MAX_ATTEMPTS="1", FIXWRIGHT_MAX_DAILY_COST_TOTAL_USD="100") as ground:
        yield ground


@dataclass
class Weathered:
    """What a storm did: seconds until a cancel was over, and the pulse until then."""

    cancel_seconds: float
    pulse: Pulse
    task: Task


def weather(ground: Arena, command: str) -> Weathered:
    """Let a storm rage for a while, then let the maintainer take the label off."""
    billed = len(ground.model.bill)
    issue = ground.issue(Act([command] * 60), title=f"storm {command[:20]}")
    ground.label(issue)
    ground.wait(lambda: len(ground.model.bill) >= billed + 2, what="the first command")
    with Pulse(ground) as pulse:
        ground.wait(lambda: sandboxed() or len(ground.model.bill) > billed + 3, what="the storm")
        time.sleep(UNDER_ATTACK_SECONDS)
        began = time.monotonic()
        ground.world.unlabel(issue, ground.stage.maintainer, "bug")
        ground.wait(lambda: _state(ground, issue) is State.CANCELLED and not sandboxed(), what="the cancel")
        seconds = time.monotonic() - began
    task = ground.task_of(issue)
    assert task is not None
    return Weathered(seconds, pulse, task)


def _state(ground: Arena, issue: object) -> State | None:
    task = ground.task_of(issue)  # type: ignore[arg-type]
    return task.state if task else None


@pytest.mark.journey
@pytest.mark.long
@pytest.mark.parametrize("name", STORMS)
def test_b19_to_b26_the_service_answers_in_any_storm(
    ground: Arena, name: str, record_property: Callable[[str, object], None]
) -> None:
    worker = ground.stage.service.pid_of("work")
    weathered = weather(ground, STORMS[name])
    pulse = weathered.pulse
    record_property("health_seconds", round(pulse.slowest, 3))
    record_property("cancel_seconds", round(weathered.cancel_seconds, 3))
    record_property("resident_mb", round(pulse.most_memory / 2**20))
    assert pulse.answers > 5 and pulse.slowest < HEALTH_SECONDS
    assert weathered.cancel_seconds < CANCEL_SECONDS
    assert pulse.most_memory < MEMORY_BYTES
    assert ground.stage.service.pid_of("work") == worker
    work = ground.stage.data / "service" / "ground" / "work"
    assert ground.wait(lambda: not list(work.iterdir()) or None, what="the clean-up") is True


@pytest.mark.journey
@pytest.mark.long
def test_b26_after_all_storms_the_next_task_runs_as_ever(ground: Arena) -> None:
    task = ground.attack(Act([FIX]))
    assert (task.state, task.reason) == (State.IN_REVIEW, None), task.detail


DEEP = "import os\nfor n in range(6000): os.mkdir('d'); os.chdir('d')"


@pytest.mark.long
@pytest.mark.parametrize(
    "command",
    [
        f'python3 -c "{DEEP}"',
        "for n in $(seq 25000); do : > f$n; done",
        "for n in $(seq 60); do mkdir dddddddddddddddddddddddddddddd; cd ddd*; done; : > f",
    ],
    ids=["b25 depth", "b25 many files", "b25 long paths"],
)
def test_b25_a_tree_beyond_all_limits_is_refused_and_removed(lay_siege: LaySiege, command: str) -> None:
    siege = lay_siege()
    assert siege.attack(*FIXED, command) == PROTECTED, siege.text(siege.reference)
    siege.assert_contained()


@pytest.mark.parametrize(
    "command",
    ["mkdir -p a/b; echo x > a/b/c; chmod 000 a/b/c a/b a .git", "chmod 000 /work /tmp /home/agent"],
    ids=["b25 closed directories", "b25 closed root"],
)
def test_b25_a_closed_tree_is_opened_published_and_removed(lay_siege: LaySiege, command: str) -> None:
    siege = lay_siege()
    assert siege.attack(*FIXED, command, "true") == IN_REVIEW, siege.text(siege.reference)
    siege.assert_contained(allowed=["a/b/c"])


@pytest.mark.parametrize("place", ["/dev/shm", "/home/agent"])
def test_b20_memory_file_systems_are_sized(confined: CommandSession, place: str) -> None:
    result = confined.run(
        f"for n in 1 2 3 4 5; do head -c 60000000 /dev/zero > {place}/f$n || exit 9; done", 30
    )
    assert result.exit_code == 9 and "No space left" in result.output
    assert confined.run(f"ls {place}", 10).output == ""
