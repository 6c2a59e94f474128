"""Assembles the system-call filter of the sandbox as classic BPF, for the two processors that we know.

What a namespace does not contain must be taken away here: AF_VSOCK ignores network namespaces, io_uring
performs socket calls that no filter sees, and the keyring, BPF and tracing calls have no namespace at all.
The filter answers with an error instead of a signal, so that a program can fall back or say what failed.
"""

from __future__ import annotations

import errno
import struct
from dataclasses import dataclass

from domain.errors import SandboxError

_LOAD, _AND = 0x20, 0x54
_JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x15, 0x35, 0x06
_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT, _SECOND_ARGUMENT_AT = 0, 4, 16, 24

_NEW_NAMESPACES = 0x7E020080
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET and NEWTIME, as flags of clone."""
_SOCKET_FAMILIES = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6
_TERMINAL_INPUT = (0x5412, 0x541C)  # TIOCSTI and TIOCLINUX type into a terminal from inside


@dataclass(frozen=True, slots=True)
class _Processor:
    """What differs between processors: the audit number and the numbers of system calls."""

    audit: int
    clone: int
    socket: int
    socketpair: int
    ioctl: int
    denied: tuple[int, ...]
    missing: tuple[int, ...]
    first_foreign: int | None
    """Numbers from here on belong to another ABI of the same processor (x32)."""


# Denied, in this order: bpf, keyctl, add_key, request_key, ptrace, process_vm_readv, process_vm_writev,
# process_madvise, userfaultfd, perf_event_open, kexec_load, kexec_file_load, init_module, finit_module,
# delete_module, mount, umount2, pivot_root, chroot, open_tree, move_mount, fsopen, fsconfig, fsmount, fspick,
# mount_setattr, open_tree_attr, unshare, setns, open_by_handle_at, quotactl, quotactl_fd, swapon, swapoff,
# reboot, acct, syslog, settimeofday, clock_settime, fanotify_init, pidfd_getfd, kcmp, lookup_dcookie,
# vhangup; on x86_64 also iopl, ioperm, modify_ldt, uselib. Reported as missing, so that a C library falls
# back to an older call: io_uring_setup, io_uring_enter, io_uring_register, clone3 (its flags lie in memory).
# Source: asm/unistd_64.h and asm-generic/unistd.h of Linux.
# fmt: off
_PROCESSORS = {
    "x86_64": _Processor(
        audit=0xC000003E, clone=56, socket=41, socketpair=53, ioctl=16,
        denied=(321, 250, 248, 249, 101, 310, 311, 440, 323, 298, 246, 320, 175, 313, 176, 165, 166, 155, 161,
                428, 429, 430, 431, 432, 433, 442, 467, 272, 308, 304, 179, 443, 167, 168, 169, 163, 103, 164,
                227, 300, 438, 312, 212, 153, 172, 173, 154, 134),
        missing=(425, 426, 427, 435), first_foreign=512,
    ),
    "aarch64": _Processor(
        audit=0xC00000B7, clone=220, socket=198, socketpair=199, ioctl=29,
        denied=(280, 219, 217, 218, 117, 270, 271, 440, 282, 241, 104, 294, 105, 273, 106, 40, 39, 41, 51,
                428, 429, 430, 431, 432, 433, 442, 467, 97, 268, 265, 60, 443, 224, 225, 142, 89, 116, 170,
                112, 262, 438, 272, 18, 58),
        missing=(425, 426, 427, 435), first_foreign=None,
    ),
}
# fmt: on


def system_call_filter(machine: str) -> bytes:
    """Return the filter for a processor as named by `uname -m`: 8 bytes an instruction.

    Raises SandboxError for a processor whose system-call numbers are not known.
    """
    processor = _PROCESSORS.get({"arm64": "aarch64", "amd64": "x86_64"}.get(machine, machine))
    if processor is None:
        known = ", ".join(_PROCESSORS)
        raise SandboxError(f"no system-call filter for the processor {machine!r}; run on one of: {known}")
    return b"".join(_program(processor))


def _program(processor: _Processor) -> list[bytes]:
    program = [
        _instruction(_LOAD, _ARCHITECTURE_AT),
        _instruction(_JUMP_EQUAL, processor.audit, 1, 0),
        _instruction(_RETURN, _KILL_PROCESS),
        _instruction(_LOAD, _NUMBER_AT),
    ]
    if processor.first_foreign is not None:
        program += [_instruction(_JUMP_AT_LEAST, processor.first_foreign, 0, 1), _answer(errno.ENOSYS)]
    for number in processor.denied:
        program += _on_call(number, [_answer(errno.EPERM)])
    for number in processor.missing:
        program += _on_call(number, [_answer(errno.ENOSYS)])
    program += _on_call(processor.clone, _refuse_new_namespaces())
    program += _on_call(processor.socket, _only_first_argument(_SOCKET_FAMILIES, errno.EAFNOSUPPORT))
    program += _on_call(processor.socketpair, _only_first_argument((1,), errno.EAFNOSUPPORT))
    program += _on_call(processor.ioctl, _refuse_second_argument(_TERMINAL_INPUT))
    return [*program, _instruction(_RETURN, _ALLOW)]


def _on_call(number: int, body: list[bytes]) -> list[bytes]:
    """Run `body`, which ends in an answer, for one system call; step over it for any other."""
    return [_instruction(_JUMP_EQUAL, number, 0, len(body)), *body]


def _refuse_new_namespaces() -> list[bytes]:
    return [
        _instruction(_LOAD, _FIRST_ARGUMENT_AT),
        # The lowest byte of the flags is the signal number; bit 0x80 is a flag of unshare and clone3 only.
        _instruction(_AND, _NEW_NAMESPACES & ~0xFF),
        _instruction(_JUMP_EQUAL, 0, 0, 1),
        _instruction(_RETURN, _ALLOW),
        _answer(errno.EPERM),
    ]


def _only_first_argument(allowed: tuple[int, ...], error: int) -> list[bytes]:
    body = [_instruction(_LOAD, _FIRST_ARGUMENT_AT)]
    for value in allowed:
        body += [_instruction(_JUMP_EQUAL, value, 0, 1), _instruction(_RETURN, _ALLOW)]
    return [*body, _answer(error)]


def _refuse_second_argument(refused: tuple[int, ...]) -> list[bytes]:
    body = [_instruction(_LOAD, _SECOND_ARGUMENT_AT)]
    for value in refused:
        body += [_instruction(_JUMP_EQUAL, value, 0, 1), _answer(errno.EPERM)]
    return [*body, _instruction(_RETURN, _ALLOW)]


def _answer(error: int) -> bytes:
    return _instruction(_RETURN, _ERRNO | error)


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
