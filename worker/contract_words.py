"""What a repository's `.fixwright.yml` means for the work on an issue, in words. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from domain.budget import Caps, show_money
from domain.model import Money
from domain.repo_config import FILE_NAME, RepoConfig
from harness.markdown import code


def contract_words(config: RepoConfig, caps: Caps, *, elsewhere: str | None) -> str:
    """Return what to say of the file; `elsewhere` as in `Journal.heeds`."""
    if elsewhere is not None:
        other = f" {code(elsewhere)} is not read; rename it." if elsewhere else ""
        return f"There is no `{FILE_NAME}` on the default branch, so the defaults hold.{other}"
    lines = [f"This follows `{FILE_NAME}` on the default branch.", *_chosen(config)]
    too_much = [f"- {each}" for each in over_the_caps(config, caps)]
    if too_much:
        lines.append(
            "It names more than this service allows; what the service allows holds:\n" + "\n".join(too_much)
        )
    return "\n\n".join(lines)


def _chosen(config: RepoConfig) -> Iterator[str]:
    """Say where the work takes place, when that is not where people would look first."""
    said = []
    if config.base_branch:
        said.append(f"Base branch: {code(config.base_branch)}.")
    if config.working_directory:
        said.append(f"Directory: {code(config.working_directory)}.")
    if said:
        yield " ".join(said)


def over_the_caps(config: RepoConfig, caps: Caps) -> Iterator[str]:
    """Yield each budget of the file that is above the service's own, with what holds instead."""
    counts = (
        ("max_iterations", config.max_iterations, caps.max_iterations),
        ("max_minutes", config.max_minutes, caps.max_minutes),
        ("max_attempts", config.max_attempts, caps.max_attempts),
    )
    for name, wanted, most in counts:
        if wanted is not None and wanted > most:
            yield f"`{name}`: {wanted}, held at {most}"
    amounts: tuple[tuple[str, Money | None, Money], ...] = (
        ("max_cost_per_task_usd", config.max_cost, caps.max_cost_per_task_usd),
        ("max_daily_cost_usd", config.max_daily_cost, caps.max_daily_cost_usd),
    )
    for name, dollars, allowed in amounts:
        if dollars is not None and dollars > allowed:
            yield f"`{name}`: {show_money(dollars)}, held at {show_money(allowed)}"
