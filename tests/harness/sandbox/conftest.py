"""A room that another user can reach, sandboxes of both kinds in it, and eyes on the host's processes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from domain.ports import SandboxPolicy
from harness.sandbox.bubblewrap import BubblewrapSandbox
from harness.sandbox.container import ContainerSandbox
from harness.sandbox.disk import remove_tree
from harness.sandbox.process import Consent, ProcessSandbox
from harness.sandbox.session import CommandSession
from tests.harness.sandbox.engine_world import EngineWorld, NoEngine, prepare_engine

BackEnd = BubblewrapSandbox | ContainerSandbox | ProcessSandbox
FULL_CONSENT = Consent(configured=True, allowed=True, private_repository=True)


@pytest.fixture(scope="session")
def uid() -> int | None:
    """A user id that nobody else on the machine uses, or None where we cannot become anybody else."""
    return 200_000 + os.getpid() if os.geteuid() == 0 else None


@pytest.fixture
def as_root(uid: int | None) -> int:
    if uid is None:
        pytest.skip("only root can become another user")
    return uid


@pytest.fixture
def room() -> Iterator[Path]:
    """A directory on the host that the sandbox's user may pass through, and not list."""
    directory = Path(tempfile.mkdtemp(prefix="fixwright-room-", dir="/tmp"))
    directory.chmod(0o711)
    yield directory
    remove_tree(directory)


@pytest.fixture
def policy(room: Path, uid: int | None) -> Callable[..., SandboxPolicy]:
    """Make a policy on a fresh worktree of the sandbox's user."""

    def make(**changes: Any) -> SandboxPolicy:
        work = room / "tree"
        if not work.exists():
            work.mkdir(mode=0o755)
            if uid is not None:
                os.chown(work, uid, uid)
        return SandboxPolicy(writable=work, scratch=room / "scratch", **changes)

    return make


@pytest.fixture
def bubblewrap(uid: int | None) -> BubblewrapSandbox:
    return BubblewrapSandbox(uid=uid, nice=False)


@pytest.fixture(scope="session")
def engine() -> EngineWorld:
    """A container engine with a small image, or a skip that says why there is none."""
    try:
        return prepare_engine()
    except NoEngine as reason:
        pytest.skip(f"no containers here: {reason}")


@pytest.fixture
def container(engine: EngineWorld, uid: int | None, room: Path) -> ContainerSandbox:
    state = room / "state"
    return ContainerSandbox(
        state=state, image=engine.image, uid=uid, engine=str(engine.program), service=room.name, nice=False
    )


@pytest.fixture(
    params=["bubblewrap", *(pytest.param(name, marks=pytest.mark.long) for name in ("container", "process"))]
)
def back_end(request: pytest.FixtureRequest, uid: int | None) -> BackEnd:
    """Each implementation in turn."""
    if request.param == "bubblewrap":
        return BubblewrapSandbox(uid=uid, nice=False)
    if request.param == "container":
        return request.getfixturevalue("container")  # type: ignore[no-any-return]
    if uid is None:
        pytest.skip("the process back end needs root")
    return ProcessSandbox(uid=uid, consent=FULL_CONSENT)


@pytest.fixture
def open_session(
    back_end: BackEnd, policy: Callable[..., SandboxPolicy]
) -> Iterator[Callable[..., CommandSession]]:
    """Open sessions on the room's worktree, with changes to the policy; closed with the test."""
    with ExitStack() as opened:
        yield lambda **changes: opened.enter_context(closing(back_end.open(policy(**changes))))


@pytest.fixture
def session(open_session: Callable[..., CommandSession]) -> CommandSession:
    return open_session()


@pytest.fixture
def confined(back_end: BackEnd, session: CommandSession) -> CommandSession:
    """A session that must isolate."""
    if isinstance(back_end, ProcessSandbox):
        pytest.skip("the process back end does not isolate, and says so")
    return session


@pytest.fixture
def survivors() -> Callable[[str], list[str]]:
    """Find live processes on the host by a word in their command line."""

    def find(word: str) -> list[str]:
        found = []
        for process in Path("/proc").iterdir():
            try:
                if process.name.isdigit() and word.encode() in (process / "cmdline").read_bytes():
                    found.append(process.name)
            except OSError:
                continue
        return found

    return find
