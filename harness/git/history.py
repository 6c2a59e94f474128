"""The changes that led to a commit: their messages, and the paths that each touched."""

from __future__ import annotations

from domain.model import PastChange
from harness.git.runner import GitRunner, Place
from harness.git.values import object_name

MOST_PATHS = 50
"""A commit that touches more moves, formats or imports; it says nothing of where a fault is."""

_BEGIN, _END = "\x01", "\x02"


def past_changes(runner: GitRunner, place: Place, head: str, limit: int) -> tuple[PastChange, ...]:
    """Return the last `limit` commits that led to `head`, newest first, merges and bulk changes left out.

    Of a history that was cut off, what there is. Raises GitError.
    """
    shas = runner.run(place, "rev-list", "--no-merges", f"--max-count={limit}", object_name(head))
    if not shas:
        return ()
    shown = runner.run(
        place,
        "diff-tree",
        *("--stdin", "--root", "-r", "-z", "--no-renames", "--name-only"),
        f"--format={_BEGIN}%B{_END}",
        stdin=shas,
    )
    found = []
    for record in shown.decode("utf-8", "replace").split(_BEGIN)[1:]:
        message, _, names = record.partition(_END)
        paths = tuple(name for name in names.strip("\0\n").split("\0") if name)
        if 0 < len(paths) <= MOST_PATHS:
            found.append(PastChange(message=message.strip(), paths=paths))
    return tuple(found)
