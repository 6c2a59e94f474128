"""The back end without isolation: another user and limits, nothing more. Only where four things say so."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import structlog

from domain.errors import SandboxError
from domain.ports import SandboxPolicy
from harness.sandbox.becoming import Becoming
from harness.sandbox.capture import OutputCapture
from harness.sandbox.disk import remove_tree
from harness.sandbox.environment import SYSTEM_PATH, command_environment
from harness.sandbox.identity import Identity, require_reachable, settle_identity
from harness.sandbox.launch import Launched, launch
from harness.sandbox.limits import limit_options, threads_of
from harness.sandbox.scratch import make_scratch
from harness.sandbox.session import CommandSession
from harness.sandbox.supervise import Ending, Watch

_log = structlog.get_logger(__name__)
_AS_ROOT = """\
mount --bind "$1" /work && mount --bind "$2" /tmp && cd /work || exit 125
shift 2
exec /usr/bin/setpriv "$@"
"""
"""Shows the worktree and the scratch directory where commands expect them, to themselves alone; then gives
root away for good."""
_SHELL = 'exec /bin/bash --noprofile --norc -c "$1" </dev/null'
_WORK = Path("/work")
_SWEEP_SECONDS = 1.5
_TEST_SECONDS = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Consent:
    """What must all be true before anything runs without a sandbox; each is somebody's explicit word."""

    configured: bool
    """The operator's settings ask for the `process` back end."""
    allowed: bool
    """The operator has allowed it for this service."""
    private_repository: bool
    """The forge says that the repository is private."""


class ProcessSandbox:
    """Implements `domain.ports.Sandbox`. Never chosen by itself; raises SandboxError without full consent.

    `uid` must be used for this alone: at the end of every command, all its processes are killed.
    `path` are directories of the host that stand before the system's on PATH.
    """

    def __init__(self, *, uid: int | None, consent: Consent, path: Sequence[str] = ()) -> None:
        self._path = tuple(path)
        missing = [
            what
            for what, given in (
                ("the operator must ask for it with FIXWRIGHT_SANDBOX_BACKEND=process", consent.configured),
                ("the operator must allow it with FIXWRIGHT_ALLOW_UNSANDBOXED=1", consent.allowed),
                ("the repository must be private", consent.private_repository),
                (
                    "commands need a user id of their own, and the worker must be root to use it",
                    _distinct(uid),
                ),
            )
            if not given
        ]
        if missing:
            raise SandboxError("the process back end is not to be had: " + "; ".join(missing))
        self._identity = settle_identity(uid)

    @property
    def isolation(self) -> str:
        """Return "not sandboxed", with what there is instead."""
        return "not sandboxed (separate uid and limits only)"

    def self_test(self) -> None:
        """Check that we can still become the other user, and show it a worktree. Raises SandboxError."""
        if not _run_as(self._identity, "exit 0"):
            raise SandboxError(f"cannot run anything as user id {self._identity.uid}")
        room = Path(tempfile.mkdtemp(prefix="fixwright-probe-"))
        try:
            work = room / "work"
            work.mkdir(0o700)
            os.chown(work, self._identity.uid, self._identity.gid)
            room.chmod(0o711)
            with closing(self.open(SandboxPolicy(writable=work, scratch=room / "scratch"))) as session:
                result = session.run("id -u; pwd; touch /work/here /tmp/there", _TEST_SECONDS)
            seen = result.output.split() == [str(self._identity.uid), "/work"]
            if not (seen and (work / "here").exists()):
                raise SandboxError(
                    "the worktree cannot be shown at /work: the worker needs the right to mount "
                    f"(CAP_SYS_ADMIN): {result.output.strip()[-300:]}"
                )
        finally:
            remove_tree(room)

    def open(self, policy: SandboxPolicy) -> CommandSession:
        """Return a session on a worktree that belongs to the user. Raises SandboxError."""
        if policy.shown or policy.egress is not None:
            raise SandboxError(
                "the process back end shows nothing but the worktree: it can neither do nor use a set-up"
            )
        if not _WORK.is_dir():
            _WORK.mkdir(mode=0o755)
        require_reachable(policy.writable, self._identity, purpose="worktree", writable=True)
        make_scratch(policy.scratch, self._identity)
        return ProcessSession(replace(policy, path=(*self._path, *policy.path)), self._identity)


class ProcessSession(CommandSession):
    """Commands run in the worktree itself, with the made-up environment."""

    def __init__(self, policy: SandboxPolicy, identity: Identity) -> None:
        path = [*policy.path, *SYSTEM_PATH]
        self._environment: Mapping[str, str] = command_environment(policy.env, path=path, home="/tmp")
        super().__init__(policy, identity, group=None)

    def _start(self, command: str) -> Launched:
        variables = [f"{name}={value}" for name, value in self._environment.items()]
        places = [str(self.policy.writable), str(self.policy.scratch)]
        launched = launch(
            [
                *("/usr/bin/unshare", "--mount", "--propagation", "private", "--"),
                *("/bin/sh", "-c", _AS_ROOT, "sh", *places),
                *(f"--reuid={self.identity.uid}", f"--regid={self.identity.gid}", "--clear-groups"),
                *("--no-new-privs", "--inh-caps=-all", "--bounding-set=-all", "--"),
                *("/usr/bin/env", "-i", *variables, "/bin/sh", "-c", _SHELL, "sh"),
            ],
            user=Becoming(Identity(0, 0, separate=False)),
            limits=limit_options(self.policy, processes_before=threads_of(self.identity.uid)),
        )
        launched.give(command)
        return launched

    def _pass_gates(self, launched: Launched, watch: Watch, capture: OutputCapture) -> Ending | None:
        return None

    def _sweep(self, status: int) -> None:
        """Kill all that the user runs, until nothing is left: a child may have left its group and session."""
        deadline = time.monotonic() + _SWEEP_SECONDS
        while _has_processes(self.identity.uid):
            if time.monotonic() > deadline:
                _log.warning("processes_outlive_kill", uid=self.identity.uid)
                return
            _run_as(self.identity, "kill -KILL -1")


def _distinct(uid: int | None) -> bool:
    return os.geteuid() == 0 and bool(uid)


def _run_as(identity: Identity, script: str) -> bool:
    """Run a line of shell as the user; tell whether it ended well (or killed itself with the others)."""
    try:
        ended = subprocess.run(
            ["/bin/sh", "-c", script],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            user=identity.uid, group=identity.gid, extra_groups=[], env={}, cwd="/", check=False, timeout=10,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return False
    return ended.returncode in (0, -signal.SIGKILL)


def _has_processes(uid: int) -> bool:
    """Tell whether a user runs anything; what is dead and waits for its parent does not count."""
    for process in Path("/proc").iterdir():
        try:
            if not process.name.isdigit() or process.stat().st_uid != uid:
                continue
            if (process / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
                return True
        except OSError:  # it ended meanwhile
            continue
    return False
