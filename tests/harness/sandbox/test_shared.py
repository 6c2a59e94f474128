"""The suite of the Sandbox port: what every back end must do, isolated or not."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from domain.errors import SandboxError
from harness.sandbox.session import CommandSession

Opener = Callable[..., CommandSession]
Survivors = Callable[[str], list[str]]
MIB = 2**20


def test_self_test_passes(back_end) -> None:
    back_end.self_test()


def test_output_of_both_streams_and_exit_status(session: CommandSession) -> None:
    result = session.run("echo out; echo err >&2; exit 3", 10)
    assert (result.exit_code, result.output, result.killed) == (3, "out\nerr\n", "")
    assert result.bytes_seen == 8 and not result.timed_out


@pytest.mark.parametrize(
    ("command", "status"),
    [("true", 0), ("no-such-program", 127), ("kill -SEGV $$", 139), ("kill -9 $$", 137)],
)
def test_exit_status_is_the_shells(session: CommandSession, command: str, status: int) -> None:
    assert session.run(command, 10).exit_code == status


def test_commands_share_the_worktree_and_the_scratch_space(session: CommandSession, room: Path) -> None:
    session.run("echo kept > file; echo noted > $TMPDIR/note", 10)
    assert (room / "tree/file").read_text() == "kept\n"
    assert session.run("cat file $TMPDIR/note", 10).output == "kept\nnoted\n"


def test_a06_commands_do_not_run_as_root(session: CommandSession, room: Path, uid: int | None) -> None:
    session.run("touch mine", 10)
    owner = (room / "tree/mine").stat().st_uid
    assert owner == (uid or os.geteuid()) and owner != 0


def test_a01_environment_is_the_list_and_no_more(
    open_session: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "PYTHONPATH", "LD_PRELOAD_NOT"):
        monkeypatch.setenv(name, "canary-value")
    session = open_session(env={"PROJECT_MODE": "test"})
    shown = session.run("env; set; cat /proc/self/environ", 10).output
    assert "canary-value" not in shown
    assert "PROJECT_MODE=test" in shown
    assert "GIT_TERMINAL_PROMPT=0" in shown


def test_an_impossible_variable_is_refused(open_session: Opener) -> None:
    with pytest.raises(SandboxError, match="A=B"):
        open_session(env={"A=B": "x"})


@pytest.mark.parametrize(
    "command",
    [
        "read answer",
        "cat",
        "python3 -c 'input()'",
        "git init -q . && git -c core.pager=less -c user.name=a -c user.email=a@b commit --allow-empty",
        "git init -q . && git -c core.editor=vim -c user.name=a -c user.email=a@b commit --allow-empty",
        "git clone https://user@localhost:1/x.git",
    ],
)
def test_nothing_waits_for_a_key(session: CommandSession, command: str) -> None:
    result = session.run(command, 20)
    assert not result.timed_out
    assert result.exit_code != 0 or command == "cat"


def test_a_foreground_command_does_not_wait_for_the_background(
    session: CommandSession, survivors: Survivors
) -> None:
    word = secrets.token_hex(8)
    result = session.run(f"bash -c 'sleep 300; : {word}' & echo started", 60)
    assert result.exit_code == 0 and result.output.startswith("started\n") and result.seconds < 30
    assert survivors(word) == []


@pytest.mark.parametrize(
    "holder",
    [
        "setsid {} & setsid {}",
        "( ( {} ) & ) ; {}",
        "trap '' TERM HUP INT; nohup {}",
        "kill -STOP $$",
        "for n in 1 2 3 4 5 6 7 8; do (while :; do :; done) & done; {}",
    ],
    ids=["new session", "double fork", "deaf", "stopped", "spinning"],
)
def test_b22_a_time_limit_holds_and_leaves_nobody(
    session: CommandSession, survivors: Survivors, holder: str
) -> None:
    word = secrets.token_hex(8)
    sleeper = f"bash -c 'sleep 300; : {word}'"
    limit = 0.4
    result = session.run("echo before\n" + holder.format(sleeper, sleeper), limit)
    assert (result.timed_out, result.killed, result.exit_code) == (True, "timeout", 124)
    assert result.output.startswith("before\n") and "time limit" in result.output
    assert result.seconds <= limit + 2
    assert survivors(word) == []


def peak_memory_while(action: Callable[[], object]) -> int:
    """Return by how many bytes the peak of resident memory passed what was resident before."""
    Path("/proc/self/clear_refs").write_text("5")
    before = _status_bytes("VmRSS")
    action()
    return _status_bytes("VmHWM") - before


def _status_bytes(key: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(key)


def test_b21_a_flood_is_cut_off_in_bounded_memory(session: CommandSession) -> None:
    results = []
    rise = peak_memory_while(lambda: results.append(session.run("head -c 500000000 /dev/zero", 60)))
    assert rise < 16 * MIB
    assert results[0].killed == "output" and results[0].exit_code == 137
    assert results[0].bytes_seen >= 64 * MIB and len(results[0].output) < 64 * 1024
    assert "\x00" not in results[0].output


def test_a_long_output_is_drained_and_clipped(session: CommandSession) -> None:
    result = session.run("echo first; head -c 50000000 /dev/zero | tr '\\0' x; echo; echo last", 60)
    assert result.exit_code == 0 and result.bytes_seen == 6 + 50_000_000 + 1 + 5
    assert result.output.startswith("first\nxxx") and result.output.endswith("xxx\nlast\n")
    assert "bytes of output left out" in result.output and len(result.output) < 34 * 1024


def test_b21_odd_bytes_become_text(session: CommandSession) -> None:
    result = session.run(r"printf 'caf\351 \000|\033[31mred|a\rb|\355\240\200\n'", 10)
    result.output.encode("utf-8")
    assert result.output.startswith("caf� |\x1b[31mred|a\rb|") and "\x00" not in result.output


@pytest.mark.long
@pytest.mark.parametrize(
    "filler",
    [
        "for n in {1..9999}; do head -c 1000000 /dev/zero > big-$n; done",
        "for n in {1..9999}; do head -c 1000000 /dev/zero > $TMPDIR/big-$n; done",
        "while :; do mkdir d$((n++)); touch d$n-{1..500}; done",
        "exec 9>gone; rm gone; while :; do head -c 1000000 /dev/zero >&9; done",
    ],
    ids=["worktree", "scratch", "many files", "deleted but open"],
)
def test_b25_the_disk_limit_ends_a_command(open_session: Opener, filler: str) -> None:
    session = open_session(disk_bytes=12 * MIB)
    result = session.run(filler, 60)
    assert result.killed == "disk" and result.exit_code == 137
    assert "disk limit" in result.output


def test_after_the_disk_limit_the_agent_can_make_room(open_session: Opener) -> None:
    session = open_session(disk_bytes=12 * MIB)
    assert (
        session.run("for n in {1..20}; do head -c 1000000 /dev/zero > big-$n; done; sleep 30", 60).killed
        == "disk"
    )
    assert session.run("rm -f big-*; echo room", 60).output == "room\n"
    assert session.run("true", 60).killed == ""


def test_one_file_has_a_largest_size(open_session: Opener, room: Path) -> None:
    session = open_session(file_bytes=MIB)
    assert session.run("head -c 5000000 /dev/zero > big", 30).exit_code != 0
    assert (room / "tree/big").stat().st_size <= MIB


def test_b20_memory_is_limited_over_all_processes(open_session: Opener) -> None:
    session = open_session(memory_bytes=96 * MIB)
    hog = "python3 -c 'import time; kept = bytearray(40 << 20); time.sleep(60)'"
    result = session.run(f"{hog} & {hog} & {hog} & {hog} & wait -n", 50)
    assert result.killed == "memory" and "memory limit" in result.output


def test_b20_memory_of_one_process_is_limited(open_session: Opener) -> None:
    session = open_session(memory_bytes=96 * MIB)
    result = session.run("python3 -c 'bytearray(4 * 96 << 20)'", 50)
    assert result.exit_code != 0 and not result.timed_out
    assert result.killed == "memory" or "MemoryError" in result.output


@pytest.mark.long
def test_b19_a_fork_bomb_is_bounded_and_forgotten(open_session: Opener, survivors: Survivors) -> None:
    session = open_session(processes=40)
    word = secrets.token_hex(8)
    result = session.run(f"bomb() {{ bomb | bomb & }}; bomb; : {word}; sleep 30", 0.8)
    assert result.seconds < 2.8
    assert survivors(word) == []
    assert session.run("echo well", 10).output == "well\n"


def test_stop_ends_the_running_command_and_refuses_the_next(session: CommandSession, room: Path) -> None:
    os.mkfifo(room / "tree/begun", 0o666)
    (room / "tree/begun").chmod(0o666)
    results = []
    runner = threading.Thread(target=lambda: results.append(session.run("echo > begun; sleep 300", 200)))
    runner.start()
    (room / "tree/begun").read_text()
    session.stop()
    runner.join(5)
    assert results[0].killed == "stopped" and not results[0].timed_out
    assert session.run("touch late", 10).killed == "stopped"
    assert not (room / "tree/late").exists()


@pytest.mark.parametrize(
    ("command", "problem"),
    [("echo a\x00b", "NUL"), ("echo " + "x" * 200_000, "in parts"), ("echo \ud800", "surrogate")],
)
def test_what_no_shell_can_be_given_is_refused_in_words(
    session: CommandSession, command: str, problem: str
) -> None:
    result = session.run(command, 10)
    assert result.exit_code == 126 and problem in result.output


def test_unicode_commands_arrive(session: CommandSession) -> None:
    assert session.run("echo 'žluťoučký 🐎'", 10).output == "žluťoučký 🐎\n"


@pytest.mark.long
def test_b25_closing_removes_the_scratch_space_whatever_is_in_it(session: CommandSession, room: Path) -> None:
    dig = "import os\nfor n in range(1200): os.mkdir('d'); os.chdir('d')"
    result = session.run(f'cd $TMPDIR; mkdir shut; touch shut/file; chmod 000 shut; python3 -c "{dig}"', 60)
    assert result.exit_code == 0
    session.close()
    assert not (room / "scratch").exists()
    with pytest.raises(SandboxError, match="closed"):
        session.run("true", 1)


def test_a_worktree_of_somebody_else_is_refused(back_end, policy, room: Path, as_root: int) -> None:
    wanted = policy()
    os.chown(room / "tree", 0, 0)
    with pytest.raises(SandboxError, match=f"{room}/tree.*chown -R {as_root}"):
        back_end.open(wanted)
