"""How a set-up fails: in words for a maintainer, with what was refused and the way out."""

from __future__ import annotations

from collections.abc import Sequence

from domain.model import CommandResult
from domain.text import plain
from harness.setup.rules import Refusal, names_of

_LAST_LINES = 12
_GUIDE = "docs/how-to/dependencies.md"


class SetupFailed(Exception):
    """The repository's tests cannot be given what they need; its text says why, and what to do."""


def command_failed(result: CommandResult, refused: Sequence[Refusal], *, why: str) -> SetupFailed:
    """Return the failure of one command: its last lines, the hosts that were refused, the way out."""
    lines = [line.rstrip()[:300] for line in plain(result.output).splitlines() if line.strip()]
    how = "took too long" if result.timed_out else result.killed or f"exit code {result.exit_code}"
    parts = [f"The set-up failed at `{result.command[:300]}` ({how}; chosen by {why})."]
    parts += ["\n".join(lines[-_LAST_LINES:])] if lines else []
    parts += [f"Not let through:\n{names_of(refused)}"] if refused else []
    parts.append(_way_out(result, refused))
    return SetupFailed("\n\n".join(parts))


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
    if result.killed:
        return "The operator may raise FIXWRIGHT_SETUP_DISK_MB or FIXWRIGHT_SANDBOX_MEMORY_MB."
    return f"Name the right commands under `setup.commands` in `.fixwright.yml` ({_GUIDE})."
