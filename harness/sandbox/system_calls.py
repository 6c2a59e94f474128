"""Which system calls the sandbox takes away, in one table: both forms of the filter are made from it.

What a namespace does not contain must be taken away here: AF_VSOCK ignores network namespaces, io_uring
performs socket calls that no filter sees, and the keyring, BPF and tracing calls have no namespace at all.
A call is answered with an error instead of a signal, so that a program can fall back or say what failed.
Source of the numbers: asm/unistd_64.h and asm-generic/unistd.h of Linux.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from domain.errors import SandboxError

NEW_NAMESPACES = (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET, as flags of clone."""

SOCKET_FAMILIES = (1, 2, 10)
"""AF_UNIX, AF_INET, AF_INET6: those that `socket` may make."""

PAIR_FAMILIES = (1,)
"""Those that `socketpair` may make."""

TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX type into a terminal from inside."""

NO_PERMISSION, NO_SUCH_CALL, NO_SUCH_FAMILY = 1, 38, 97
"""EPERM, ENOSYS, EAFNOSUPPORT: the same numbers on both processors."""

Numbers = tuple[int | None, int | None]
"""Of a system call on x86_64 and on aarch64; None where there is no such call."""

DENIED: Mapping[str, Numbers] = {
    "bpf": (321, 280),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "userfaultfd": (323, 282),
    "perf_event_open": (298, 241),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_by_handle_at": (304, 265),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "reboot": (169, 142),
    "acct": (163, 89),
    "syslog": (103, 116),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "fanotify_init": (300, 262),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "lookup_dcookie": (212, 18),
    "vhangup": (153, 58),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "uselib": (134, None),
}
"""Answered with EPERM."""

MISSING: Mapping[str, Numbers] = {
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "clone3": (435, 435),  # its flags lie in memory, where no filter can look
}
"""Answered with ENOSYS, so that a C library falls back to an older call."""

CHECKED: Mapping[str, Numbers] = {
    "clone": (56, 220),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "ioctl": (16, 29),
}
"""Judged by an argument."""


@dataclass(frozen=True, slots=True)
class Processor:
    """What differs between processors: its column in the table, its audit number, libseccomp's name."""

    column: int
    audit: int
    architecture: str
    first_foreign: int | None
    """Numbers from here on belong to another ABI of the same processor (x32)."""

    def numbers(self, calls: Mapping[str, Numbers]) -> list[int]:
        """Return the numbers of those calls that this processor has."""
        return [number for pair in calls.values() if (number := pair[self.column]) is not None]

    def number(self, name: str) -> int:
        """Return the number of one of the calls that are judged by an argument."""
        (number,) = self.numbers({name: CHECKED[name]})
        return number


_PROCESSORS = {
    "x86_64": Processor(0, 0xC000003E, "SCMP_ARCH_X86_64", first_foreign=512),
    "aarch64": Processor(1, 0xC00000B7, "SCMP_ARCH_AARCH64", first_foreign=None),
}


def processor_of(machine: str) -> Processor:
    """Return the processor named by `uname -m`.

    Raises SandboxError for one whose system-call numbers are not known.
    """
    processor = _PROCESSORS.get({"arm64": "aarch64", "amd64": "x86_64"}.get(machine, machine))
    if processor is None:
        known = ", ".join(_PROCESSORS)
        raise SandboxError(f"no system-call filter for the processor {machine!r}; run on one of: {known}")
    return processor
