"""Where no sandbox is to be had, nothing runs, and the message says what to do."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from domain.errors import SandboxError
from harness.sandbox.bubblewrap import BubblewrapSandbox
from harness.sandbox.identity import Identity, require_reachable
from harness.sandbox.probe import problems_seen, way_out
from harness.sandbox.process import Consent, ProcessSandbox
from tests.harness.sandbox.shoes import in_other_shoes

FULL_CONSENT = Consent(configured=True, allowed=True, private_repository=True)


def test_the_isolation_is_named(bubblewrap: BubblewrapSandbox, uid: int | None) -> None:
    user = "separate uid" if uid is not None else "same uid as the worker"
    assert bubblewrap.isolation.startswith(f"bubblewrap, {user}, no network, seccomp, ")
    without = BubblewrapSandbox(uid=uid, cgroups=False)
    assert without.isolation == f"bubblewrap, {user}, no network, seccomp, no cgroup"


SETTLES = """
from harness.sandbox.identity import settle_identity
for uid in (4321, None):
    try:
        print(settle_identity(uid))
    except Exception as error:
        print(error)
"""


def test_another_user_without_the_right_to_become_it_is_refused() -> None:
    told = in_other_shoes(SETTLES, "--reuid=1234", "--regid=1234", "--clear-groups").splitlines()
    assert told[0].startswith("cannot become user id 4321 without CAP_CHOWN, ") and "CAP_SETUID" in told[0]
    assert told[1] == str(Identity(1234, 1234, separate=False))


def test_root_without_the_right_to_become_another_user_is_refused() -> None:
    told = in_other_shoes(SETTLES, "--bounding-set=-kill,-setuid", "--inh-caps=-kill,-setuid").splitlines()
    assert told[0].startswith("cannot become user id 4321 without CAP_KILL, CAP_SETUID: ")
    assert told[1].startswith("commands would run as root: without CAP_KILL, CAP_SETUID ")


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
def test_a08_running_without_a_sandbox_needs_every_consent(as_root: int, missing: str) -> None:
    with pytest.raises(SandboxError, match="not to be had"):
        ProcessSandbox(uid=as_root, consent=replace(FULL_CONSENT, **{missing: False}))


@pytest.mark.parametrize("given", [None, 0])
def test_a08_running_without_a_sandbox_needs_another_user(given: int | None) -> None:
    with pytest.raises(SandboxError, match="user id of their own"):
        ProcessSandbox(uid=given, consent=FULL_CONSENT)


def test_a08_running_without_a_sandbox_says_so(as_root: int) -> None:
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
