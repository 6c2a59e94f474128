"""The hard limits of a command, put on by small programs that run before it and become it.

They limit themselves, because root in a container often may not limit others (CAP_SYS_RESOURCE, CAP_SYS_NICE).
"""

from __future__ import annotations

import resource
from pathlib import Path

from domain.ports import SandboxPolicy

_OPEN_FILES = 4096
_OWN_PROCESSES = 8
"""Room for what is ours in the sandbox: two bubblewraps, the gates, and their threads."""

_KINDS = {
    "nproc": resource.RLIMIT_NPROC,
    "data": resource.RLIMIT_DATA,
    "fsize": resource.RLIMIT_FSIZE,
    "nofile": resource.RLIMIT_NOFILE,
    "core": resource.RLIMIT_CORE,
}


def limiting_prefix(policy: SandboxPolicy, *, processes_before: int, yield_processor: bool) -> list[str]:
    """Return the words to put before a command: processes, data, file size, descriptors, core dumps.

    RLIMIT_NPROC counts all processes of the user, so those that ran before are added. RLIMIT_DATA instead of
    RLIMIT_AS, which WebAssembly and garbage collectors reserve by the gigabyte without using it.
    """
    wanted = {
        "nproc": policy.processes + processes_before + _OWN_PROCESSES,
        "data": policy.memory_bytes,
        "fsize": policy.file_bytes,
        "nofile": _OPEN_FILES,
        "core": 0,
    }
    options = [f"--{name}={ceiling}:{ceiling}" for name, ceiling in _attainable(wanted).items()]
    prefix = ["/usr/bin/prlimit", *options]
    return ["/usr/bin/chrt", "--idle", "0", *prefix] if yield_processor else prefix


def _attainable(wanted: dict[str, int]) -> dict[str, int]:
    """Return the limits, none above a hard limit that we are under ourselves."""
    hard = {name: resource.getrlimit(kind)[1] for name, kind in _KINDS.items()}
    return {
        name: value if hard[name] == resource.RLIM_INFINITY else min(value, hard[name])
        for name, value in wanted.items()
    }


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
