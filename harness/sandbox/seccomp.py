"""Assembles the system-call filter of the sandbox as classic BPF, for the two processors that we know."""

from __future__ import annotations

import struct

from harness.sandbox.system_calls import (
    DENIED,
    MISSING,
    NEW_NAMESPACES,
    NO_PERMISSION,
    NO_SUCH_CALL,
    NO_SUCH_FAMILY,
    PAIR_FAMILIES,
    SOCKET_FAMILIES,
    TERMINAL_INPUT,
    Processor,
    processor_of,
)

_LOAD, _AND = 0x20, 0x54
_JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x15, 0x35, 0x06
_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT, _SECOND_ARGUMENT_AT = 0, 4, 16, 24


def system_call_filter(machine: str) -> bytes:
    """Return the filter for a processor as named by `uname -m`: 8 bytes an instruction.

    Raises SandboxError for a processor whose system-call numbers are not known.
    """
    return b"".join(_program(processor_of(machine)))


def _program(processor: Processor) -> list[bytes]:
    program = [
        _instruction(_LOAD, _ARCHITECTURE_AT),
        _instruction(_JUMP_EQUAL, processor.audit, 1, 0),
        _instruction(_RETURN, _KILL_PROCESS),
        _instruction(_LOAD, _NUMBER_AT),
    ]
    if processor.first_foreign is not None:
        program += [_instruction(_JUMP_AT_LEAST, processor.first_foreign, 0, 1), _answer(NO_SUCH_CALL)]
    for number in processor.numbers(DENIED):
        program += _on_call(number, [_answer(NO_PERMISSION)])
    for number in processor.numbers(MISSING):
        program += _on_call(number, [_answer(NO_SUCH_CALL)])
    program += _on_call(processor.number("clone"), _refuse_new_namespaces())
    for name, families in (("socket", SOCKET_FAMILIES), ("socketpair", PAIR_FAMILIES)):
        program += _on_call(processor.number(name), _only_first_argument(families, NO_SUCH_FAMILY))
    program += _on_call(processor.number("ioctl"), _refuse_second_argument(TERMINAL_INPUT))
    return [*program, _instruction(_RETURN, _ALLOW)]


def _on_call(number: int, body: list[bytes]) -> list[bytes]:
    """Run `body`, which ends in an answer, for one system call; step over it for any other."""
    return [_instruction(_JUMP_EQUAL, number, 0, len(body)), *body]


def _refuse_new_namespaces() -> list[bytes]:
    return [
        _instruction(_LOAD, _FIRST_ARGUMENT_AT),
        # CLONE_NEWTIME, 0x80, is for unshare and clone3 only: here the lowest byte is the signal number.
        _instruction(_AND, sum(NEW_NAMESPACES)),
        _instruction(_JUMP_EQUAL, 0, 0, 1),
        _instruction(_RETURN, _ALLOW),
        _answer(NO_PERMISSION),
    ]


def _only_first_argument(allowed: tuple[int, ...], error: int) -> list[bytes]:
    body = [_instruction(_LOAD, _FIRST_ARGUMENT_AT)]
    for value in allowed:
        body += [_instruction(_JUMP_EQUAL, value, 0, 1), _instruction(_RETURN, _ALLOW)]
    return [*body, _answer(error)]


def _refuse_second_argument(refused: tuple[int, ...]) -> list[bytes]:
    body = [_instruction(_LOAD, _SECOND_ARGUMENT_AT)]
    for value in refused:
        body += [_instruction(_JUMP_EQUAL, value, 0, 1), _answer(NO_PERMISSION)]
    return [*body, _instruction(_RETURN, _ALLOW)]


def _answer(error: int) -> bytes:
    return _instruction(_RETURN, _ERRNO | error)


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
