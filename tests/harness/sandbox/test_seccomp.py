"""The filter, run by a small interpreter of classic BPF: so that both processors are tested on either."""

from __future__ import annotations

import errno
import struct

import pytest

from domain.errors import SandboxError
from harness.sandbox.seccomp import system_call_filter

ALLOW, KILL = 0x7FFF0000, 0x80000000
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
NUMBERS = {
    "x86_64": {"socket": 41, "socketpair": 53, "clone": 56, "clone3": 435, "ioctl": 16, "read": 0,
               "execve": 59, "bpf": 321, "ptrace": 101, "mount": 165, "unshare": 272, "setns": 308,
               "io_uring_setup": 425},
    "aarch64": {"socket": 198, "socketpair": 199, "clone": 220, "clone3": 435, "ioctl": 29, "read": 63,
                "execve": 221, "bpf": 280, "ptrace": 117, "mount": 40, "unshare": 97, "setns": 268,
                "io_uring_setup": 425},
}  # fmt: skip


def verdict(program: bytes, audit: int, number: int, *arguments: int) -> int:
    """Run the filter on a system call and return its answer."""
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("=IIQ6Q", number, audit, 0, *padded)
    instructions = list(struct.iter_unpack("=HBBI", program))
    accumulator, at = 0, 0
    while True:
        code, if_true, if_false, value = instructions[at]
        at += 1
        if code == 0x20:
            accumulator = struct.unpack_from("=I", data, value)[0]
        elif code == 0x54:
            accumulator &= value
        elif code in (0x15, 0x35):
            holds = accumulator == value if code == 0x15 else accumulator >= value
            at += if_true if holds else if_false
        elif code == 0x06:
            return int(value)
        else:
            raise AssertionError(f"unknown instruction {code:#x}")


def refused(error: int) -> int:
    return 0x00050000 | error


@pytest.fixture(params=["x86_64", "aarch64"])
def machine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def call(machine: str, name: str, *arguments: int) -> int:
    return verdict(system_call_filter(machine), AUDIT[machine], NUMBERS[machine][name], *arguments)


@pytest.mark.parametrize("name", ["read", "execve"])
def test_ordinary_calls_pass(machine: str, name: str) -> None:
    assert call(machine, name) == ALLOW


@pytest.mark.parametrize("name", ["bpf", "ptrace", "mount", "unshare", "setns"])
def test_dangerous_calls_are_refused(machine: str, name: str) -> None:
    assert call(machine, name) == refused(errno.EPERM)


@pytest.mark.parametrize("name", ["io_uring_setup", "clone3"])
def test_calls_with_a_fallback_look_missing(machine: str, name: str) -> None:
    assert call(machine, name) == refused(errno.ENOSYS)


def test_only_three_socket_families_exist(machine: str) -> None:
    families = {family for family in range(64) if call(machine, "socket", family, 1, 0) == ALLOW}
    assert families == {1, 2, 10}
    assert {family for family in range(64) if call(machine, "socketpair", family, 1, 0) == ALLOW} == {1}
    assert call(machine, "socket", 40, 1, 0) == refused(errno.EAFNOSUPPORT)


@pytest.mark.parametrize(
    "flag", [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000]
)
def test_no_new_namespace_by_clone(machine: str, flag: int) -> None:
    assert call(machine, "clone", flag | 17) == refused(errno.EPERM)


@pytest.mark.parametrize("flags", [17, 0x003D0F00, 0x01200011, 0x4111])
def test_forks_and_threads_pass(machine: str, flags: int) -> None:
    assert call(machine, "clone", flags) == ALLOW


@pytest.mark.parametrize(("request_code", "passes"), [(0x5412, False), (0x541C, False), (0x5401, True)])
def test_nothing_types_into_a_terminal(machine: str, request_code: int, passes: bool) -> None:
    assert (call(machine, "ioctl", 0, request_code) == ALLOW) is passes


def test_upper_halves_of_arguments_cannot_hide_anything(machine: str) -> None:
    assert call(machine, "socket", 40 | 1 << 32, 1, 0) == refused(errno.EAFNOSUPPORT)
    assert call(machine, "ioctl", 0, 0x5412 | 1 << 32) == refused(errno.EPERM)


def test_another_processors_calls_are_fatal(machine: str) -> None:
    assert verdict(system_call_filter(machine), 0x40000003, 1) == KILL


def test_the_x32_calls_are_not_there() -> None:
    program = system_call_filter("x86_64")
    for number in (0x40000000, 0x40000000 + 41, 520, 547):
        assert verdict(program, AUDIT["x86_64"], number, 40, 1, 0) == refused(errno.ENOSYS)


def test_an_unknown_processor_is_refused() -> None:
    with pytest.raises(SandboxError, match="riscv64"):
        system_call_filter("riscv64")
