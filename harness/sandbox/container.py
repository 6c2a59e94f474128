"""The back end for docker or podman: the operator's image, no network, no rights, hard limits."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from domain.errors import SandboxError
from domain.ports import SandboxPolicy
from harness.sandbox.container_arguments import Box
from harness.sandbox.container_engine import Engine, find_engine
from harness.sandbox.container_files import (
    make_mount_points,
    proxy_socket,
    refuse_engine_doors,
    remove_pid_files,
    write_guest_files,
    write_shown,
)
from harness.sandbox.container_image import Image, look_up_image
from harness.sandbox.container_owner import ourselves, reap_orphans
from harness.sandbox.container_seccomp import engine_filter
from harness.sandbox.container_session import ContainerSession, Setting
from harness.sandbox.egress import egress_environment
from harness.sandbox.environment import SYSTEM_PATH, command_environment
from harness.sandbox.identity import Identity, require_reachable, settle_identity
from harness.sandbox.limits import bound_limits, threads_of
from harness.sandbox.mountpoints import MountPoints, Point
from harness.sandbox.mounts import (
    TEMPORARY,
    WORK,
    Mount,
    below,
    helper_mounts,
    search_path,
    shown_mounts,
    tool_mounts,
)
from harness.sandbox.probe import Expected, probe
from harness.sandbox.scratch import make_scratch

_TMPFS_BYTES = 128 * 2**20
_FOR_SHELLS = frozenset({"BASH_ENV", "ENV"})
"""Variables by which a shell reads a file before each command: it might be one in the worktree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSandbox:
    """Implements `domain.ports.Sandbox`.

    state    a directory of ours for the few files that containers are shown; made if absent
    image    the image's name, best with its digest; it must be on the machine
    engine   "podman", "docker", a program's path, or empty for the first that is there
    service  tells apart workers that share a machine: orphans are looked for under this name
    uid, tools, helpers, nice: as for bubblewrap; what is shown must fit the image's own libraries
    """

    state: Path
    image: str
    uid: int | None
    engine: str = ""
    service: str = "fixwright"
    tools: Sequence[Path] = ()
    helpers: Mapping[str, Path] | None = None
    nice: bool = True

    @property
    def isolation(self) -> str:
        """Return one line, such as "podman 4.3.1 container, image sha256:…, separate uid, no network, …"."""
        try:
            engine = find_engine(self.engine)
            image = look_up_image(engine, self.image)
            separate = settle_identity(self.uid).separate
        except SandboxError as error:
            return f"none, nothing is run: {error}"
        parts = (
            f"{engine.name} {engine.version} container{' (rootless)' if engine.rootless else ''}",
            f"image {image.digest}",
            "separate uid" if separate else "same uid as the worker",
            "no network",
            "seccomp",
            f"cgroup {engine.cgroup}" if engine.cgroup else "no cgroup",
        )
        return ", ".join(parts)

    def self_test(self) -> None:
        """Remove what dead workers left, then try the isolation for real, in a second or two.

        Raises SandboxError.
        """
        identity = settle_identity(self.uid)
        engine = find_engine(self.engine)
        image = look_up_image(engine, self.image)
        reap_orphans(engine, ourselves(self.service))
        remove_pid_files(self.state)
        expected = Expected(
            uid=identity.uid,
            shared=frozenset() if engine.rootless else frozenset({"user"}),
            variables=frozenset(image.variables),
            first_process_is_a_shell=True,
        )
        # The probe must not wait behind everything else on the machine.
        probe(lambda policy: self._open(engine, image, policy, nice=False), identity, expected)

    def open(self, policy: SandboxPolicy) -> ContainerSession:
        """Return a session. `policy.writable` must belong to the sandbox's user; scratch is made for it.

        Raises SandboxError.
        """
        engine = find_engine(self.engine)
        return self._open(engine, look_up_image(engine, self.image), policy, nice=self.nice)

    def _open(self, engine: Engine, image: Image, policy: SandboxPolicy, *, nice: bool) -> ContainerSession:
        identity = settle_identity(self.uid)
        for shared in (policy.writable, policy.scratch, *(each.source for each in policy.shown), *self.tools):
            refuse_engine_doors(shared)
        mounts = self._mounts(policy, identity)
        require_reachable(policy.writable, identity, purpose="worktree", writable=True)
        make_scratch(policy.scratch, identity)
        try:
            seccomp = write_shown(self.state / "seccomp.json", engine_filter(platform.machine()))
            files = write_guest_files(self.state, identity, relay=policy.egress is not None)
        except OSError as error:
            raise SandboxError(f"{self.state} cannot be written: {error.strerror}") from error
        lasting = Box(
            image=image,
            identity=identity,
            labels=ourselves(self.service).labels,
            seccomp=seccomp,
            files=files,
            mounts=mounts,
            work=policy.writable,
            scratch=policy.scratch,
            egress=None if policy.egress is None else proxy_socket(policy.egress),
            environment=self._environment(policy, image),
            ulimits={},
            memory_bytes=policy.memory_bytes,
            processes=policy.processes,
            tmpfs_bytes=min(_TMPFS_BYTES, policy.memory_bytes),
            yield_processor=nice,
        )

        def box() -> Box:
            """The limit on processes counts all of the user's, so it depends on what runs just then."""
            before = threads_of(identity.uid)
            return replace(lasting, ulimits=bound_limits(policy, processes_before=before))

        points = _points(policy, mounts)
        cleared = MountPoints([policy.writable, policy.scratch], points)

        def prepare() -> None:
            cleared.clear_the_way()
            make_mount_points(points, identity)

        return ContainerSession(
            Setting(
                engine=engine,
                policy=policy,
                state=seccomp.parent,
                box=box,
                prepare=prepare,
                release=cleared.remove,
            )
        )

    def _environment(self, policy: SandboxPolicy, image: Image) -> Mapping[str, str]:
        """Return the variables: the image's own give way to ours, and its directories stand before ours."""
        path = [*search_path(self.helpers or {}, self.tools, policy.path), *image.path, *SYSTEM_PATH]
        relayed = egress_environment() if policy.egress is not None else {}
        ours = command_environment({**relayed, **policy.env}, path=list(dict.fromkeys(path)))
        kept = {key: value for key, value in image.variables.items() if key not in _FOR_SHELLS}
        return {**kept, **ours}

    def _mounts(self, policy: SandboxPolicy, identity: Identity) -> tuple[Mount, ...]:
        """Return what is shown of the host besides the worktree, if the user can get there."""
        tools = [*tool_mounts(self.tools), *helper_mounts(self.helpers or {})]
        for mount in tools:
            require_reachable(mount.source, identity, purpose="tool directory")
        shown = shown_mounts(policy.shown)
        for mount in shown:
            if mount.source.is_dir():
                require_reachable(mount.source, identity, purpose="shown directory", writable=mount.writable)
        return (*tools, *shown)


def _points(policy: SandboxPolicy, mounts: Sequence[Mount]) -> list[Point]:
    """Return the mount points that lie in the directories which commands can write."""
    return [
        Point(host, mount.target, mount.source.is_file())
        for host, guest in ((policy.writable, WORK), (policy.scratch, TEMPORARY))
        for mount in below(mounts, guest)
    ]
