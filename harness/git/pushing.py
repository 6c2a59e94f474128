"""The one push: a single explicit refspec under a lease on the recorded commit, and what a refusal means."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from domain.errors import BranchMoved, GitError, PushRefused
from domain.model import CloneAccess
from harness.git.runner import Completed, Limits
from harness.git.values import branch_ref, object_name

if TYPE_CHECKING:
    from harness.git.mirror import Mirror

_LOCAL_RECEIVE = "--receive-pack=git -c safe.directory=* receive-pack"
_MOVED = re.compile(r"stale info|fetch first|non-fast-forward|but expected|reference already exists")
_LOCKED = re.compile(
    r"cannot lock ref|unable to create|directory file conflict|failed to (?:lock|update)", re.I
)
_WORKFLOWS = re.compile(r"refusing to allow .* workflow", re.IGNORECASE)
_REASONS_SHOWN = 20


def push(mirror: Mirror, access: CloneAccess, *, sha: str, branch: str, expected: str) -> None:
    """See `Mirror.push`."""
    ref = branch_ref(branch)
    lease = object_name(expected) if expected else ""
    done = mirror.runner.call(
        mirror.place,
        "push",
        "--porcelain",
        "--no-verify",
        "--no-follow-tags",
        "--no-signed",
        "--no-thin" if access.protocol == "file" else "--thin",
        "--recurse-submodules=no",
        f"--force-with-lease={ref}:{lease}",
        *([_LOCAL_RECEIVE] if access.protocol == "file" else []),
        "--end-of-options",
        access.url,
        f"{object_name(sha)}:{ref}",
        limits=Limits(seconds=300),
        access=access,
    )
    if done.code != 0:
        _explain(mirror, access, done, sha=sha, branch=branch, expected=lease)


def _explain(
    mirror: Mirror, access: CloneAccess, done: Completed, *, sha: str, branch: str, expected: str
) -> None:
    """Raise what a failed push means, or return if the remote has our commit in spite of it."""
    status = "\n".join(
        line for line in done.output.decode("utf-8", "replace").splitlines() if line.startswith("!")
    )
    if not status:
        raise done.failure()
    heads = mirror.remote_heads(access)
    if heads.get(branch, "") == sha:
        return
    clash = _clash(branch, heads)
    if clash:
        raise PushRefused(
            f"branch {branch} cannot be made: the remote has a branch {clash}, and one name would be a "
            f"directory of the other. Delete or rename {clash}."
        )
    if _MOVED.search(status) or (_LOCKED.search(status) and heads.get(branch, "") != expected):
        raise BranchMoved(
            f"branch {branch} is at {heads.get(branch) or 'nothing'}, not where it was recorded"
        )
    raise _refused(branch, status, done.error)


def _clash(branch: str, heads: dict[str, str]) -> str:
    """Return a remote branch whose name is a directory of `branch`, or below it; "" if there is none."""
    return next(
        (name for name in sorted(heads) if branch.startswith(name + "/") or name.startswith(branch + "/")), ""
    )


def _refused(branch: str, status: str, error: str) -> GitError:
    said = (line.partition("remote:")[2].strip() for line in error.splitlines() if line.startswith("remote:"))
    words = [line for line in said if line]
    reasons = tuple(line[:500] for line in words[:_REASONS_SHOWN])
    verdict = status.splitlines()[0].split("\t")[-1]
    message = f"the server refused the push to {branch}: {verdict}"
    if _WORKFLOWS.search(error + status):
        message += "; the service's credential lacks the `workflows` permission, by intention"
    return PushRefused(" / ".join([message, *reasons]), reasons)
