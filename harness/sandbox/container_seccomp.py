"""The system-call filter in the JSON form that docker and podman read: the rules of the assembled one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

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
    processor_of,
)

Comparison = dict[str, object]
Rule = dict[str, object]
_LOWER_HALF = 0xFFFFFFFF
"""The kernel looks at 32 bits of these arguments; what stands above them must not hide anything."""


def engine_filter(machine: str) -> str:
    """Return the filter for a processor as named by `uname -m`.

    Only the processor's own ABI is listed: calls by any other one (x32, 32 bits) end the process.
    Raises SandboxError for a processor whose system-call numbers are not known.
    """
    profile = {
        "defaultAction": "SCMP_ACT_ALLOW",
        "architectures": [processor_of(machine).architecture],
        "syscalls": [
            _rule(DENIED, NO_PERMISSION),
            _rule(MISSING, NO_SUCH_CALL),
            *(_rule(["clone"], NO_PERMISSION, _masked(0, flag, flag)) for flag in NEW_NAMESPACES),
            *(_rule(["socket"], NO_SUCH_FAMILY, refused) for refused in _all_but(SOCKET_FAMILIES)),
            *(_rule(["socketpair"], NO_SUCH_FAMILY, refused) for refused in _all_but(PAIR_FAMILIES)),
            *(_rule(["ioctl"], NO_PERMISSION, _masked(1, _LOWER_HALF, code)) for code in TERMINAL_INPUT),
        ],
    }
    return json.dumps(profile, indent=1)


def _rule(names: Iterable[str], error: int, *comparisons: Comparison) -> Rule:
    rule: Rule = {"names": list(names), "action": "SCMP_ACT_ERRNO", "errnoRet": error}
    return rule | ({"args": list(comparisons)} if comparisons else {})


def _all_but(allowed: Sequence[int]) -> Iterator[Comparison]:
    """Refuse every first argument that is not allowed: a rule takes one comparison per argument."""
    last = max(allowed)
    yield from (_comparison(0, "SCMP_CMP_EQ", value) for value in range(last) if value not in allowed)
    yield _comparison(0, "SCMP_CMP_GT", last)


def _masked(index: int, mask: int, wanted: int) -> Comparison:
    return _comparison(index, "SCMP_CMP_MASKED_EQ", mask) | {"valueTwo": wanted}


def _comparison(index: int, operator: str, value: int) -> Comparison:
    return {"index": index, "value": value, "valueTwo": 0, "op": operator}
