"""Whose a container is, as its labels say it; and the removal of those whose owner is gone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import structlog

from domain.errors import SandboxError
from harness.sandbox.container_engine import Engine, read_facts

_log = structlog.get_logger(__name__)
_SERVICE, _PROCESS, _BOOT, _PIDS = (f"fixwright.{key}" for key in ("service", "process", "boot", "pids"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """One process of a service: `process` is its pid and start, `boot` and `pids` say where that counts."""

    service: str
    process: str
    boot: str
    pids: str

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of its containers."""
        return {_SERVICE: self.service, _PROCESS: self.process, _BOOT: self.boot, _PIDS: self.pids}

    def is_orphan(self, labels: Mapping[str, str]) -> bool:
        """Tell whether a container of our service was left by a process that is gone.

        A process that we could not see (before a reboot, in another container) counts as gone: a service's
        name stands for one worker at a time.
        """
        if labels.get(_SERVICE) != self.service:
            return False
        process = labels.get(_PROCESS, "")
        if process == self.process and labels.get(_PIDS) == self.pids and labels.get(_BOOT) == self.boot:
            return False
        is_near = labels.get(_BOOT) == self.boot and labels.get(_PIDS) == self.pids
        return not (is_near and _is_alive(process))


def ourselves(service: str) -> Owner:
    """Return this process as an owner. `service` tells apart workers that share a machine."""
    return Owner(
        service=service,
        process=f"{os.getpid()}:{_start_of(os.getpid())}",
        boot=Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        pids=os.fspath(Path("/proc/self/ns/pid").readlink()),
    )


def reap_orphans(engine: Engine, owner: Owner) -> int:
    """Remove the containers of dead workers of this service; return how many. Raises SandboxError."""
    listed = engine.call(
        "ps", "--all", "--quiet", "--no-trunc", "--filter", f"label={_SERVICE}={owner.service}"
    )
    reaped = 0
    for container in listed.split():
        try:
            labels = read_facts(
                engine.call("container", "inspect", "--format", "{{json .Config.Labels}}", container)
            )
        except SandboxError:  # it went meanwhile
            continue
        if owner.is_orphan({key: str(value) for key, value in labels.items()}):
            remove_container(engine, container)
            reaped += 1
    if reaped:
        _log.warning("orphaned_containers_removed", count=reaped)
    return reaped


def remove_container(engine: Engine, container: str) -> None:
    """Kill all that runs in a container, and remove it with its volumes; gone already is fine.

    Raises SandboxError if it cannot be removed.
    """
    at_once = ["--time", "0"] if engine.is_podman else []
    try:
        engine.call("rm", "--force", "--volumes", *at_once, container)
    except SandboxError as error:
        if "no such container" not in str(error).lower() and "no container with" not in str(error).lower():
            raise


def _is_alive(process: str) -> bool:
    pid, _, start = process.partition(":")
    return pid.isdigit() and bool(start) and _start_of(int(pid)) == start


def _start_of(pid: int) -> str:
    """Return when a process began, in ticks since the boot; empty if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""
