"""What a repository says of style and tests, from its base branch: bounded, and no more than advice."""

from __future__ import annotations

from domain.errors import GitError
from domain.hidden import as_read
from domain.text import clip
from harness.git import Mirror

FILES = ("AGENTS.md", "CLAUDE.md", "CONTRIBUTING.md", ".github/CONTRIBUTING.md", "docs/CONTRIBUTING.md")

LONGEST_FILE = 4_000
"""Characters of one file that the model is shown."""

LONGEST_GUIDANCE = 9_000

_LARGEST_FILE = 256 * 1024


def guidance(mirror: Mirror, base: str) -> str:
    """Return the files' texts, each under its name, as they stand in a commit of the base branch.

    Never from the worktree: what an agent writes there is not what the repository says. Links are not
    followed, and files of more than 256 KiB are left out.
    """
    parts = []
    for path in FILES:
        try:
            content = mirror.read_file(base, path, _LARGEST_FILE)
        except GitError:
            continue
        text = as_read(content.decode("utf-8", "replace")).strip() if content else ""
        if text:
            parts.append(f"{path}:\n{clip(text, LONGEST_FILE)}")
    return clip("\n\n".join(parts), LONGEST_GUIDANCE)
