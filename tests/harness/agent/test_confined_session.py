"""The argv policy over a real sandbox: what is allowed runs as it was written, the rest never gets there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from domain.model import CommandResult
from domain.ports import SandboxPolicy
from harness.agent.command_policy import CommandPolicy
from harness.agent.confined_session import ConfinedSession
from harness.agent.starting_in import StartingIn
from harness.sandbox.bubblewrap import BubblewrapSandbox
from harness.sandbox.disk import remove_tree
from harness.toolbox import COMMANDS, TOOLBOX

POLICY = CommandPolicy.of(["cat", "ls", "python3", "printf", "planted", "sleep"], helpers=COMMANDS)


@pytest.fixture
def tree() -> Iterator[Path]:
    room = Path(tempfile.mkdtemp(prefix="fixwright-confined-", dir="/tmp"))
    room.chmod(0o711)
    tree = room / "tree"
    tree.mkdir()
    if os.geteuid() == 0:
        os.chown(tree, 200_000 + os.getpid(), 200_000 + os.getpid())
    yield tree
    remove_tree(room)


@pytest.fixture
def session(tree: Path) -> Iterator[ConfinedSession]:
    uid = 200_000 + os.getpid() if os.geteuid() == 0 else None
    sandbox = BubblewrapSandbox(uid=uid, nice=False, helpers={"/opt/fixwright/bin": TOOLBOX})
    opened = sandbox.open(SandboxPolicy(writable=tree, scratch=tree.parent / "scratch"))
    with closing(ConfinedSession(opened, POLICY, tree)) as confined:
        yield confined


def test_arguments_arrive_as_they_were_quoted(session: ConfinedSession) -> None:
    odd = "a b|$HOME`x`\\n*é🐎"
    result = session.run(f"printf '%s\\n' '{odd}' \"it's\" '' x", 20)
    assert (result.exit_code, result.output) == (0, f"{odd}\nit's\n\nx\n")
    assert result.command.startswith("printf '%s")


def test_the_agents_tools_work_with_their_text(session: ConfinedSession, tree: Path) -> None:
    made = session.run("edit src/new.py <<'EOF'\n<<<<<<< OLD\n=======\nprint('$x `y`')\n>>>>>>> NEW\nEOF", 20)
    assert made.exit_code == 0, made.output
    assert (tree / "src/new.py").read_text() == "print('$x `y`')\n"
    assert "print(" in session.run("view src/new.py", 20).output
    assert session.run("python3 src/new.py", 20).output == "$x `y`\n"
    assert session.run("python3 - <<EOF\nprint(2)\nEOF", 20).output == "2\n"


@pytest.mark.long
def test_the_exit_status_is_the_programs(session: ConfinedSession) -> None:
    assert session.run("python3 -c 'raise SystemExit(7)'", 20).exit_code == 7
    missing = session.run("planted", 20)
    assert missing.exit_code == 127 and "command not found" in missing.output
    assert session.run("sleep 30", 0.3).timed_out


@pytest.mark.parametrize(
    "command",
    [
        "touch made",
        "bash -c 'touch made'",
        "ls; touch made",
        "cat ../secret",
        "cat way/secret",
        "cat /etc/passwd",
    ],
)
def test_what_is_refused_is_not_run(session: ConfinedSession, tree: Path, command: str) -> None:
    (tree.parent / "secret").write_text("canary")
    (tree / "way").symlink_to("..")
    result = session.run(command, 20)
    assert result.exit_code == 126 and result.output.startswith("[not run: ")
    assert "canary" not in result.output and not (tree / "made").exists()


def test_a_link_that_the_agent_made_leads_nowhere(session: ConfinedSession, tree: Path) -> None:
    assert session.run('python3 -c \'import os; os.symlink("/etc", "innocent")\'', 20).exit_code == 0
    refused = session.run("cat innocent/passwd", 20)
    assert refused.exit_code == 126 and "`innocent/passwd` leads out of /work" in refused.output
    (tree / "inside").symlink_to("target")
    (tree / "target").write_text("found\n")
    assert session.run("cat inside", 20).output == "found\n"


@pytest.mark.long
def test_a_program_that_the_agent_planted_is_not_found(session: ConfinedSession, tree: Path) -> None:
    inner = session._inner
    script = "'#!/bin/sh\\necho planted\\n'"
    planting = f"mkdir -p bin; printf {script} > bin/planted; chmod +x bin/planted"
    assert isinstance(inner.run(planting, 20), CommandResult)
    order = "exec env PATH=/work/bin:$PATH run-words eyJ3b3JkcyI6IFsicGxhbnRlZCJdLCAidGV4dCI6IG51bGx9"
    result = inner.run(order, 20)
    assert result.exit_code == 127 and result.output != "planted\n"


@pytest.mark.long
def test_only_what_is_too_long_or_no_text_is_refused_for_that(session: ConfinedSession) -> None:
    assert session.run(f"python3 -c 'print(len(\"{'x' * 60_000}\"))'", 20).output == "60000\n"
    for command, problem in (
        (f"printf {'x' * 100_000}", "too long"),
        ("ls \ud800", "surrogate"),
        ("ls \0", "NUL"),
    ):
        result = session.run(command, 20)
        assert result.exit_code == 126 and problem in result.output


@pytest.mark.long
def test_commands_of_one_part_of_a_monorepo_begin_there_and_go_no_further_out(tree: Path) -> None:
    uid = 200_000 + os.getpid() if os.geteuid() == 0 else None
    sandbox = BubblewrapSandbox(uid=uid, nice=False, helpers={"/opt/fixwright/bin": TOOLBOX})
    (tree / "libs/calc").mkdir(parents=True)
    (tree / "libs/calc/x.txt").write_text("here\n")
    (tree / "top.txt").write_text("top\n")
    (tree / "libs/calc/out").symlink_to("/etc/passwd")
    opened = sandbox.open(SandboxPolicy(writable=tree, scratch=tree.parent / "scratch"))
    with closing(ConfinedSession(StartingIn(opened, "libs/calc"), POLICY, tree)) as confined:
        assert confined.run("cat x.txt ../../top.txt /work/top.txt", 20).output == "here\ntop\ntop\n"
        assert confined.run("cat out", 20).exit_code == 126
        assert confined.run("cat ../../../etc/passwd", 20).exit_code == 126
        (tree / "libs").rename(tree / "gone")
        assert confined.run("cat top.txt", 20).output == "top\n", "the root is better than nowhere"
        (tree / "evil").symlink_to("/etc/passwd")
        assert confined.run("cat evil", 20).exit_code == 126, "and is judged as the root"
        (tree / "libs").symlink_to("/etc")
        assert confined.run("ls", 20).exit_code == 126
