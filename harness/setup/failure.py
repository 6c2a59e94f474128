"""How a set-up fails: in words for a maintainer, with what was refused and the way out."""

from __future__ import annotations

from collections.abc import Sequence

from domain.model import CommandResult
from domain.text import plain
from harness.setup.rules import Refusal, names_of

_DIED = frozenset({134, 135, 137, 139})
"""Exit codes of aborts, bus errors, kills and segmentation faults: how programs end that get no memory."""

_GUIDE = "docs/how-to/dependencies.md"
_OFFLINE = (
    "Set-ups have no network here. The operator opens it with FIXWRIGHT_SETUP_HOSTS=auto, or with names of "
    f"hosts ({_GUIDE}); without one, `setup.commands` in `.fixwright.yml` has to do without."
)
HINT = f"Or `setup.commands` in `.fixwright.yml` installs what is missing ({_GUIDE})."
"""For a suite that lacks something, where no set-up was tried."""

_LAST_LINES = 12
_LAST_CHARACTERS = 800
_MOST_REFUSALS = 5


class SetupFailed(Exception):
    """The repository's tests cannot be given what they need; its text says why, and what to do."""


def command_failed(
    result: CommandResult, refused: Sequence[Refusal], *, why: str, offline: bool = False
) -> SetupFailed:
    """Return the failure of one command: its last lines, the hosts that were refused, the way out."""
    lines = [line.rstrip()[:300] for line in plain(result.output).splitlines() if line.strip()]
    how = "took too long" if result.timed_out else result.killed or f"exit code {result.exit_code}"
    parts = [f"The set-up failed at `{result.command[:300]}` ({how}; chosen by {why})."]
    parts += [f"Not let through:\n{names_of(refused[:_MOST_REFUSALS])}"] if refused else []
    parts.append(_OFFLINE if offline else _way_out(result, refused))
    parts += ["\n".join(_last(lines))] if lines else []
    return SetupFailed("\n\n".join(parts))


def _last(lines: Sequence[str]) -> list[str]:
    """Return as many of the last lines as may be told: a comment that is too long would be cut."""
    kept: list[str] = []
    for line in reversed(lines[-_LAST_LINES:]):
        if kept and sum(map(len, kept)) + len(line) > _LAST_CHARACTERS:
            break
        kept.insert(0, line)
    return kept


def tools_missing(names: Sequence[str], *, why: str) -> SetupFailed:
    """Return the failure for programs that are not there where tests run."""
    listed = ", ".join(f"`{name}`" for name in names)
    return SetupFailed(
        f"tool missing: {listed}, which the set-up needs ({why}). The operator installs it below /usr, or "
        "shows its directory with FIXWRIGHT_SANDBOX_TOOLS; or `setup.commands` in `.fixwright.yml` does "
        "without it."
    )


def hosts_not_allowed(refused: Sequence[Refusal]) -> SetupFailed:
    """Return the failure for hosts that a repository asks for, and the operator does not allow."""
    return SetupFailed(
        f"`setup.hosts` in `.fixwright.yml` asks for more than the operator allows:\n{names_of(refused)}"
    )


def _way_out(result: CommandResult, refused: Sequence[Refusal]) -> str:
    if any(refusal.way_out for refusal in refused):
        return f"The operator allows a host with the line above ({_GUIDE}), if it is one to be trusted."
    if result.timed_out:
        return "Raise `setup.timeout_seconds` in `.fixwright.yml`, as far as the operator allows."
    if result.killed or result.exit_code in _DIED:
        settings = "FIXWRIGHT_SETUP_MEMORY_MB or FIXWRIGHT_SETUP_DISK_MB"
        return f"It may have run out of memory or disk. The operator may raise {settings}."
    return f"Name the right commands under `setup.commands` in `.fixwright.yml` ({_GUIDE})."
