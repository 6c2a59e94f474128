"""What a browser is shown of an issue or a pull request: its text as it is, nothing to click."""

from __future__ import annotations

from domain.errors import NotFound
from domain.model import IssueRef
from providers.local.forge import LocalForge
from providers.local.people import LocalWorld


def page_of(world: LocalWorld, full_name: str, number: int) -> str | None:
    """Return an issue or pull request with its comments as plain text, or None where there is none."""
    forge = LocalForge(world.root)
    try:
        home = forge.repository_named(full_name)
        ref = IssueRef(forge=forge.name, repository_id=home.id, number=number)
        issue, comments = forge.issue(ref), forge.comments(ref)
    except NotFound:
        return None
    pull = next((each for each in world.pulls(home.id) if each.number == number), None)
    kind = "issue" if pull is None else "draft pull request" if pull.is_draft else "pull request"
    parts = [
        f"{full_name}: {kind} #{number}, {'open' if issue.is_open else 'closed'}",
        issue.title,
        issue.body,
    ]
    parts += [f"-- {comment.author.login}:\n\n{comment.body}" for comment in comments]
    if pull is not None:
        parts.append(world.pull_diff(home.id, number))
    return "\n\n".join(part.strip() for part in parts) + "\n"
