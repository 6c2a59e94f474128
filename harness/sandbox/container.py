"""The back end for docker or podman: the operator's image, no network, no rights, hard limits."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from domain.errors import SandboxError
from domain.ports import SandboxPolicy, Shown
from harness.sandbox.container_arguments import Box
from harness.sandbox.container_engine import Engine, find_engine
from harness.sandbox.container_files import (
    proxy_socket,
    refuse_engine_doors,
    write_account_files,
    write_shown,
)
from harness.sandbox.container_image import Image, look_up_image
from harness.sandbox.container_owner import ourselves, reap_orphans
from harness.sandbox.container_seccomp import engine_filter
from harness.sandbox.container_session import ContainerSession, Setting
from harness.sandbox.environment import SYSTEM_PATH, command_environment
from harness.sandbox.identity import Identity, require_reachable, settle_identity
from harness.sandbox.limits import bound_limits, threads_of
from harness.sandbox.mountpoints import MountPoints, Point
from harness.sandbox.mounts import TEMPORARY, WORK, Mount, below, helper_mounts, search_path, tool_mounts
from harness.sandbox.probe import Expected, probe
from harness.sandbox.scratch import make_scratch

_TMPFS_BYTES = 128 * 2**20


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
        shown = self._shown(policy, identity)
        require_reachable(policy.writable, identity, purpose="worktree", writable=True)
        make_scratch(policy.scratch, identity)
        for shared in (policy.writable, policy.scratch, *(each.source for each in shown)):
            refuse_engine_doors(shared)
        try:
            seccomp = write_shown(self.state / "seccomp.json", engine_filter(platform.machine()))
            files = write_account_files(self.state, identity)
        except OSError as error:
            raise SandboxError(f"{self.state} cannot be written: {error.strerror}") from error
        lasting = Box(
            image=image,
            identity=identity,
            labels=ourselves(self.service).labels,
            seccomp=seccomp,
            files=files,
            shown=shown,
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

        return ContainerSession(
            Setting(engine=engine, policy=policy, box=box, mountpoints=_mount_points(policy, shown))
        )

    def _environment(self, policy: SandboxPolicy, image: Image) -> Mapping[str, str]:
        """Return the variables: the image's own give way to ours, and its directories stand before ours."""
        path = [*search_path(self.helpers or {}, self.tools), *policy.path, *image.path, *SYSTEM_PATH]
        ours = command_environment(policy.env, path=list(dict.fromkeys(path)))
        return {**image.variables, **ours}

    def _shown(self, policy: SandboxPolicy, identity: Identity) -> tuple[Shown, ...]:
        ours = [*tool_mounts(self.tools), *helper_mounts(self.helpers or {})]
        for mount in ours:
            require_reachable(mount.source, identity, purpose="tool directory")
        return (*(Shown(source=mount.source, target=str(mount.target)) for mount in ours), *policy.shown)


def _mount_points(policy: SandboxPolicy, shown: Sequence[Shown]) -> MountPoints:
    roots = ((policy.writable, WORK), (policy.scratch, TEMPORARY))
    mounts = [Mount(each.source, PurePosixPath(each.target)) for each in shown]
    inside = [
        Point(host, each.target, each.source.is_file())
        for host, guest in roots
        for each in below(mounts, guest)
    ]
    return MountPoints([host for host, _ in roots], inside)
