"""The hard limits of a command, which the gate before it puts on itself and so on all that it becomes.

The gate does it, because root in a container often may not limit others (CAP_SYS_RESOURCE, CAP_SYS_NICE).
"""

from __future__ import annotations

import resource
from pathlib import Path

from domain.ports import SandboxPolicy

_OPEN_FILES = 4096
_OWN_PROCESSES = 8
"""Room for what is ours in the sandbox: two bubblewraps, the gates, and their threads."""

IDLE_PRIORITY = ("/usr/bin/chrt", "--idle", "0")
"""Words before a command that make it yield the processor to everything else."""


def limit_options(policy: SandboxPolicy, *, processes_before: int) -> dict[str, int]:
    """Return the limits as options of bash's `ulimit`: processes, data, file size, descriptors, core dumps.

    The process limit counts all processes of the user, so those that ran before are added. Data instead of
    address space, which WebAssembly and garbage collectors reserve by the gigabyte without using it.
    """
    bounds = bound_limits(policy, processes_before=processes_before)
    return {
        "-u": bounds["nproc"],
        "-d": bounds["data"] // 1024,
        "-f": bounds["fsize"] // 1024,
        "-n": bounds["nofile"],
        "-c": bounds["core"],
    }


def bound_limits(policy: SandboxPolicy, *, processes_before: int) -> dict[str, int]:
    """Return the same limits by the names that container engines give them, in bytes and counts."""
    return {
        "nproc": _attainable(resource.RLIMIT_NPROC, policy.processes + processes_before + _OWN_PROCESSES),
        "data": _attainable(resource.RLIMIT_DATA, policy.memory_bytes),
        "fsize": _attainable(resource.RLIMIT_FSIZE, policy.file_bytes),
        "nofile": _attainable(resource.RLIMIT_NOFILE, _OPEN_FILES),
        "core": 0,
    }


def _attainable(kind: int, wanted: int) -> int:
    """Return the wanted limit, or the hard limit that we are under ourselves if that is lower."""
    _, hard = resource.getrlimit(kind)
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


def threads_of(uid: int) -> int:
    """Count the threads that a user runs now, on the whole host."""
    count = 0
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            if process.stat().st_uid == uid:
                count += sum(1 for _ in (process / "task").iterdir())
        except OSError:  # it ended meanwhile
            continue
    return count
