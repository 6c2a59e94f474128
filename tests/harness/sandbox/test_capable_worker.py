"""A worker that is not root, but may become the agent's user, which gets none of its rights."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from harness.sandbox.capabilities import NEEDED, missing_capabilities
from tests.harness.sandbox.shoes import in_other_shoes

WORKER, AGENT = 61_811, 61_812
_RIGHTS = ",".join("+" + name.removeprefix("CAP_").lower() for name in NEEDED)
CAPABLE = (
    *(f"--reuid={WORKER}", f"--regid={WORKER}", "--clear-groups"),
    *(f"--inh-caps={_RIGHTS}", f"--ambient-caps={_RIGHTS}"),
)

RUNS_A_SESSION = f"""
import os, tempfile
from pathlib import Path
from domain.ports import SandboxPolicy
from harness.sandbox.bubblewrap import BubblewrapSandbox
from harness.sandbox.disk import remove_tree
room = Path(tempfile.mkdtemp(prefix="fixwright-capable-", dir="/tmp"))
room.chmod(0o711)
work = room / "tree"
work.mkdir()
os.chown(work, {AGENT}, {AGENT})
sandbox = BubblewrapSandbox(uid={AGENT}, cgroups=False)
print(os.geteuid(), sandbox.isolation)
sandbox.self_test()
session = sandbox.open(SandboxPolicy(writable=work, scratch=room / "scratch"))
print(session.run("umask 077; echo made > mine; mkdir closed; grep -h ^Cap /proc/self/status", 10).output)
print("gone", session.run("sleep 100 & sleep 100", 0.5).timed_out)
session.close()
print("owner", (work / "mine").stat().st_uid, (work / "mine").read_text().strip())
remove_tree(room)
print("cleared", not room.exists())
"""


def test_its_commands_have_a_user_of_their_own_and_none_of_its_rights() -> None:
    told = in_other_shoes(RUNS_A_SESSION, *CAPABLE)
    first, *lines = told.splitlines()
    assert first.startswith(f"{WORKER} bubblewrap, separate uid, no network, seccomp")
    masks = [line.split()[1] for line in lines if line.startswith("Cap")]
    assert masks and all(int(mask, 16) == 0 for mask in masks)
    assert f"owner {AGENT} made" in lines and "gone True" in lines and "cleared True" in lines


def test_without_a_program_that_takes_the_rights_away_nothing_runs(tmp_path: Path) -> None:
    script = (
        "from pathlib import Path\n"
        "from harness.sandbox.becoming import way_to_become\n"
        "from harness.sandbox.identity import Identity\n"
        "keeps = Path('/usr/bin/unshare')\n"
        f"way_to_become(Identity({AGENT}, {AGENT}, separate=True), unshare=keeps, setpriv=Path('/missing'))\n"
    )
    with pytest.raises(AssertionError, match="and lose this process' own rights: /missing does not work"):
        in_other_shoes(script, *CAPABLE)


def test_what_is_missing_is_read_from_the_kernel(tmp_path: Path) -> None:
    status = tmp_path / "status"
    status.write_text("Name:\tx\nCapEff:\t00000000000000c0\n")
    assert missing_capabilities(status) == ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_KILL")
    status.write_text("CapEff:\t000001ffffffffff\n")
    assert missing_capabilities(status) == ()
    assert (missing_capabilities() == ()) == (os.geteuid() == 0)
