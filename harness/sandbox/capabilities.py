"""What this process may do without being root: the kernel's capabilities, read from its status."""

from __future__ import annotations

from pathlib import Path

_BITS = {"CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "KILL": 5, "SETGID": 6, "SETUID": 7}
"""Numbers of include/uapi/linux/capability.h."""

NEEDED = tuple(f"CAP_{name}" for name in _BITS)
"""What a worker that is not root needs to run commands as a user of their own: to become that user, to give
files to it, to read and remove what it made, and to kill what it started."""

SETS = ("CapInh", "CapPrm", "CapEff", "CapAmb")


def may_become_others(status: Path = Path("/proc/self/status")) -> bool:
    """Tell whether this process can run commands as another user, and clear up after them."""
    return not missing_capabilities(status)


def missing_capabilities(status: Path = Path("/proc/self/status")) -> tuple[str, ...]:
    """Return those of `NEEDED` that are not in force here."""
    mask = int(fields_of(status.read_text(encoding="ascii", errors="replace")).get("CapEff", ["0"])[0], 16)
    return tuple(name for name, bit in zip(NEEDED, _BITS.values(), strict=True) if not mask >> bit & 1)


def fields_of(status: str) -> dict[str, list[str]]:
    """Return the words of each line of a /proc/PID/status, by the line's name."""
    return {key: value.split() for key, _, value in (line.partition(":") for line in status.splitlines())}
