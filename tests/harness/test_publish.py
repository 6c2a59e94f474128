"""Publishing on a real forge with real git: intent, push, pull request, and each of them again."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path

import pytest

from domain.budget import ZERO
from domain.errors import (
    BranchMoved,
    ForgeError,
    ForgeUnavailable,
    PermissionRefused,
    PolicyRefusal,
    PushRefused,
    StaleWrite,
)
from domain.model import Actor, Attempt, Category, PublicationKind, Task, Verdict
from domain.ports import Capability, CheckReport, Conclusion, Intent
from domain.repo_config import RepoConfig
from domain.states import Trigger
from harness import pull_text
from harness.access import RepositoryAccess
from harness.git import GitRunner, Mirror, Person
from harness.ground import FreshCheckouts
from harness.presenting import Manners
from harness.publish import MAX_ROUNDS, Publisher, StartPoint, WipChange
from harness.verify import VerifiedChange, Verifier
from harness.workspace import Workspaces
from providers.local.faulty import FaultyForge
from providers.local.forge import LocalForge
from tests.worker.conftest import BuildTown, build, notes, template
from tests.worker.town import CLAIM, Stage, Town

__all__ = ["build", "notes", "template"]

HOSTILE = 'fix `touch /tmp/pwn` $(id) "; rm -rf x\n[skip ci] closes #7 @all'


class Desk:
    """A claimed task on a town's repository, a mirror of it, and a publisher."""

    def __init__(self, town: Town, title: str = "A word") -> None:
        self.town = town
        town.issue("docs", title=title)
        task = town.queue.claim("worker/one", 60)
        assert task is not None
        self.task: Task = task
        self.attempt: Attempt = town.queue.begin_attempt(task)
        self.forge = LocalForge(town.root / "forge")
        self.places = Workspaces(town.root / "ground", None, GitRunner(town.root / "git-home"))
        self.mirror = self.places.mirror_for(town.repository)
        self.access = self.forge.clone_access(town.repository.id)
        self.way = RepositoryAccess(self.forge, town.repository.id, town.secrets)
        self.publisher = Publisher(self.forge, town.queue, self.mirror, self.way, redact=town.secrets)
        self.mirror.fetch(self.access)
        self.base = self.mirror.default_head("main")

    def tree(self, text: str, on: str = "") -> str:
        """Return a tree with another README."""
        place = self.places.fresh(self.mirror, self.mirror.tree_of(on or self.base))
        (place / "README.md").write_text(text)
        tree = self.mirror.snapshot(place, self.mirror.tree_of(on or self.base)).tree
        self.places.remove(place)
        return tree

    def verified(self, text: str) -> VerifiedChange:
        """Return a change that verification has passed."""
        verifier = Verifier(Stage(), self.mirror, FreshCheckouts(self.places, self.mirror))
        baseline = verifier.baseline(self.base, RepoConfig())
        change = verifier.read_change(self.base, self.tree(text))
        outcome = verifier.verify(change, baseline, Category.DOCS)
        assert isinstance(outcome, VerifiedChange)
        return outcome

    def facts(self, verdict: Verdict) -> pull_text.PullFacts:
        return pull_text.PullFacts(
            task=self.task,
            verdict=verdict,
            claim=CLAIM,
            suspects=(),
            cost=ZERO,
            steps=1,
            model="m",
            attempt_number=1,
        )

    def open_pull(self, text: str, start: StartPoint | None = None):  # type: ignore[no-untyped-def]  # a publication
        change = self.verified(text)
        return self.publisher.open_pull(
            self.task, self.attempt, start or StartPoint(sha=self.base), change, self.facts(change.verdict)
        )

    def push_wip(self, text: str, start: StartPoint):  # type: ignore[no-untyped-def]  # a publication
        return self.publisher.push_wip(self.task, self.attempt, start, WipChange(tree=self.tree(text)))

    def head(self, branch: str) -> str:
        return self.town.branches.get(branch, "")


@pytest.fixture
def desk(notes: Town) -> Desk:
    return Desk(notes)


@pytest.mark.long
def test_a_pull_request_carries_exactly_the_verified_tree(desk: Desk) -> None:
    done = desk.open_pull("# Lit\n")

    (pull,) = desk.town.world.pulls(desk.town.repository.id)
    assert (done.pull_number, done.kind, done.expected_sha) == (pull.number, PublicationKind.PULL, "")
    assert pull.is_draft and pull.head_sha == done.commit_sha
    assert desk.town.world.git.tree(desk.town.repository.id, done.branch) == done.tree == desk.tree("# Lit\n")
    assert desk.town.task.wip_branch == done.branch and desk.town.task.wip_sha == done.commit_sha


@pytest.mark.long
def test_another_tree_than_the_verified_one_is_not_published(desk: Desk) -> None:
    change, other = desk.verified("# Lit\n"), desk.verified("# Dark\n")

    with pytest.raises(PolicyRefusal):
        desk.publisher.open_pull(
            desk.task, desk.attempt, StartPoint(sha=desk.base), change, desk.facts(other.verdict)
        )

    assert not desk.town.branches and not desk.town.queue.publications(desk.task.id)


@pytest.mark.long
def test_all_of_it_again_changes_nothing(desk: Desk) -> None:
    done = desk.open_pull("# Lit\n")
    heads = desk.town.branches

    again = desk.publisher.finish(desk.task, done)

    assert again.pull_number == done.pull_number
    assert desk.town.branches == heads
    assert len(desk.town.world.pulls(desk.town.repository.id)) == 1


@pytest.mark.long
def test_the_first_second_and_third_push_to_a_branch(desk: Desk) -> None:
    first = desk.push_wip("one\n", StartPoint(sha=desk.base))
    second = desk.push_wip("two\n", StartPoint(sha=first.commit_sha, branch=first.branch))
    third = desk.push_wip("three\n", StartPoint(sha=second.commit_sha, branch=first.branch))

    assert [each.expected_sha for each in (first, second, third)] == ["", first.commit_sha, second.commit_sha]
    assert desk.town.branches == {"fixwright/issue-1": third.commit_sha}
    assert not desk.town.world.pulls(desk.town.repository.id)


def test_a_person_s_commit_is_never_overwritten(desk: Desk) -> None:
    first = desk.push_wip("one\n", StartPoint(sha=desk.base))
    theirs = desk.town.world.git.push(
        desk.town.repository.id, first.branch, {"by-hand": b"1\n"}, by=desk.town.maintainer
    )

    with pytest.raises(BranchMoved):
        desk.push_wip("two\n", StartPoint(sha=first.commit_sha, branch=first.branch))

    assert desk.head(first.branch) == theirs


def test_a_branch_that_a_person_deleted_is_not_brought_back_in_silence(desk: Desk) -> None:
    first = desk.push_wip("one\n", StartPoint(sha=desk.base))
    desk.town.world.git.delete_branch(desk.town.repository.id, first.branch, by=desk.town.maintainer)

    with pytest.raises(BranchMoved):
        desk.push_wip("two\n", StartPoint(sha=first.commit_sha, branch=first.branch))

    assert not desk.town.branches


def test_names_that_are_taken_are_left_alone(desk: Desk) -> None:
    for name in ("fixwright/issue-1", "fixwright/issue-1-2"):
        desk.town.world.git.push(desk.town.repository.id, name, {"x": b"x"}, by=desk.town.maintainer)
    heads = desk.town.branches

    done = desk.push_wip("one\n", StartPoint(sha=desk.base))

    assert done.branch == "fixwright/issue-1-3"
    assert heads.items() <= desk.town.branches.items()


def test_a_name_that_is_a_directory_of_somebody_s_branch_is_left_alone(desk: Desk) -> None:
    below = "fixwright/issue-1/mine"
    desk.town.world.git.push(desk.town.repository.id, below, {"x": b"x"}, by=desk.town.maintainer)

    done = desk.push_wip("one\n", StartPoint(sha=desk.base))

    assert done.branch == "fixwright/issue-1-2"


@pytest.mark.long
def test_a_push_of_ours_that_came_to_nothing_gives_its_branch_again(desk: Desk) -> None:
    change = desk.verified("# Lit\n")
    lost = desk.town.queue.intend(
        desk.task,
        desk.attempt,
        Intent(
            kind=PublicationKind.PULL,
            branch="fixwright/issue-1",
            commit_sha=desk.mirror.commit(
                change.verdict.tree, [desk.base], "m", when=desk.attempt.started_at
            ),
            tree=change.verdict.tree,
            expected_sha="",
            title="t",
            body="b",
        ),
    )
    desk.mirror.push(desk.access, lost.commit_sha, lost.branch, "")

    done = desk.open_pull("# Brighter\n")

    assert (done.branch, done.expected_sha) == (lost.branch, lost.commit_sha)
    assert desk.town.branches == {lost.branch: done.commit_sha}


def test_too_many_taken_names_end_in_a_word(desk: Desk) -> None:
    numbers = ["", *(f"-{n}" for n in range(2, MAX_ROUNDS))]
    bare = desk.town.root / "forge" / "repos" / "acme" / "lamp.git"
    for number in numbers:
        ref = bare / "refs" / "heads" / "fixwright" / f"issue-1{number}"
        ref.parent.mkdir(parents=True, exist_ok=True)
        ref.write_text(desk.base + "\n")

    with pytest.raises(BranchMoved, match="every branch name for issue 1 is taken"):
        desk.push_wip("one\n", StartPoint(sha=desk.base))


def test_a_branch_named_like_our_prefix_is_named_in_the_refusal(desk: Desk) -> None:
    desk.town.world.git.push(desk.town.repository.id, "fixwright", {"x": b"x"}, by=desk.town.maintainer)

    with pytest.raises(PushRefused, match="Delete or rename fixwright"):
        desk.push_wip("one\n", StartPoint(sha=desk.base))


def test_a_rule_of_the_server_is_told_in_its_own_words(desk: Desk) -> None:
    hook = Path(desk.access.url.removeprefix("file://")) / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'GH013: branches must begin with ai/' >&2\nexit 1\n")
    hook.chmod(hook.stat().st_mode | stat.S_IXUSR)

    with pytest.raises(PushRefused, match="GH013: branches must begin with ai/"):
        desk.open_pull("# Lit\n")

    assert len(desk.town.queue.unfinished_publications(desk.task.id)) == 1


def test_a_task_that_somebody_else_has_publishes_nothing(desk: Desk) -> None:
    change = desk.verified("# Lit\n")
    desk.town.queue.move(desk.task, Trigger.CANCELLED)

    with pytest.raises(StaleWrite):
        desk.publisher.open_pull(
            desk.task, desk.attempt, StartPoint(sha=desk.base), change, desk.facts(change.verdict)
        )

    assert not desk.town.branches


@pytest.mark.long
def test_words_from_outside_do_nothing_in_a_commit_or_a_title(build: BuildTown) -> None:
    desk = Desk(build({"README.md": "# Lamp\n"}), title=HOSTILE)

    done = desk.open_pull("# Lit\n")

    (pull,) = desk.town.world.pulls(desk.town.repository.id)
    message = desk.town.world.git.commits(desk.town.repository.id, done.branch)[0].message
    assert "\n" not in pull.title and pull.title.endswith("(#1)")
    for text in (message, pull.title):
        assert "[skip ci]" not in text
        assert "closes #7" not in text
        assert "@all" not in text


@pytest.mark.long
def test_a_commit_credits_who_asked_and_is_signed_off_by_its_author(notes: Town) -> None:
    desk = Desk(notes)
    runner = GitRunner(notes.root / "git-home", committer=Person.parsed("Acme Bot <bot@acme.example>"))
    mirror = Mirror(desk.mirror.path, runner)
    signing = Publisher(
        desk.forge,
        notes.queue,
        mirror,
        desk.way,
        redact=notes.secrets,
        manners=Manners(sign_off="Acme Bot <bot@acme.example>"),
    )
    change = desk.verified("# Lit\n")
    done = signing.open_pull(
        desk.task, desk.attempt, StartPoint(sha=desk.base), change, desk.facts(change.verdict)
    )
    commit = desk.mirror.runner.run(desk.mirror.place, "cat-file", "commit", done.commit_sha).decode()
    mika = notes.maintainer
    assert commit.endswith(
        f"\n\nCo-authored-by: mika <{mika.id}+mika@users.noreply.localhost>\n"
        "Signed-off-by: Acme Bot <bot@acme.example>\n"
    )
    assert commit.count("Acme Bot <bot@acme.example> ") == 2, "author and committer"


class AskingForge(LocalForge):
    """The local forge, able to ask for reviews, or to refuse to."""

    def __init__(self, root: Path, refusal: ForgeError | None = None) -> None:
        super().__init__(root)
        self.capabilities |= {Capability.REVIEW_REQUESTS}
        self.asked: list[tuple[int, str]] = []
        self.refusal = refusal

    def request_review(self, repository_id: str, pull_number: int, reviewer: Actor) -> None:
        """See `RequestingReviews`."""
        self.asked.append((pull_number, reviewer.login))
        if self.refusal is not None:
            raise self.refusal


@pytest.mark.long
@pytest.mark.parametrize("refusal", [None, ForgeError("not a collaborator"), ForgeUnavailable("a moment")])
def test_a_new_draft_gets_its_labels_and_its_reviewer_or_is_up_without(
    notes: Town, refusal: ForgeError | None
) -> None:
    desk = Desk(notes)
    forge = AskingForge(notes.root / "forge", refusal)
    manners = Manners(labels=("fixwright", "needs review"), asks_for_review=True)
    publisher = Publisher(forge, notes.queue, desk.mirror, desk.way, redact=notes.secrets, manners=manners)
    change = desk.verified("# Lit\n")
    done = publisher.open_pull(
        desk.task, desk.attempt, StartPoint(sha=desk.base), change, desk.facts(change.verdict)
    )
    assert done.pull_number is not None and done.done_at is not None
    draft = forge.issue(replace(desk.task.issue, number=done.pull_number))
    assert draft.labels == ("fixwright", "needs review")
    assert forge.asked == [(done.pull_number, "mika")]

    publisher.finish(desk.task, done)
    assert len(forge.asked) == 1, "once it is up, what people do with it stays"


@pytest.mark.long
def test_a_forge_without_labels_and_requests_is_asked_for_neither(notes: Town) -> None:
    desk = Desk(notes)
    forge = FaultyForge(LocalForge(notes.root / "forge"))
    pull = desk.open_pull("# Lit\n")
    assert pull.pull_number is not None
    (found,) = notes.world.pulls(notes.repository.id)
    Manners(labels=("x",), asks_for_review=True).present(forge, desk.task, found)
    assert not forge.calls


class CheckingForge(LocalForge):
    """The local forge, with checks on commits, or without the permission for them."""

    def __init__(self, root: Path, refusal: ForgeError | None = None) -> None:
        super().__init__(root)
        self.capabilities |= {Capability.CHECKS}
        self.checks: list[CheckReport] = []
        self.refusal = refusal

    def ensure_check(self, repository_id: str, report: CheckReport) -> str:
        """See `Checking`."""
        if self.refusal:
            raise self.refusal
        self.checks.append(report)
        return "1"


@pytest.mark.long
@pytest.mark.parametrize("refusal", [None, PermissionRefused("checks: write is missing")])
def test_the_pushed_commit_gets_a_check_where_the_forge_has_them(
    notes: Town, refusal: ForgeError | None
) -> None:
    desk = Desk(notes)
    forge = CheckingForge(notes.root / "forge", refusal)
    publisher = Publisher(forge, notes.queue, desk.mirror, desk.way, redact=notes.secrets)
    change = desk.verified("# Lit\n")
    done = publisher.open_pull(
        desk.task, desk.attempt, StartPoint(sha=desk.base), change, desk.facts(change.verdict)
    )
    assert done.done_at is not None, "the draft is up either way"
    if refusal is None:
        (check,) = forge.checks
        assert (check.sha, check.conclusion) == (done.commit_sha, Conclusion.SUCCESS)
        assert done.tree[:12] in check.title and check.summary == done.body


@pytest.mark.long
def test_unfinished_work_gets_no_check(notes: Town) -> None:
    desk = Desk(notes)
    forge = CheckingForge(notes.root / "forge")
    publisher = Publisher(forge, notes.queue, desk.mirror, desk.way, redact=notes.secrets)
    tree = desk.verified("# Lit\n").verdict.tree
    publisher.push_wip(desk.task, desk.attempt, StartPoint(sha=desk.base), WipChange(tree=tree))
    assert forge.checks == []
