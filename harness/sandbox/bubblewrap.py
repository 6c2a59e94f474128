"""The default back end: bubblewrap, as another user where we are root, without network, with limits."""

from __future__ import annotations

import os
import platform
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from domain.errors import SandboxError
from domain.ports import SandboxPolicy
from harness.sandbox.becoming import way_to_become
from harness.sandbox.bubblewrap_session import BubblewrapSession, Setting
from harness.sandbox.cgroup import Delegation, find_delegation
from harness.sandbox.egress import egress_environment, relay_files, require_relay
from harness.sandbox.environment import ACCOUNT_FILES, SYSTEM_PATH, command_environment
from harness.sandbox.identity import Identity, require_reachable, settle_identity
from harness.sandbox.mountpoints import MountPoints, Point
from harness.sandbox.mounts import (
    TEMPORARY,
    WORK,
    Mount,
    below,
    helper_mounts,
    needed_of_etc,
    search_path,
    shown_mounts,
    tool_mounts,
)
from harness.sandbox.probe import probe
from harness.sandbox.profile import Profile
from harness.sandbox.scratch import make_scratch
from harness.sandbox.seccomp import system_call_filter

_TMPFS_BYTES = 128 * 2**20
_PLACES = tuple(Path(name) for name in ("/usr/bin", "/usr/local/bin", "/bin"))


class BubblewrapSandbox:
    """Implements `domain.ports.Sandbox`.

    uid      whom to run as when this process is root; otherwise None, and commands run as ourselves
    tools    directories shown read-only at their own path, their `bin` early on PATH
    helpers  guest path → host directory, shown read-only, first on PATH
    nice     commands yield the processor to everything else (SCHED_IDLE)
    bwrap    the program, if it is not to be looked for in the system's own directories
    cgroups  use control groups where they can be made
    """

    def __init__(
        self,
        *,
        uid: int | None,
        tools: Sequence[Path] = (),
        helpers: Mapping[str, Path] | None = None,
        nice: bool = True,
        bwrap: Path | None = None,
        cgroups: bool = True,
    ) -> None:
        self._uid = uid
        self._tools = tuple(tools)
        self._helpers = dict(helpers or {})
        self._nice = nice
        self._bwrap = bwrap
        self._cgroups = cgroups

    @property
    def isolation(self) -> str:
        """Return one line, such as "bubblewrap, separate uid, no network, seccomp, no cgroup"."""
        try:
            separate = settle_identity(self._uid).separate
        except SandboxError as error:
            return f"none, nothing is run: {error}"
        user = "separate uid" if separate else "same uid as the worker"
        return f"bubblewrap, {user}, no network, seccomp, {self._delegation() or 'no cgroup'}"

    def self_test(self) -> None:
        """Try the isolation for real, in well under a second. Raises SandboxError."""
        # The probe must not wait behind everything else on the machine.
        eager = BubblewrapSandbox(
            uid=self._uid,
            tools=self._tools,
            helpers=self._helpers,
            nice=False,
            bwrap=self._bwrap,
            cgroups=self._cgroups,
        )
        probe(eager.open, settle_identity(self._uid))

    def open(self, policy: SandboxPolicy) -> BubblewrapSession:
        """Return a session. `policy.writable` must belong to the sandbox's user; scratch is made for it.

        Raises SandboxError.
        """
        identity = settle_identity(self._uid)
        mounts = self._mounts(policy, identity)
        require_reachable(policy.writable, identity, purpose="worktree", writable=True)
        make_scratch(policy.scratch, identity)
        roots = ((policy.writable, WORK), (policy.scratch, TEMPORARY))
        inside = [Point(host, each.target, each.source.is_file()) for host, guest in roots
                  for each in below(mounts, guest)]  # fmt: skip
        points = MountPoints([host for host, _ in roots], inside)
        path = [*search_path(self._helpers, self._tools, policy.path), *SYSTEM_PATH]
        delegation = self._delegation()
        if policy.egress is not None:
            require_relay()
        etc, copies = needed_of_etc()
        texts = {**ACCOUNT_FILES, **(relay_files() if policy.egress is not None else {})}
        setting = Setting(
            bwrap=self._program(),
            user=way_to_become(identity),
            policy=policy,
            profile=Profile(
                work=policy.writable,
                scratch=policy.scratch,
                mounts=(*etc, *mounts),
                environment=command_environment(
                    {**(egress_environment() if policy.egress else {}), **policy.env}, path=path
                ),
                tmpfs_bytes=min(_TMPFS_BYTES, policy.memory_bytes),
                egress=policy.egress,
            ),
            files={**copies, **{path: text.encode() for path, text in texts.items()}},
            seccomp=system_call_filter(platform.machine()),
            mountpoints=points,
            group=delegation.make_group(policy) if delegation else None,
            yield_processor=self._nice,
        )
        return BubblewrapSession(setting)

    def _mounts(self, policy: SandboxPolicy, identity: Identity) -> list[Mount]:
        """Return what is shown of the host besides the worktree, if the user can get there."""
        tools = [*tool_mounts(self._tools), *helper_mounts(self._helpers)]
        for mount in tools:
            require_reachable(mount.source, identity, purpose="tool directory")
        shown = shown_mounts(policy.shown)
        for mount in shown:
            if mount.source.is_dir():
                require_reachable(mount.source, identity, purpose="shown directory", writable=mount.writable)
        return [*tools, *shown]

    def _delegation(self) -> Delegation | None:
        return find_delegation() if self._cgroups else None

    def _program(self) -> Path:
        """Return bubblewrap's path: never by PATH, and only where nobody but root can have put it."""
        for candidate in (self._bwrap,) if self._bwrap else (place / "bwrap" for place in _PLACES):
            if not candidate.is_file():
                continue
            for part in (candidate, candidate.parent):
                found = part.stat()
                if found.st_uid != 0 or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                    raise SandboxError(f"{part} can be changed by others than root; it is not used")
            if os.access(candidate, os.X_OK):
                return candidate
        raise SandboxError("bubblewrap is missing: install Debian's package bubblewrap")
