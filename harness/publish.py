"""Puts a change on the forge: commit, intent, push, pull request. Safe to repeat after a crash at any line.

Only a VerifiedChange becomes a pull request, and only verification makes one; unfinished work goes to the
branch and nowhere else. Which commit is pushed is settled before the intent is written, so that a repetition
pushes the very same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from domain.claim import Claim
from domain.errors import BranchMoved, PolicyRefusal, StaleWrite
from domain.fitting import fitted
from domain.guests import is_account
from domain.model import Actor, Attempt, Publication, PublicationKind, Pull, PullProposal, Task
from domain.policy import branch_name
from domain.ports import Forge, Intent, Purpose, TaskQueue
from domain.states import State
from domain.text import Redactor
from harness import pull_text, report
from harness.access import Access
from harness.git import Mirror
from harness.house import PLAIN_HOUSE, House
from harness.presenting import Manners, vouch
from harness.verify import VerifiedChange

MAX_ROUNDS = 50
"""How many times one issue may be taken up anew on a branch of its own."""


PLAIN = Manners()
"""No label, no request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WipChange:
    """Unfinished work that passed the rules for commits: good for a branch, never for a pull request."""

    tree: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPoint:
    """The commit that an attempt began from, and the task's branch that was then at it ("" when on none).

    It is the parent of what gets published. Where the base had moved on, it is a merge of ours that nobody
    has seen yet. `lease` is where the remote branch was; a commit that somebody pushed meanwhile makes the
    push fail instead of being overwritten.
    """

    sha: str
    branch: str = ""
    merged_onto: str = ""

    @property
    def lease(self) -> str:
        """The commit at which the branch must still be."""
        return self.merged_onto or self.sha


class Publisher:
    """Publishes for one repository, through one mirror and one forge."""

    def __init__(
        self,
        forge: Forge,
        queue: TaskQueue,
        mirror: Mirror,
        access: Access,
        *,
        redact: Redactor,
        manners: Manners = PLAIN,
    ) -> None:
        """`manners` are what a commit and a draft get besides their texts."""
        self._forge = forge
        self._queue = queue
        self._mirror = mirror
        self._access = access
        self._redact = redact
        self._manners = manners

    @property
    def mirror(self) -> Mirror:
        """The repository, as last fetched."""
        return self._mirror

    def open_pull(
        self,
        task: Task,
        attempt: Attempt,
        start: StartPoint,
        change: VerifiedChange,
        facts: pull_text.PullFacts,
        house: House = PLAIN_HOUSE,
    ) -> Publication:
        """Push a verified change and make sure that its draft pull request exists, as the house has it.

        Raises BranchMoved, GitError, ForgeError, StaleWrite.
        """
        return self.finish(task, self.propose(task, attempt, start, change, facts, house), house)

    def propose(
        self,
        task: Task,
        attempt: Attempt,
        start: StartPoint,
        change: VerifiedChange,
        facts: pull_text.PullFacts,
        house: House = PLAIN_HOUSE,
    ) -> Publication:
        """Write down exactly what a draft pull request of a verified change would be; push nothing.

        Raises BranchMoved, GitError, StaleWrite.
        """
        tree = change.verdict.tree
        if facts.verdict.tree != tree:
            raise PolicyRefusal("the tree to be published is not the tree that was verified")
        content = _Content(PublicationKind.PULL, tree, facts.claim, pull_text.pull_body(facts), house)
        return self._intend(task, attempt, start, content)

    def push_wip(
        self,
        task: Task,
        attempt: Attempt,
        start: StartPoint,
        change: WipChange,
        house: House = PLAIN_HOUSE,
    ) -> Publication:
        """Push unfinished work to the task's branch. Raises BranchMoved, GitError, StaleWrite."""
        content = _Content(PublicationKind.WIP, change.tree, None, "", house)
        return self.finish(task, self._intend(task, attempt, start, content), house)

    def finish(self, task: Task, intent: Publication, house: House = PLAIN_HOUSE) -> Publication:
        """Carry an intent out, or on: each step first looks whether it was done already.

        Raises BranchMoved, GitError, ForgeError, StaleWrite.
        """
        self._access.during(
            Purpose.PUSH,
            lambda access: self._mirror.push(access, intent.commit_sha, intent.branch, intent.expected_sha),
        )
        pull: Pull | None = None
        if intent.kind is PublicationKind.PULL:
            self._still_wanted(task)
            pull = self._ensure_pull(task, intent)
            self._say_if_unwanted(task, pull)
            if not self._is_up_already(task):
                self._manners.present(self._forge, task, pull, house.reviewers)
            vouch(self._forge, task, intent)
        return self._queue.published(intent, pull=pull)

    def _is_up_already(self, task: Task) -> bool:
        """Tell whether an earlier round has put the draft up: what people changed on it since, stays."""
        done = (each for each in self._queue.publications(task.id) if each.done_at is not None)
        return any(each.kind is PublicationKind.PULL for each in done)

    def _still_wanted(self, task: Task) -> None:
        """Look once more before people see anything: a push takes long enough for a change of mind."""
        now = self._queue.task(task.id)
        if (now.state, now.generation) != (task.state, task.generation):
            raise StaleWrite(f"task {task.id} is {now.state} now; its pull request was not opened")

    def _say_if_unwanted(self, task: Task, pull: Pull) -> None:
        """Say so on a draft whose task was stopped in the very moment in which it was opened.

        Raises StaleWrite then, ForgeError.
        """
        try:
            self._still_wanted(task)
        except StaleWrite:
            if self._queue.task(task.id).state is not State.CANCELLED:
                raise
            where = replace(task.issue, number=pull.number)
            self._forge.add_comment(where, f"unwanted-{task.id}-{task.generation}", report.UNWANTED)
            raise

    def _ensure_pull(self, task: Task, intent: Publication) -> Pull:
        repository = self._forge.repository(task.issue.repository_id)
        proposal = PullProposal(
            title=intent.title,
            body=intent.body,
            head_branch=intent.branch,
            base_branch=intent.base_branch or repository.default_branch,
            marker=f"task-{task.id}",
        )
        return self._forge.ensure_pull(task.issue.repository_id, proposal)

    def _intend(self, task: Task, attempt: Attempt, start: StartPoint, content: _Content) -> Publication:
        branch, expected = (
            (start.branch, start.lease) if start.branch else self._new_branch(task, content.house)
        )
        commit = start.sha
        if not start.branch or self._mirror.tree_of(start.sha) != content.tree:
            message = self._redact(
                report.commit_message(
                    task,
                    content.claim,
                    co_author=self._address_of(task.requested_by),
                    sign_off=self._signed_by(content.house),
                    kind=content.house.kind,
                )
            )
            commit = self._mirror.commit(content.tree, [start.sha], message, when=attempt.started_at)
        return self._queue.intend(
            task,
            attempt,
            Intent(
                kind=content.kind,
                branch=branch,
                commit_sha=commit,
                tree=content.tree,
                expected_sha=expected,
                title=self._redact(report.pull_title(task, _title_kind(content.house))),
                body=fitted(self._redact(content.body)),
                base_branch=content.house.base_branch,
            ),
        )

    def _address_of(self, requester: Actor) -> str:
        """Return the address that credits who asked; "" for somebody without an account."""
        return self._forge.noreply_address(requester) if is_account(requester) else ""

    def _signed_by(self, house: House) -> str:
        """Return who signs commits off: whom the operator chose, or where the repository asks the author."""
        committer = self._mirror.runner.committer.cleaned()
        return self._manners.sign_off or (f"{committer.name} <{committer.email}>" if house.signs_off else "")

    def _new_branch(self, task: Task, house: House) -> tuple[str, str]:
        """Return a branch for a task that is on none, and the commit that must be on it ("" for: none).

        A branch that holds nothing but a push of ours which came to nothing is taken again. Otherwise it is
        the first name of this issue that does not exist, and below which none does: old ones hold rejected
        work.
        """
        heads = self._access.during(Purpose.FETCH, self._mirror.remote_heads)
        for intent in self._queue.unfinished_publications(task.id):
            if heads.get(intent.branch) == intent.commit_sha:
                return intent.branch, intent.commit_sha
        for round_ in range(1, MAX_ROUNDS):
            branch = branch_name(task.issue.number, round_, house.branch_prefix)
            if not any(name == branch or name.startswith(f"{branch}/") for name in heads):
                return branch, ""
        raise BranchMoved(f"every branch name for issue {task.issue.number} is taken; delete old ones")


@dataclass(frozen=True, slots=True)
class _Content:
    kind: PublicationKind
    tree: str
    claim: Claim | None
    body: str
    house: House


def _title_kind(house: House) -> str:
    return house.kind or "" if house.titled else ""
