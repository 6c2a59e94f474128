"""Chooses the commit and the tree that an attempt begins from, when branch and base may have moved on."""

from __future__ import annotations

from dataclasses import dataclass

from domain.errors import GitError
from domain.model import Outcome, Reason
from harness.checkpoints import last_checkpoint, ref_of
from harness.git import DEFAULT_COMMITTER, LogEntry, Mirror
from harness.journal import Journal
from harness.order import Ended, Order
from harness.publish import StartPoint

MERGED = "Merge the base branch\n"
BEGAN_ANEW = "Start again from the base branch\n"
_MOST_COMMITS = 200
_PATCH_BYTES = 12_000
_FILES_NAMED = 20


@dataclass(slots=True)
class Beginning:
    """Where an attempt begins; `remark` and `lost` are filled in on the way.

    `default` is the head of the base branch, and `base_name` what that is called. `lost` is the hand-off's
    part about earlier work that cannot be carried on as it is, with its difference; `carried` is its tree
    where it was merged onto a newer base.
    """

    mirror: Mirror
    order: Order
    journal: Journal
    default: str
    base_name: str
    remark: str = ""
    lost: str = ""
    carried: str = ""

    def start(self) -> StartPoint:
        """Begin from the live branch, with what people pushed to it, else from the default branch.

        An attempt that goes on keeps its start, so that a commit which a person pushed meanwhile is noticed.
        A head that is our own push, of this very attempt before a crash, is no such commit. Raises Ended.
        """
        mirror, order = self.mirror, self.order
        branch = order.start_branch
        head = mirror.default_head(branch) if branch else ""
        recorded = order.attempt.base_sha
        if recorded and is_there(mirror, recorded):
            is_behind = bool(head) and mirror.is_ancestor(recorded, head)
            if is_behind and head == order.task.wip_sha:
                return StartPoint(sha=head, branch=branch)
            onto = "" if is_behind or not head else self._merged_onto(recorded)
            return StartPoint(sha=recorded, branch=branch if head else "", merged_onto=onto)
        if not head:
            return StartPoint(sha=self.default)
        if mirror.is_ancestor(self.default, head):
            return StartPoint(sha=head, branch=branch)
        return self._on_moved_base(head, branch)

    def tree(self, start: StartPoint) -> str:
        """Return the tree to begin with: the last checkpoint, or the earlier work that is worth keeping.

        Earlier work that was made on another commit is merged onto this one: as it is, its tree would take
        back what others have changed since.
        """
        mirror = self.mirror
        checkpoint = last_checkpoint(self.journal.past_steps())
        if checkpoint and is_there(mirror, checkpoint):
            return mirror.tree_of(checkpoint)
        last = self.order.past[-1] if self.order.past else None
        is_kept = last is not None and (last.outcome is Outcome.UNVERIFIED or last is self.order.unpublished)
        kept = last.tree if last is not None and is_kept else self._never_pushed(start)
        if last is None or not kept or not is_there(mirror, kept):
            return mirror.tree_of(start.sha)
        if last.start_sha == start.sha:
            return mirror.tree_of(kept)
        return self._carried(last.start_sha, mirror.tree_of(kept), start.sha) or mirror.tree_of(start.sha)

    def _never_pushed(self, start: StartPoint) -> str:
        """Return what the last attempt left at a limit, where the task never had a branch; else "".

        A branch that is gone was deleted by people, who do not want what was on it.
        """
        last = self.order.past[-1] if self.order.past else None
        has_had_a_branch = bool(start.branch or self.order.task.wip_branch)
        is_left = last is not None and last.outcome is Outcome.TASK_LIMIT and not has_had_a_branch
        return last.left if last is not None and is_left else ""

    def _on_moved_base(self, head: str, branch: str) -> StartPoint:
        """Merge the base into the branch. Where they conflict, start again, or ask if it is people's work."""
        mirror = self.mirror
        fork = mirror.merge_base(head, self.default)
        if not fork:
            raise Ended(
                Outcome.DECLINED,
                Reason.CONFLICT,
                f"The branch `{branch}` has no history in common with `{self.base_name}` any more.",
            )
        try:
            merged = mirror.merge(head, self.default)
        except GitError:
            return StartPoint(sha=head, branch=branch)  # a git before 2.38: go on from the branch as it is
        if not merged.conflicts:
            return self._merge(merged.tree, head, branch, MERGED)
        files = _named(merged.conflicts)
        if not self._is_all_ours(fork, head):
            raise Ended(
                Outcome.DECLINED,
                Reason.CONFLICT,
                f"`{self.base_name}` has moved on, and conflicts with the branch `{branch}`, which holds "
                f"commits of other people, in: {files}",
            )
        self.remark = (
            f"`{self.base_name}` has moved on, and conflicts with my unfinished work on `{branch}` in: "
            f"{files}\n\nI start again from `{self.base_name}`, with the earlier change at hand."
        )
        self.lost = self._told_of(fork, mirror.tree_of(head), files)
        return self._merge(mirror.tree_of(self.default), head, branch, BEGAN_ANEW)

    def _merge(self, tree: str, head: str, branch: str, message: str) -> StartPoint:
        mirror, attempt = self.mirror, self.order.attempt
        sha = mirror.commit(tree, [head, self.default], message, when=attempt.started_at)
        mirror.set_ref(ref_of(attempt.id), sha)
        return StartPoint(sha=sha, branch=branch, merged_onto=head)

    def _merged_onto(self, recorded: str) -> str:
        """Return the branch's head under a merge that this attempt began with, or "" for any other commit."""
        (entry,) = self.mirror.log("", recorded, limit=1)
        is_own = self._is_ours(entry) and len(entry.parents) == 2
        is_own = is_own and entry.committed_at == self.order.attempt.started_at.replace(microsecond=0)
        return entry.parents[0] if is_own else ""

    def _carried(self, made_on: str, tree: str, onto: str) -> str:
        """Return earlier work merged onto another commit, or "" where that conflicts."""
        mirror = self.mirror
        if not is_there(mirror, made_on) or not mirror.merge_base(made_on, onto):
            return ""
        earlier = mirror.commit(tree, [made_on], "earlier work", when=self.order.attempt.started_at)
        try:
            merged = mirror.merge(onto, earlier)
        except GitError:
            return ""
        if merged.conflicts:
            self.lost = self._told_of(made_on, tree, _named(merged.conflicts))
        self.carried = "" if merged.conflicts else merged.tree
        return self.carried

    def _told_of(self, made_on: str, tree: str, files: str) -> str:
        difference = self.mirror.patch(self.mirror.tree_of(made_on), tree, limit=_PATCH_BYTES)
        return f"The base has changed since, and the earlier work conflicts with it in: {files}\n{difference}"

    def _is_all_ours(self, fork: str, head: str) -> bool:
        commits = self.mirror.log(fork, head, limit=_MOST_COMMITS)
        return len(commits) < _MOST_COMMITS and all(self._is_ours(entry) for entry in commits)

    def _is_ours(self, entry: LogEntry) -> bool:
        known = (self.mirror.runner.committer.cleaned(), DEFAULT_COMMITTER)
        return entry.author in {f"{who.name} <{who.email}>" for who in known}


def is_there(mirror: Mirror, sha: str) -> bool:
    """Tell whether a commit or tree that was recorded is still in the mirror: mirrors may be made anew."""
    try:
        return bool(mirror.tree_of(sha))
    except GitError:
        return False


def _named(paths: tuple[str, ...]) -> str:
    shown = ", ".join(f"`{path}`" for path in paths[:_FILES_NAMED])
    return shown + (f" and {len(paths) - _FILES_NAMED} more." if len(paths) > _FILES_NAMED else ".")
