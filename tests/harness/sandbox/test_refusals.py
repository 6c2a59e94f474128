"""Where no sandbox is to be had, nothing runs, and the message says what to do."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from domain.errors import SandboxError
from harness.sandbox.bubblewrap import BubblewrapSandbox
from harness.sandbox.identity import Identity, require_reachable, settle_identity
from harness.sandbox.probe import problems_seen, way_out
from harness.sandbox.process import Consent, ProcessSandbox

FULL_CONSENT = Consent(configured=True, allowed=True, private_repository=True)

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


def test_the_isolation_is_named(bubblewrap: BubblewrapSandbox, uid: int | None) -> None:
    user = "separate uid" if uid is not None else "same uid as the worker"
    assert bubblewrap.isolation.startswith(f"bubblewrap, {user}, no network, seccomp, ")
    without = BubblewrapSandbox(uid=uid, cgroups=False)
    assert without.isolation == f"bubblewrap, {user}, no network, seccomp, no cgroup"


@pytest.mark.parametrize("given", [None, 0])
def test_root_without_a_user_to_become_is_refused(as_root: int, given: int | None, policy) -> None:
    sandbox = BubblewrapSandbox(uid=given)
    for attempt in (sandbox.self_test, lambda: sandbox.open(policy())):
        with pytest.raises(SandboxError, match="user id of its own"):
            attempt()
    assert sandbox.isolation.startswith("none")


def test_another_user_without_being_root_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1234)
    with pytest.raises(SandboxError, match="4321"):
        settle_identity(4321)
    assert settle_identity(None) == Identity(1234, os.getegid(), separate=False)


def test_a_missing_bubblewrap_is_named_with_its_package(uid: int | None) -> None:
    with pytest.raises(SandboxError, match="Debian's package bubblewrap"):
        BubblewrapSandbox(uid=uid, bwrap=Path("/nonexistent/bwrap")).self_test()


def test_a_program_that_anybody_can_change_is_not_used(uid: int | None, room: Path) -> None:
    (room / "bwrap").write_text(SHIM)
    (room / "bwrap").chmod(0o757)
    with pytest.raises(SandboxError, match="changed by others"):
        BubblewrapSandbox(uid=uid, bwrap=room / "bwrap").self_test()


def test_bubblewrap_on_the_path_is_not_looked_at(
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
def test_a_bubblewrap_that_does_not_isolate_is_found_out(
    as_root: int, room: Path, program: str, complaint: str
) -> None:
    (room / "bwrap").write_text(program)
    (room / "bwrap").chmod(0o755)
    with pytest.raises(SandboxError, match=complaint):
        BubblewrapSandbox(uid=as_root, nice=False, bwrap=room / "bwrap").self_test()


@pytest.mark.parametrize(
    ("kernel", "remedy"),
    [
        ({"user/max_user_namespaces": "0"}, "user.max_user_namespaces=10000"),
        ({"kernel/unprivileged_userns_clone": "0"}, "kernel.unprivileged_userns_clone=1"),
        ({"kernel/apparmor_restrict_unprivileged_userns": "1"}, "restrict_unprivileged_userns=0"),
        ({"user/max_user_namespaces": "9"}, "must allow user namespaces"),
    ],
)
def test_the_way_out_names_the_setting(kernel: dict[str, str], remedy: str) -> None:
    assert remedy in way_out("bubblewrap could not set up the sandbox: no namespace", kernel)


def test_no_way_out_is_invented() -> None:
    assert way_out("the disk is full", {"user/max_user_namespaces": "9"}) == ""


GOOD = {
    "Uid:": "1000", "CapPrm:": "0000", "CapEff:": "0000", "CapBnd:": "0000",
    "NoNewPrivs:": "1", "Seccomp:": "2", "environment": "PATH HOME PWD", "first_environment": "PWD=/ ",
    "processes": "/proc/1 /proc/2 /proc/3",
    "namespaces": "user:[1] pid:[2] net:[3] mnt:[4] ipc:[5] uts:[6] cgroup:[7]",
    "vsock": "closed",
}  # fmt: skip


def test_a_sandbox_that_holds_has_no_problems() -> None:
    assert problems_seen(GOOD, frozenset({"user:[90]", "net:[91]"})) == []


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("Uid:", "0", "Uid"),
        ("CapEff:", "0000000000000001", "CapEff"),
        ("CapBnd:", "", "CapBnd"),
        ("NoNewPrivs:", "0", "NoNewPrivs"),
        ("Seccomp:", "0", "Seccomp"),
        ("environment", "PATH OPENAI_API_KEY", "OPENAI_API_KEY"),
        ("first_environment", "OPENAI_API_KEY=x", "first_environment"),
        ("processes", " ".join(f"/proc/{number}" for number in range(1, 90)), "processes"),
        ("namespaces", "user:[1] pid:[2] net:[91] mnt:[4] ipc:[5] uts:[6] cgroup:[7]", "net:[91]"),
        ("namespaces", "", "unknown"),
        ("writable", "/usr", "/usr can be written"),
        ("closed", "/home/agent", "/home/agent cannot be written"),
        ("host_file", "/tmp/x", "/tmp/x of the host"),
        ("network", "loopback of the host", "loopback"),
        ("vsock", "open", "vsock"),
    ],
)
def test_each_hole_is_named(key: str, value: str, named: str) -> None:
    problems = problems_seen({**GOOD, key: value}, frozenset({"user:[90]", "net:[91]"}))
    assert len(problems) == 1 and named in problems[0]


@pytest.mark.parametrize("missing", ["configured", "allowed", "private_repository"])
def test_running_without_a_sandbox_needs_every_consent(as_root: int, missing: str) -> None:
    with pytest.raises(SandboxError, match="not to be had"):
        ProcessSandbox(uid=as_root, consent=replace(FULL_CONSENT, **{missing: False}))


@pytest.mark.parametrize("given", [None, 0])
def test_running_without_a_sandbox_needs_another_user(given: int | None) -> None:
    with pytest.raises(SandboxError, match="user id of their own"):
        ProcessSandbox(uid=given, consent=FULL_CONSENT)


def test_running_without_a_sandbox_says_so(as_root: int) -> None:
    assert ProcessSandbox(uid=as_root, consent=FULL_CONSENT).isolation.startswith("not sandboxed")


def test_reach_is_judged_by_owner_then_group_then_others(room: Path, as_root: int) -> None:
    place = room / "place"
    place.mkdir()
    user = Identity(as_root, as_root, separate=True)
    for owner, group, mode, reachable in (
        (as_root, 0, 0o700, True),
        (as_root, 0, 0o077, False),
        (0, as_root, 0o050, True),
        (0, as_root, 0o707, False),
        (0, 0, 0o705, True),
        (0, 0, 0o770, False),
    ):
        os.chown(place, owner, group)
        place.chmod(mode)
        if reachable:
            require_reachable(place, user, purpose="directory")
        else:
            with pytest.raises(SandboxError, match=str(place)):
                require_reachable(place, user, purpose="directory")
