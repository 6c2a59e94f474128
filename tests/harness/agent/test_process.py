"""The real child process: what it is given, what it leaves behind, and that it always ends."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from app.demo.scripted_model import Fault, Script, ScriptedModel, bash, submit
from domain.errors import AgentFailure, SandboxError, Stopped
from domain.model import CommandResult, Limit
from harness.agent.process import ChildAgent
from harness.agent.settings import AgentSettings
from tests.harness.agent.conftest import KEY, model_settings
from tests.harness.agent.world import CLAIM, MemoryLedger, ShellSession, Watcher, a_brief, a_meter

DONE = submit(**CLAIM.model_dump())


def make(endpoint: ScriptedModel, home: Path, **settings: object) -> ChildAgent:
    values: dict[str, object] = {"niceness": 0} | settings
    return ChildAgent(
        python=sys.executable,
        home=home,
        model=model_settings(endpoint),
        settings=AgentSettings(**values),  # type: ignore[arg-type]
        network={"NO_PROXY": "127.0.0.1"},
    )


@pytest.fixture
def agent(endpoint: ScriptedModel, tmp_path: Path) -> Iterator[ChildAgent]:
    child = make(endpoint, tmp_path / "home")
    yield child
    child.close()


class Spy(Watcher):
    """Looks at the child while it works."""

    def __init__(self, child: ChildAgent) -> None:
        super().__init__()
        self.child = child
        self.seen: dict[str, bytes] = {}

    def stepped(self, step: int, record: Mapping[str, object]) -> None:
        super().stepped(step, record)
        process = Path(f"/proc/{self.child.pid}")
        names = ("cmdline", "environ", "status") if os.geteuid() == 0 else ("cmdline", "status")
        self.seen = {"environ": b""} | {name: (process / name).read_bytes() for name in names}


def gone(pid: int | None) -> bool:
    return pid is not None and not Path(f"/proc/{pid}").exists()


@pytest.mark.long
def test_a_whole_run_leaves_the_key_nowhere(
    agent: ChildAgent, endpoint: ScriptedModel, session: ShellSession, tmp_path: Path
) -> None:
    endpoint.set_script("scripted", Script(turns=(bash("env; cat calc.py"), DONE)))
    os.environ["MSWEA_COST_TRACKING"] = "ignore_errors"
    spy, ledger = Spy(agent), MemoryLedger()
    agent.prestart()
    pid = agent.pid
    assert pid is not None
    try:
        report = agent.run(a_brief(), session, a_meter(ledger), spy)
    finally:
        del os.environ["MSWEA_COST_TRACKING"]
    assert (report.claim, report.steps) == (CLAIM, 2)
    assert gone(pid)
    assert agent.pid is None
    assert ledger.spent_on_attempt(5) == endpoint.total
    assert KEY.encode() not in spy.seen["cmdline"] + spy.seen["environ"]
    names = {entry.split(b"=")[0] for entry in spy.seen["environ"].split(b"\0") if entry}
    assert b"MSWEA_COST_TRACKING" not in names
    assert os.geteuid() != 0 or {b"PATH", b"HOME", b"NO_PROXY"} < names
    assert KEY not in json.dumps(spy.records)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in written if KEY.encode() in path.read_bytes()]


def impostor(
    endpoint: ScriptedModel, tmp_path: Path, *lines: str, then: str = "cat >&2", **settings: object
) -> ChildAgent:
    """Return an agent whose child is a shell that says these lines: the worker's side alone is tried."""
    shell = tmp_path / "python"
    shell.write_text("#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in lines) + f"exec {then}\n")
    shell.chmod(0o755)
    agent = make(endpoint, tmp_path / "home", **settings)
    agent._python = str(shell)
    return agent


READY = '{"type":"ready"}'
RESERVE = '{"type":"reserve","input_tokens":1000,"wanted_output":100}'
STEPPED = '{"type":"stepped","step":1,"record":{"kind":"step"}}'


def test_a_stop_ends_the_command_the_child_and_books_the_call_in_flight(
    endpoint: ScriptedModel, session: ShellSession, tmp_path: Path
) -> None:
    agent = impostor(endpoint, tmp_path, READY, RESERVE, '{"type":"run","command":"sleep 600"}')
    agent.prestart()
    pid, ledger = agent.pid, MemoryLedger()
    with pytest.raises(Stopped):
        agent.run(a_brief(), session, a_meter(ledger), Watcher(lambda _: session.began.is_set()))
    assert gone(pid)
    assert session.running is not None
    assert session.running.wait(5) == -signal.SIGKILL
    assert not ledger.open
    assert ledger.booked[0][2] == ledger.booked[0][0].amount


@pytest.mark.long
@pytest.mark.parametrize(
    "fault",
    [
        Fault(kind="stall"),
        Fault(kind="trickle"),
        Fault(status=429, headers={"Retry-After": "15"}),
    ],
    ids=["a call that hangs", "a call that trickles", "a wait that was asked for"],
)
def test_a_stop_ends_a_real_child_in_the_middle_of(
    agent: ChildAgent, endpoint: ScriptedModel, session: ShellSession, fault: Fault
) -> None:
    """The call and the wait would take 15 seconds and more; a stop comes through at once."""
    endpoint.set_script("scripted", Script(turns=(bash("ls", fault=fault),)))
    agent.prestart()
    pid, ledger = agent.pid, MemoryLedger()
    with pytest.raises(Stopped):
        agent.run(a_brief(), session, a_meter(ledger), Watcher(lambda _: bool(endpoint.bill)))
    assert gone(pid)
    assert len(endpoint.bill) == 1
    assert not ledger.open
    assert [cost for _, _, cost, _ in ledger.booked] == [held.amount for held, *_ in ledger.booked]


def test_a_stop_ends_a_child_that_waits_for_its_model(
    endpoint: ScriptedModel, session: ShellSession, tmp_path: Path
) -> None:
    agent = impostor(endpoint, tmp_path, READY, RESERVE, '{"type":"note","text":"trying again in 60 s"}')
    agent.prestart()
    pid, ledger = agent.pid, MemoryLedger()
    with pytest.raises(Stopped):
        agent.run(a_brief(), session, a_meter(ledger), Watcher(lambda _: bool(ledger.open)))
    assert gone(pid)
    assert not ledger.open
    assert ledger.booked[0][2] == ledger.booked[0][0].amount


@pytest.mark.long
def test_a_long_wait_for_the_model_is_logged(
    endpoint: ScriptedModel, session: ShellSession, tmp_path: Path
) -> None:
    now = [0.0]
    quiet = "sh -c 'cat >/dev/null; :'"
    agent = impostor(endpoint, tmp_path, READY, RESERVE, then=quiet, wall_seconds=1000.0)
    agent._monotonic = lambda: now[0]
    ledger = MemoryLedger()

    def wait(watcher: Watcher) -> bool:
        now[0] += 35.0 if ledger.open else 0.0
        return now[0] > 140.0

    with capture_logs() as logged, pytest.raises(Stopped):
        agent.run(a_brief(), session, a_meter(ledger), Watcher(wait))
    waits = [line for line in logged if line["event"] == "agent is quiet"]
    assert len(waits) >= 2
    assert waits[-1]["calls"] == 1
    assert waits[-1]["seconds"] > 35


def test_the_wall_clock_ends_a_run_that_waits(
    endpoint: ScriptedModel, session: ShellSession, tmp_path: Path
) -> None:
    now = [0.0]
    agent = impostor(endpoint, tmp_path, READY, STEPPED, wall_seconds=60.0)
    agent._monotonic = lambda: now[0]

    def late(watcher: Watcher) -> bool:
        now[0] = 61.0 if watcher.steps else 0.0
        return False

    report = agent.run(a_brief(), session, a_meter(), Watcher(late))
    assert (report.stopped_by, report.claim, report.steps) == (Limit.WALL_CLOCK, None, 1)
    assert report.stop_detail == "1 minutes (max_minutes) are used up"


def test_the_time_of_earlier_lives_counts(
    endpoint: ScriptedModel, session: ShellSession, tmp_path: Path
) -> None:
    agent = impostor(endpoint, tmp_path, READY, STEPPED, wall_seconds=60.0)
    agent._monotonic = lambda: 0.0

    report = agent.run(a_brief(seconds_used=60.0), session, a_meter(), Watcher())

    assert (report.stopped_by, report.steps) == (Limit.WALL_CLOCK, 0)


def test_a_command_gets_no_more_time_than_is_left(
    endpoint: ScriptedModel, session: ShellSession, tmp_path: Path
) -> None:
    class Noting(ShellSession):
        deadline = 0.0

        def run(self, command: str, deadline_seconds: float) -> CommandResult:
            self.deadline = deadline_seconds
            raise SandboxError("no namespaces here")

    noting = Noting(session.directory)
    agent = impostor(endpoint, tmp_path, READY, '{"type":"run","command":"ls"}', wall_seconds=30.0)
    agent._monotonic = lambda: 0.0
    with pytest.raises(SandboxError):
        agent.run(a_brief(), noting, a_meter(), Watcher())
    assert noting.deadline == 30.0
    assert agent.pid is None


def test_the_death_of_the_child_is_told(
    endpoint: ScriptedModel, session: ShellSession, tmp_path: Path
) -> None:
    agent = impostor(endpoint, tmp_path, READY, STEPPED, then="sh -c 'kill -9 $$'")
    with pytest.raises(AgentFailure, match="was ended by SIGKILL"):
        agent.run(a_brief(), session, a_meter(), Watcher())


def test_a_python_without_the_model_stack_is_told_with_its_complaint(
    endpoint: ScriptedModel, session: ShellSession, tmp_path: Path
) -> None:
    agent = impostor(endpoint, tmp_path, then=f"sh -c 'echo no module named litellm {KEY} >&2; exit 4'")
    with pytest.raises(AgentFailure, match=r"exited with 4: …no module named litellm \[redacted\]"):
        agent.run(a_brief(), session, a_meter(), Watcher())
    agent._python = str(tmp_path / "nothing")
    with pytest.raises(AgentFailure, match="cannot be started"):
        agent.run(a_brief(), session, a_meter(), Watcher())


@pytest.mark.parametrize(
    "lines",
    [
        ["nonsense"],
        ["[]"],
        [STEPPED],
        [READY, '{"type":"settle","reservation":1}'],
        [READY, '{"type":"reserve","input_tokens":-1,"wanted_output":5}'],
        [READY, '{"type":"stepped","step":true,"record":{}}'],
        [READY, '{"type":"publish"}'],
        [READY, '{"type":"failed","kind":"transient","message":"x","retry_after":-1}'],
        [READY, '{"type":"failed","kind":"transient","message":"x","retry_after":1e999}'],
        [READY, '{"type":"done","report":{"claim":{"root_cause":""}}}'],
    ],
)
def test_malformed_messages_end_the_run(
    endpoint: ScriptedModel, session: ShellSession, tmp_path: Path, lines: list[str]
) -> None:
    agent = impostor(endpoint, tmp_path, *lines)
    with pytest.raises(AgentFailure, match="malformed message"):
        agent.run(a_brief(), session, a_meter(), Watcher())


@pytest.mark.long
def test_the_child_ends_with_its_standard_input() -> None:
    root = Path(__file__).parents[3]
    alone = [sys.executable, "-m", "harness.agent.child"]
    assert subprocess.run(alone, cwd=root, stdin=subprocess.DEVNULL, timeout=60, check=False).returncode == 3


WORKER = """
import os, sys
from pathlib import Path
from harness.agent.process import ChildAgent
from harness.agent.settings import AgentSettings, ModelSettings
agent = ChildAgent(python=sys.executable, home=Path(sys.argv[1]), model=ModelSettings(name="openai/x"),
                   settings=AgentSettings(niceness=19))
agent.prestart()
while os.sched_getscheduler(agent.pid) != os.SCHED_IDLE:
    agent._child.receive(0.02)
print(agent.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.long
def test_the_child_gives_way_to_others_keeps_no_rights_and_goes_with_its_worker(tmp_path: Path) -> None:
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(tmp_path / "home")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[3],
    )
    assert worker.stdout is not None
    assert worker.stdin is not None
    pid = int(worker.stdout.readline())
    try:
        assert os.sched_getscheduler(pid) == os.SCHED_IDLE
        assert os.getpriority(os.PRIO_PROCESS, pid) == 19
        status = Path(f"/proc/{pid}/status").read_text()
        sets = re.findall(r"^Cap(?:Inh|Prm|Eff|Amb):\s*(\w+)$", status, re.MULTILINE)
        assert len(sets) == 4 and not any(int(mask, 16) for mask in sets)
        watch = os.pidfd_open(pid)
    finally:
        worker.kill()
        worker.wait()
    wait_for_the_end(watch)
    worker.stdin.close()
    worker.stdout.close()


def wait_for_the_end(watch: int) -> None:
    """Wait until the process behind a pidfd has ended."""
    poll = select.poll()
    poll.register(watch, select.POLLIN)
    assert poll.poll(20_000), "the child outlived its worker"
    os.close(watch)
