"""What reviewers are answered: short, and nothing that was not seen. Pure text."""

from __future__ import annotations

from domain.ports.reviewing import Touch
from domain.text import one_line
from harness.markdown import code


def on_thread(touch: Touch | None, sha: str, path: str) -> str:
    """Answer in a thread after a push. Whether that settles it is for the reviewer to say."""
    commit, file = code(sha[:10]), code(one_line(path, 200))
    if touch is Touch.PLACE:
        return f"{commit} changes this place."
    if touch is Touch.FILE:
        return f"{commit} changes {file}, but not within five lines of here."
    if touch is Touch.ELSEWHERE:
        return f"{commit} was made with this comment at hand and leaves {file} as it is."
    if touch is Touch.NO_COMMIT:
        return f"Nothing was pushed for this: the verified change is the one at {commit}."
    return f"{commit} was made with this comment at hand."


def on_pull(sha: str, *, is_new: bool, threads: int) -> str:
    """Answer on the pull request what was asked there, outside threads."""
    commit = code(sha[:10])
    said = (
        f"{commit} was made with the review at hand."
        if is_new
        else f"Nothing new was pushed after the review: the verified change is the one at {commit}."
    )
    answers = {0: "", 1: " The thread has its own answer."}.get(
        threads, f" The {threads} threads have their own answers."
    )
    return f"{said}{answers} What it changes and how it was tested stands in the description."


def not_followed(issue_number: int, unfinished_sha: str) -> str:
    """Say on the pull request that an attempt after a review brought nothing that was verified."""
    left = (
        f"What is unfinished is on the branch as {code(unfinished_sha[:10])}"
        if unfinished_sha
        else "The branch stays as it was"
    )
    return (
        "I worked on this review and came to nothing that I could verify. "
        f"{left}; why, and what can be done, stands on #{issue_number}."
    )
