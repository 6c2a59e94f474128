"""The back end is the one that was set, and the one without isolation needs everybody's word each time."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from domain.errors import SandboxError
from harness.sandbox.bubblewrap import BubblewrapSandbox
from harness.sandbox.choice import SandboxWishes, choose_sandbox
from harness.sandbox.container import ContainerSandbox


@pytest.fixture
def wishes(room: Path, uid: int | None) -> SandboxWishes:
    return SandboxWishes(back_end="bubblewrap", uid=uid, state=room / "state", image="localhost/x")


def test_what_is_set_is_what_is_had(wishes: SandboxWishes) -> None:
    assert isinstance(choose_sandbox(wishes), BubblewrapSandbox)
    assert isinstance(choose_sandbox(replace(wishes, back_end="container")), ContainerSandbox)


@pytest.mark.parametrize("allowed", [False, True])
def test_allowing_it_does_not_choose_it(wishes: SandboxWishes, allowed: bool) -> None:
    chosen = choose_sandbox(replace(wishes, allow_unsandboxed=allowed))
    assert chosen.isolation.startswith("bubblewrap, ")


def test_without_the_operators_word_it_is_refused_at_the_start(wishes: SandboxWishes) -> None:
    with pytest.raises(SandboxError, match="FIXWRIGHT_ALLOW_UNSANDBOXED=1"):
        choose_sandbox(replace(wishes, back_end="process"))


@pytest.mark.parametrize("uid", [None, 0])
def test_without_a_user_of_its_own_it_is_refused_at_the_start(wishes: SandboxWishes, uid: int | None) -> None:
    with pytest.raises(SandboxError, match="user id of their own"):
        choose_sandbox(replace(wishes, back_end="process", allow_unsandboxed=True, uid=uid))


def test_a_public_repository_is_refused_each_time_and_a_private_one_is_not(
    wishes: SandboxWishes, as_root: int, policy
) -> None:
    sandbox = choose_sandbox(replace(wishes, back_end="process", allow_unsandboxed=True))
    assert sandbox.isolation.startswith("not sandboxed")
    with pytest.raises(SandboxError, match="the repository must be private"):
        sandbox.open(policy())
    with closing(sandbox.open(policy(private_repository=True))) as session:
        assert session.run("pwd; echo $HOME", 10).output == "/work\n/tmp\n"
    with pytest.raises(SandboxError, match="the repository must be private"):
        sandbox.open(policy(private_repository=False))


@pytest.mark.long
def test_the_process_back_end_shows_the_worktree_to_its_commands_alone(
    wishes: SandboxWishes, as_root: int, policy
) -> None:
    sandbox = choose_sandbox(replace(wishes, back_end="process", allow_unsandboxed=True))
    sandbox.self_test()
    before = Path("/proc/self/mountinfo").read_text()
    with closing(sandbox.open(policy(private_repository=True))) as session:
        shown = session.run("cat /proc/self/status; ls /tmp; touch /work/mine; mount -t tmpfs none /work", 10)
    assert "NoNewPrivs:\t1" in shown.output and "CapBnd:\t0000000000000000" in shown.output
    assert (policy().writable / "mine").exists() and not Path("/work/mine").exists()
    assert Path("/proc/self/mountinfo").read_text() == before
