"""What the embedded forge's client does beyond the contract that every forge keeps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from domain.errors import ForgeError, ForgeUnavailable, NotFound, PermissionRefused
from domain.model import Actor, IssueRef, Permission, PullProposal, Repository
from domain.ports import Capability
from providers.local.faulty import Fault, FaultyForge
from providers.local.forge import LocalForge
from providers.local.people import LocalWorld


def proposal(**changes: str) -> PullProposal:
    fields = {"title": "Fix", "body": "Words.", "head_branch": "fix", "base_branch": "main"}
    return PullProposal(**{**fields, "marker": "task-1", **changes})  # type: ignore[arg-type]  # plain texts


@pytest.fixture
def forge(world: LocalWorld) -> LocalForge:
    return LocalForge(world.root)


@pytest.fixture
def pushed(world: LocalWorld, repository: Repository, rosa: Actor) -> str:
    return world.git.push(repository.id, "fix", {"fix.txt": b"x"}, by=rosa)


def test_markers_end_the_text(
    forge: LocalForge, repository: Repository, issue: IssueRef, pushed: str
) -> None:
    assert forge.ensure_comment(issue, "status", "working\n").body == "working\n\n<!-- fixwright:status -->"
    assert forge.add_comment(issue, "done", "").body == "<!-- fixwright-once:done -->"
    assert forge.ensure_pull(repository.id, proposal()).body == "Words.\n\n<!-- fixwright:task-1 -->"


@pytest.mark.parametrize("topic", ["", "a -->", "a--b", "a>b", "zwei worte", "-a", "x" * 300, "ü"])
def test_a_topic_that_could_end_its_marker_is_refused(forge: LocalForge, issue: IssueRef, topic: str) -> None:
    with pytest.raises(ForgeError, match="cannot be a marker"):
        forge.ensure_comment(issue, topic, "x")
    with pytest.raises(ForgeError, match="cannot be a marker"):
        forge.add_comment(issue, topic, "x")


def test_the_marker_counts_towards_the_length(forge: LocalForge, issue: IssueRef) -> None:
    room = 65_536 - len("\n\n<!-- fixwright:status -->")
    assert len(forge.ensure_comment(issue, "status", "x" * room).body) == 65_536
    with pytest.raises(ForgeError, match="too long"):
        forge.ensure_comment(issue, "status", "x" * (room + 1))


def test_a_refusal_names_who_lacks_what(
    world: LocalWorld, forge: LocalForge, repository: Repository, issue: IssueRef, pushed: str
) -> None:
    world.grant(repository.id, world.bot, Permission.TRIAGE)
    with pytest.raises(PermissionRefused, match=r"fixwright\[bot\].* comments in octo/widgets.*'triage'"):
        forge.ensure_comment(issue, "status", "x")
    with pytest.raises(PermissionRefused, match="pull requests"):
        forge.ensure_pull(repository.id, proposal())


def test_it_acts_as_whoever_it_is_told(
    world: LocalWorld, repository: Repository, issue: IssueRef, rosa: Actor, forge: LocalForge
) -> None:
    world.grant(repository.id, rosa, Permission.WRITE)
    hers = LocalForge(world.root, rosa).ensure_comment(issue, "status", "mine")
    assert hers.author == rosa
    assert forge.ensure_comment(issue, "status", "ours").id != hers.id


def test_each_refusal_of_a_pull_request_has_its_own_words(
    forge: LocalForge, world: LocalWorld, repository: Repository, rosa: Actor, pushed: str
) -> None:
    for wanted, words in (
        (proposal(base_branch="gone"), "base branch 'gone' does not exist in octo/widgets"),
        (proposal(head_branch="gone"), "head branch 'gone' does not exist in octo/widgets"),
        (proposal(head_branch="--upload-pack=x"), "head branch '--upload-pack=x' does not exist"),
        (proposal(head_branch="main"), "no commits between 'main' and 'main'"),
        (proposal(title="t" * 257), "title is too long"),
    ):
        with pytest.raises(ForgeError, match=words):
            forge.ensure_pull(repository.id, wanted)
    number = world.open_pull(repository.id, rosa, head="fix", base="main", title="Hers").number
    with pytest.raises(ForgeError, match=f"by rosa: local://octo/widgets/pull/{number}"):
        forge.ensure_pull(repository.id, proposal())


def test_an_empty_repository_has_no_base(forge: LocalForge, world: LocalWorld) -> None:
    empty = world.create_repository("octo/empty")
    with pytest.raises(ForgeError, match="base branch 'main' does not exist"):
        forge.ensure_pull(empty.id, proposal())


def test_our_pull_request_follows_a_renamed_base(
    forge: LocalForge, world: LocalWorld, repository: Repository, rosa: Actor, pushed: str
) -> None:
    first = forge.ensure_pull(repository.id, proposal())
    world.git.push(repository.id, "trunk", {"t": b"x"}, by=rosa)
    again = forge.ensure_pull(repository.id, proposal(base_branch="trunk"))
    assert (again.number, again.base_branch) == (first.number, "trunk")
    with pytest.raises(ForgeError, match="base branch"):
        forge.ensure_pull(repository.id, proposal(base_branch="gone"))


def test_what_people_marked_ready_stays_ready(
    forge: LocalForge, world: LocalWorld, repository: Repository, rosa: Actor, pushed: str
) -> None:
    number = forge.ensure_pull(repository.id, proposal()).number
    world.mark_ready(repository.id, number, rosa)
    assert not forge.ensure_pull(repository.id, proposal(title="Better")).is_draft


def test_a_failed_update_changes_nothing(
    forge: LocalForge, world: LocalWorld, repository: Repository, rosa: Actor, pushed: str
) -> None:
    before = forge.ensure_pull(repository.id, proposal())
    with pytest.raises(ForgeError, match="label"):
        wanted = replace(proposal(title="New", body="New"), labels=("l" * 51,))
        forge.ensure_pull(repository.id, wanted)
    assert forge.find_pull(repository.id, "fix") == before


def test_an_unknown_reaction_or_comment_is_refused(
    forge: LocalForge, world: LocalWorld, repository: Repository, issue: IssueRef, rosa: Actor
) -> None:
    comment = world.comment(issue, rosa, "hello")
    other = world.open_issue(repository.id, rosa, title="Other")
    with pytest.raises(ForgeError, match="not a reaction"):
        forge.react(issue, comment.id, "party")
    with pytest.raises(NotFound):
        forge.react(other, comment.id, "eyes")
    assert world.reactions(comment.id) == []


# -- a forge that fails -----------------------------------------------------------------------------


def test_faults_come_in_turn_and_for_their_method_only(forge: LocalForge, issue: IssueRef) -> None:
    refusal = PermissionRefused("issues: write is missing")
    faults = [Fault(method="issue", times=1), Fault(method="issue", error=refusal)]
    faulty = FaultyForge(forge, faults)
    assert faulty.comments(issue) == ()
    with pytest.raises(ForgeUnavailable):
        faulty.issue(issue)
    with pytest.raises(PermissionRefused, match="issues: write"):
        faulty.issue(issue)
    assert faulty.issue(issue) == forge.issue(issue)
    assert faulty.calls == ["comments", "issue", "issue", "issue"]


def test_an_ambiguous_write_was_done(forge: LocalForge, issue: IssueRef) -> None:
    faulty = FaultyForge(forge, [Fault(method="ensure_comment", acted=True)])
    with pytest.raises(ForgeUnavailable):
        faulty.ensure_comment(issue, "status", "x")
    assert len(forge.comments(issue)) == 1


def test_a_fault_before_the_act_did_nothing(forge: LocalForge, issue: IssueRef) -> None:
    with pytest.raises(ForgeUnavailable):
        FaultyForge(forge, [Fault(method="add_comment")]).add_comment(issue, "once", "x")
    assert forge.comments(issue) == ()


def test_a_faulty_forge_claims_only_what_the_port_has(forge: LocalForge) -> None:
    assert FaultyForge(forge).capabilities == {Capability.DRAFT_PULLS}
