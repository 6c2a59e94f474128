"""A: attacks on the sandbox itself: a worker that is root, a false bubblewrap, and what level was reached."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from domain.errors import SandboxError
from domain.model import Reason
from domain.states import State
from harness.sandbox.bubblewrap import BubblewrapSandbox
from harness.sandbox.process import ProcessSession
from harness.sandbox.session import CommandSession
from tests.redteam.conftest import LaySiege
from tests.redteam.siege import FIXED, IN_REVIEW, Siege

ROOT = Path(__file__).parents[2]

# A bubblewrap that isolates nothing: it drops the options and runs the rest.
SHIM = '#!/bin/bash\nwhile [ "$1" != -- ]; do shift; done; shift; cd / ; exec "$@"\n'

# ... and one that even announces a process, as bubblewrap does.
POLITE_SHIM = """#!/bin/bash
while [ "$1" != -- ]; do shift; done; shift; cd /
"$@" <&0 &
for fd in /proc/$$/fd/*; do
  [ -p "$fd" ] && [ "${fd##*/}" -gt 2 ] && printf '{"child-pid": %d, }' $! >&"${fd##*/}"
done
wait $!
"""


@pytest.mark.parametrize("given", [None, 0])
def test_a06_root_without_a_user_to_become_is_refused(as_root: int, given: int | None, policy) -> None:
    sandbox = BubblewrapSandbox(uid=given)
    for attempt in (sandbox.self_test, lambda: sandbox.open(policy())):
        with pytest.raises(SandboxError, match="user id of its own"):
            attempt()
    assert sandbox.isolation.startswith("none")


def test_a07_a_missing_bubblewrap_is_named_with_its_package(uid: int | None) -> None:
    with pytest.raises(SandboxError, match="Debian's package bubblewrap"):
        BubblewrapSandbox(uid=uid, bwrap=Path("/nonexistent/bwrap")).self_test()


def test_a07_a_program_that_anybody_can_change_is_not_used(uid: int | None, room: Path) -> None:
    (room / "bwrap").write_text(SHIM)
    (room / "bwrap").chmod(0o757)
    with pytest.raises(SandboxError, match="changed by others"):
        BubblewrapSandbox(uid=uid, bwrap=room / "bwrap").self_test()


def test_a07_bubblewrap_on_the_path_is_not_looked_at(
    uid: int | None, room: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (room / "bwrap").write_text("#!/bin/sh\nexit 0\n")
    (room / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{room}:{os.environ['PATH']}")
    BubblewrapSandbox(uid=uid, nice=False).self_test()


@pytest.mark.long
@pytest.mark.parametrize(
    ("program", "complaint"),
    [
        (SHIM, "did not announce"),
        # On a busy machine its announcement comes too late, which is found out just as well.
        (POLITE_SHIM, "namespaces are shared with the host|did not announce"),
        ("#!/bin/sh\nexit 0\n", "ended without a word"),
        ("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n", "No permissions"),
    ],
    ids=["runs unsandboxed", "runs unsandboxed and lies", "does nothing", "namespaces switched off"],
)
def test_a07_a_bubblewrap_that_does_not_isolate_is_found_out(
    as_root: int, room: Path, program: str, complaint: str
) -> None:
    (room / "bwrap").write_text(program)
    (room / "bwrap").chmod(0o755)
    with pytest.raises(SandboxError, match=complaint):
        BubblewrapSandbox(uid=as_root, nice=False, bwrap=room / "bwrap").self_test()


def test_a06_a_root_worker_without_another_user_runs_no_task(as_root: int, lay_siege: LaySiege) -> None:
    siege = lay_siege()
    stand = siege.attack("touch @MARK@", *FIXED, sandbox=BubblewrapSandbox(uid=None))
    assert stand == (State.BLOCKED, Reason.SANDBOX) and "user id of its own" in siege.text(siege.reference)
    siege.assert_contained()


HOLDING = "exec 7>held; sleep 300 & sleep 300"


def test_a06_no_process_of_a_command_is_root_or_in_a_group_of_root(
    session: CommandSession, room: Path
) -> None:
    for status in statuses_while_running(session, room):
        for key in ("Uid", "Gid", "Groups"):
            assert 0 not in [int(each) for each in status[key].split()], status
        if "Seccomp" in status and not isinstance(session, ProcessSession):
            assert status["CapEff"] == "0" * 16 and status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"


def statuses_while_running(session: CommandSession, room: Path) -> list[dict[str, str]]:
    """Return what the kernel says, seen from the host, of the processes of a command that is running."""
    os.mkfifo(room / "tree/held")
    (room / "tree/held").chmod(0o666)
    runner = threading.Thread(target=session.run, args=(HOLDING, 60))
    runner.start()
    with (room / "tree/held").open("rb"):
        others = [each for each in Path("/proc").glob("[0-9]*") if each.name != str(os.getpid())]
        found = [status_of(process) for process in others if holds(process)]
    session.stop()
    runner.join(10)
    assert found
    return found


def holds(process: Path) -> bool:
    """Tell whether a process has the command's pipe open."""
    try:
        return any(each.readlink().name == "held" for each in (process / "fd").iterdir())
    except OSError:
        return False


def status_of(process: Path) -> dict[str, str]:
    lines = (line.partition(":") for line in (process / "status").read_text().splitlines())
    return {key: value.strip() for key, _, value in lines}


ORDINARY = """
import sys
from pathlib import Path
from domain.ports import SandboxPolicy
from harness.sandbox.bubblewrap import BubblewrapSandbox
room = Path(sys.argv[1])
sandbox = BubblewrapSandbox(uid=None, nice=False)
print(sandbox.isolation)
sandbox.self_test()
session = sandbox.open(SandboxPolicy(writable=room / "tree", scratch=room / "scratch"))
print(session.run("touch mine; id -u; cat /proc/1/environ; ls /root; kill -9 -1", 20).output)
session.close()
"""


def run_as(user: int, command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=ROOT, env=environment, user=user, group=user, extra_groups=[], capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip


def reachable_interpreter(user: int) -> tuple[str, dict[str, str]]:
    """Return an interpreter that another user can start, and where it finds our packages."""
    packages = ":".join(part for part in sys.path if part.endswith("site-packages"))
    environment = {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": packages}
    for interpreter in (sys.executable, "/usr/bin/python3"):
        try:
            if run_as(user, [interpreter, "-c", "import harness.sandbox.probe"], environment).returncode == 0:
                return interpreter, environment
        except OSError:
            continue
    pytest.skip("no interpreter and source tree here that another user can reach")


@pytest.mark.long
def test_a06_an_ordinary_user_s_worker_reaches_the_lower_level_and_says_so(as_root: int, room: Path) -> None:
    (room / "tree").mkdir()
    room.chmod(0o777)
    for path in (room / "tree", room):
        os.chown(path, as_root, as_root)
    interpreter, environment = reachable_interpreter(as_root)
    done = run_as(as_root, [interpreter, "-c", ORDINARY, str(room)], environment)
    assert done.stdout.startswith("bubblewrap, same uid as the worker, no network, seccomp, "), done.stderr
    assert "\n1000\n" in done.stdout and (room / "tree/mine").stat().st_uid == as_root


@pytest.mark.long
@pytest.mark.parametrize(
    "program", [SHIM, POLITE_SHIM, "#!/bin/sh\nexit 0\n"], ids=["bare", "lies", "nothing"]
)
def test_a07_nothing_of_a_task_runs_behind_a_false_bubblewrap(
    as_root: int, lay_siege: LaySiege, room: Path, program: str
) -> None:
    siege = lay_siege()
    (room / "bwrap").write_text(program)
    (room / "bwrap").chmod(0o755)
    false = BubblewrapSandbox(uid=as_root, nice=False, bwrap=room / "bwrap")
    assert siege.attack("touch @MARK@ mine", *FIXED, sandbox=false) == (State.BLOCKED, Reason.SANDBOX)
    siege.assert_contained()


def test_a13_a_set_user_id_bit_does_not_get_published(siege: Siege) -> None:
    assert siege.attack(*FIXED, "chmod 6777 calc.py; cp /bin/true tool; chmod 4755 tool") == IN_REVIEW
    (pull,) = siege.pulls
    modes = siege.bare("ls-tree", "-r", "--format=%(objectmode)", f"refs/heads/{pull.head_branch}").split()
    assert set(modes) == {"100644", "100755"}
    siege.assert_contained(allowed=["tool"])
