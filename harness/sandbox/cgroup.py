"""Control groups, version 1 or 2, where this process may make them: memory, processes, processor share."""

from __future__ import annotations

import os
import secrets
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import structlog

from domain.ports import SandboxPolicy

_log = structlog.get_logger(__name__)
_CONTROLLERS = ("memory", "pids", "cpu")
_PREFIX = "fixwright-"
_ASIDE = "worker"
"""Where a worker stands that was given the group above, which may not hold processes beside its children."""
_PERIOD_US = 100_000
_PROCESSOR_SHARE = 0.8
_OWN_PROCESSES = 8
_EMPTYING_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Delegation:
    """Where groups may be made: controller → directory. In version 2 it is one directory for all."""

    version: int
    parents: Mapping[str, Path]

    def __str__(self) -> str:
        return f"cgroup v{self.version} ({', '.join(self.parents)})"

    def make_group(self, policy: SandboxPolicy) -> Group | None:
        """Make a group with the policy's limits, or return None (and log why) if the kernel refuses."""
        name = f"{_PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
        directories = {controller: parent / name for controller, parent in self.parents.items()}
        group = Group(self.version, directories)
        try:
            for directory in set(directories.values()):
                directory.mkdir()
            for controller, file, value in _settings(self.version, policy):
                if controller in directories:
                    _set(directories[controller] / file, value)
        except OSError as error:
            _log.warning("cgroup_refused", error=str(error))
            group.close()
            return None
        return group


@dataclass(frozen=True, slots=True)
class Group:
    """One session's group."""

    version: int
    directories: Mapping[str, Path]

    def admit(self, pid: int) -> None:
        """Move a process in; all that it starts from now on is in as well. Raises OSError."""
        for directory in set(self.directories.values()):
            (directory / "cgroup.procs").write_text(str(pid))

    def memory_kills(self) -> int:
        """Return how many processes the kernel has killed here because the memory limit was reached."""
        memory = self.directories.get("memory")
        if memory is None:
            return 0
        file = memory / ("memory.events" if self.version == 2 else "memory.oom_control")
        with suppress(OSError):
            for line in file.read_text().splitlines():
                key, _, value = line.partition(" ")
                if key == "oom_kill":
                    return int(value)
        return 0

    def kill(self) -> None:
        """Kill every process in the group."""
        for directory in set(self.directories.values()):
            with suppress(OSError):
                if self.version == 2 and _kill_at_once(directory):
                    continue
                for pid in (directory / "cgroup.procs").read_bytes().split():
                    with suppress(ProcessLookupError):
                        os.kill(int(pid), signal.SIGKILL)

    def close(self) -> None:
        """Remove the group, waiting a moment for what was killed in it to be gone."""
        for directory in set(self.directories.values()):
            deadline = time.monotonic() + _EMPTYING_SECONDS
            while directory.exists():
                try:
                    directory.rmdir()
                except OSError as error:
                    if time.monotonic() > deadline:
                        _log.warning("cgroup_left_behind", directory=str(directory), error=str(error))
                        break
                    time.sleep(0.005)


def find_delegation(
    mounts: Path = Path("/proc/self/mounts"), own: Path = Path("/proc/self/cgroup")
) -> Delegation | None:
    """Return where this process may make groups, or None. Removes groups that a dead worker left."""
    mounted = [line.split(" ")[1:4] for line in mounts.read_text().splitlines()]
    belongs = dict(_memberships(own.read_text()))
    delegation = _version_2(mounted, belongs) or _version_1(mounted, belongs)
    if delegation is None:
        return None
    for parent in set(delegation.parents.values()):
        _remove_leftovers(parent)
    return delegation


def _memberships(text: str) -> list[tuple[str, str]]:
    """Return (controller, path) pairs of /proc/self/cgroup; the controller is empty for version 2."""
    found = []
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        found += [(controller, path) for controller in controllers.split(",")]
    return found


def _version_2(mounted: list[list[str]], belongs: Mapping[str, str]) -> Delegation | None:
    for point, kind, _ in mounted:
        own = Path(point) / belongs.get("", "/").lstrip("/")
        # systemd gives the worker a group of its own (Delegate=); it may have stepped aside in it before.
        for parent in (Path(point) / "fixwright", own.parent if own.name == _ASIDE else own):
            # Moving a process takes a right on the lowest group above where it was and where it goes.
            common = Path(os.path.commonpath([own, parent]))
            if kind != "cgroup2" or not _writable(parent) or not _admits(common):
                continue
            if _enabled(parent) or (_step_aside(parent) and _enabled(parent)):
                return Delegation(2, dict.fromkeys(_CONTROLLERS, parent))
    return None


def _step_aside(parent: Path) -> bool:
    """Move this process into a group below `parent`, if it is alone there, so that it may have children."""
    try:
        if {int(pid) for pid in (parent / "cgroup.procs").read_bytes().split()} != {os.getpid()}:
            return False
        aside = parent / _ASIDE
        aside.mkdir(exist_ok=True)
        (aside / "cgroup.procs").write_text(str(os.getpid()))
    except OSError as error:
        _log.warning("cgroup_not_left", directory=str(parent), error=str(error))
        return False
    return True


def _enabled(parent: Path) -> bool:
    """Tell whether children of `parent` get our controllers, after trying to switch them on."""
    control = parent / "cgroup.subtree_control"
    try:
        if not set(_CONTROLLERS) <= set(control.read_text().split()):
            _set(control, " ".join(f"+{controller}" for controller in _CONTROLLERS))
        return True
    except OSError:  # not all there, or the group holds processes itself: then it cannot have children
        return False


def _version_1(mounted: list[list[str]], belongs: Mapping[str, str]) -> Delegation | None:
    parents = {}
    for point, kind, options in mounted:
        for controller in set(options.split(",")) & set(_CONTROLLERS):
            parent = Path(point) / belongs.get(controller, "/").lstrip("/")
            if kind == "cgroup" and _writable(parent) and _admits(parent):
                parents[controller] = parent
    ordered = {controller: parents[controller] for controller in _CONTROLLERS if controller in parents}
    return Delegation(1, ordered) if "memory" in ordered else None


def _writable(directory: Path) -> bool:
    return directory.is_dir() and os.access(directory, os.W_OK)


def _admits(directory: Path) -> bool:
    return os.access(directory / "cgroup.procs", os.W_OK)


def _settings(version: int, policy: SandboxPolicy) -> list[tuple[str, str, str]]:
    quota = int(_PERIOD_US * _PROCESSOR_SHARE * (os.cpu_count() or 1))
    memory, processes = str(policy.memory_bytes), str(policy.processes + _OWN_PROCESSES)
    if version == 2:
        return [
            ("memory", "memory.max", memory),
            ("memory", "memory.swap.max", "0"),
            ("pids", "pids.max", processes),
            ("cpu", "cpu.max", f"{quota} {_PERIOD_US}"),
        ]
    return [
        ("memory", "memory.limit_in_bytes", memory),
        ("memory", "memory.memsw.limit_in_bytes", memory),
        ("pids", "pids.max", processes),
        ("cpu", "cpu.cfs_period_us", str(_PERIOD_US)),
        ("cpu", "cpu.cfs_quota_us", str(quota)),
    ]


def _set(file: Path, value: str) -> None:
    """Write a setting. A file that this kernel does not have (no swap accounting) is passed over."""
    if file.exists():
        file.write_text(value)


def _kill_at_once(directory: Path) -> bool:
    """Kill what is in a group of version 2; False where the kernel is too old for that."""
    file = directory / "cgroup.kill"
    if not file.exists():
        return False
    file.write_text("1")
    return True


def _remove_leftovers(parent: Path) -> None:
    for directory in parent.glob(f"{_PREFIX}*-*"):
        owner = directory.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            with suppress(OSError):
                directory.rmdir()
