"""What people do on the embedded forge."""

from __future__ import annotations

from pathlib import Path

import pytest

from domain.errors import ForgeError, NotFound
from domain.model import Actor, IssueRef, Permission, Repository
from providers.local.forge import LocalForge
from providers.local.people import LocalWorld


def ref(repository: Repository, number: int) -> IssueRef:
    return IssueRef(forge="local", repository_id=repository.id, number=number)


@pytest.fixture
def pull_number(world: LocalWorld, repository: Repository, rosa: Actor) -> int:
    """An open pull request from `fix`, which adds fix.txt."""
    world.git.push(repository.id, "fix", {"fix.txt": b"fix\n"}, by=rosa)
    return world.open_pull(repository.id, rosa, head="fix", base="main", title="Fix it").number


# -- users and repositories -------------------------------------------------------------------------


def test_a_login_is_taken_once_in_any_case(world: LocalWorld, rosa: Actor) -> None:
    for login in ("rosa", "Rosa", "fixwright[bot]"):
        with pytest.raises(ForgeError, match="is taken"):
            world.create_user(login)
    other = world.create_user("other")
    with pytest.raises(ForgeError, match="is taken"):
        world.rename_user(other, "ROSA")


def test_a_renamed_user_keeps_the_id(world: LocalWorld, rosa: Actor, issue: IssueRef) -> None:
    renamed = world.rename_user(rosa, "rosalind")
    assert (renamed.id, renamed.login) == (rosa.id, "rosalind")
    assert LocalForge(world.root).issue(issue).author == renamed


def test_a_deleted_user_leaves_a_ghost_and_a_free_login(
    world: LocalWorld, rosa: Actor, repository: Repository, issue: IssueRef
) -> None:
    world.delete_user(rosa)
    assert world.issues(repository.id)[0].author == Actor(id="0", login="ghost")
    assert world.create_user("rosa").id != rosa.id


@pytest.mark.parametrize(
    "name",
    ["widgets", "../up/x", "octo/../x", "octo/.hidden", "/x", "octo/x.git", "a/b/c", "-o/x"],
)
def test_a_repository_name_that_is_no_safe_path_is_refused(world: LocalWorld, name: str) -> None:
    with pytest.raises(ForgeError, match="octo/widgets"):
        world.create_repository(name)
    assert world.repositories() == []


def test_a_repository_name_is_taken_once(world: LocalWorld, repository: Repository) -> None:
    with pytest.raises(ForgeError, match="already"):
        world.create_repository("Octo/Widgets")
    assert world.repositories() == [repository]


def test_what_a_crash_left_of_a_repository_is_in_nobodys_way(world: LocalWorld) -> None:
    left = world.root / "repos" / "octo" / "widgets.git"
    left.mkdir(parents=True)
    (left / "config").write_text("[core]\n\tbare = maybe\n")
    repository = world.create_repository("octo/widgets", files={"a": b"1"})
    assert world.git.read_file(repository.id, "main", "a") == b"1"


def test_the_bot_may_write_and_can_be_restricted(world: LocalWorld, repository: Repository) -> None:
    forge = LocalForge(world.root)
    assert forge.permission_of(repository.id, world.bot) is Permission.WRITE
    world.grant(repository.id, world.bot, Permission.NONE)
    assert forge.permission_of(repository.id, world.bot) is Permission.NONE


def test_the_default_branch_can_change(world: LocalWorld, repository: Repository, rosa: Actor) -> None:
    world.git.push(repository.id, "trunk", {"x": b"x"}, by=rosa)
    world.set_default_branch(repository.id, "trunk")
    assert LocalForge(world.root).repository(repository.id).default_branch == "trunk"
    head = world.root / "repos" / "octo" / "widgets.git" / "HEAD"
    assert head.read_text().strip() == "ref: refs/heads/trunk"


def test_a_private_repository_is_hidden_from_strangers(
    world: LocalWorld, repository: Repository, issue: IssueRef, rosa: Actor
) -> None:
    world.set_private(repository.id, True)
    stranger = LocalForge(world.root, rosa)
    for look in (
        lambda: stranger.repository(repository.id),
        lambda: stranger.issue(issue),
        lambda: stranger.comments(issue),
        lambda: stranger.clone_access(repository.id),
        lambda: stranger.find_pull(repository.id, "main"),
        lambda: stranger.permission_of(repository.id, rosa),
        lambda: stranger.ensure_comment(issue, "status", "x"),
    ):
        with pytest.raises(NotFound):
            look()
    world.grant(repository.id, rosa, Permission.READ)
    assert stranger.repository(repository.id).private


# -- issues and comments ----------------------------------------------------------------------------


def test_issues_and_pull_requests_share_their_numbers(
    world: LocalWorld, repository: Repository, issue: IssueRef, pull_number: int, rosa: Actor
) -> None:
    third = world.open_issue(repository.id, rosa, title="Third")
    assert (issue.number, pull_number, third.number) == (1, 2, 3)
    assert [found.number for found in world.issues(repository.id)] == [1, 3]
    assert world.open_issue(world.create_repository("octo/other").id, rosa, title="First").number == 1


def test_the_number_of_a_deleted_issue_is_not_given_again(
    world: LocalWorld, repository: Repository, issue: IssueRef, rosa: Actor
) -> None:
    world.comment(issue, rosa, "soon gone")
    world.delete_issue(issue, rosa)
    with pytest.raises(NotFound):
        world.comments(issue)
    assert world.open_issue(repository.id, rosa, title="Next").number == 2


def test_an_issue_changes_as_people_change_it(
    world: LocalWorld, repository: Repository, issue: IssueRef, rosa: Actor
) -> None:
    world.edit_issue(issue, rosa, title="Crash", body="")
    world.label(issue, rosa, "bug", "Bug", "docs")
    world.unlabel(issue, rosa, "DOCS")
    world.close_issue(issue, rosa)
    world.lock_issue(issue, rosa)
    world.assign(issue, rosa, rosa)
    world.assign(issue, rosa, rosa)
    (found,) = world.issues(repository.id)
    assert (found.title, found.body, found.labels) == ("Crash", "", ("bug",))
    assert not found.is_open and found.locked and found.assignees == (rosa,)
    world.reopen_issue(issue, rosa)
    assert world.issues(repository.id)[0].is_open


@pytest.mark.parametrize("title", ["", " \n", "t" * 257, "half a pair \ud83d", "nul\x00"])
def test_a_title_that_cannot_be_stored_is_refused(
    world: LocalWorld, repository: Repository, rosa: Actor, title: str
) -> None:
    with pytest.raises(ForgeError):
        world.open_issue(repository.id, rosa, title=title)
    assert world.issues(repository.id) == []


def test_bodies_end_at_65536_characters(world: LocalWorld, issue: IssueRef, rosa: Actor) -> None:
    assert len(world.comment(issue, rosa, "é" * 65_536).body) == 65_536
    with pytest.raises(ForgeError, match="65536"):
        world.comment(issue, rosa, "é" * 65_537)


def test_addresses_are_stable_and_their_own(
    world: LocalWorld, repository: Repository, issue: IssueRef, pull_number: int, rosa: Actor
) -> None:
    on_issue = world.comment(issue, rosa, "one")
    on_pull = world.comment(ref(repository, pull_number), rosa, "two")
    assert world.issues(repository.id)[0].url == "local://octo/widgets/issues/1"
    assert world.pulls(repository.id)[0].url == "local://octo/widgets/pull/2"
    assert on_issue.url == f"local://octo/widgets/issues/1#comment-{on_issue.id}"
    assert on_pull.url == f"local://octo/widgets/pull/2#comment-{on_pull.id}"


def test_comments_are_edited_and_deleted(world: LocalWorld, issue: IssueRef, rosa: Actor) -> None:
    first, second = world.comment(issue, rosa, "one"), world.comment(issue, rosa, "two")
    world.edit_comment(first.id, rosa, "uno")
    world.delete_comment(second.id, rosa)
    assert [comment.body for comment in world.comments(issue)] == ["uno"]
    with pytest.raises(NotFound):
        world.delete_comment(second.id, rosa)
    with pytest.raises(NotFound):
        world.edit_comment("not-an-id", rosa, "x")


def test_somebody_unknown_can_write_nothing(world: LocalWorld, issue: IssueRef) -> None:
    with pytest.raises(ForgeError, match="refused"):
        world.comment(issue, Actor(id="4711", login="nobody"), "hello")
    assert world.comments(issue) == []


# -- pull requests ----------------------------------------------------------------------------------


def test_a_merge_goes_forward_when_it_can(
    world: LocalWorld, repository: Repository, pull_number: int, rosa: Actor
) -> None:
    merged = world.merge_pull(repository.id, pull_number, rosa)
    assert world.git.branches(repository.id) == {"fix": merged, "main": merged}
    (pull,) = world.pulls(repository.id)
    assert pull.merged and not pull.is_open


def test_a_merge_joins_what_went_apart(
    world: LocalWorld, repository: Repository, pull_number: int, rosa: Actor
) -> None:
    ours = world.git.push(repository.id, "main", {"other.txt": b"x", "lib/a.py": None}, by=rosa)
    theirs = world.git.branches(repository.id)["fix"]
    merged = world.merge_pull(repository.id, pull_number, rosa)
    assert world.git.commits(repository.id, "main")[0].parents == (ours, theirs)
    assert set(world.git.files(repository.id, merged)) == {"README.md", "fix.txt", "other.txt"}


def test_a_merge_of_what_both_changed_is_refused(
    world: LocalWorld, repository: Repository, pull_number: int, rosa: Actor
) -> None:
    before = world.git.push(repository.id, "main", {"fix.txt": b"another fix\n"}, by=rosa)
    with pytest.raises(ForgeError, match=r"both sides: fix\.txt"):
        world.merge_pull(repository.id, pull_number, rosa)
    assert world.git.branches(repository.id)["main"] == before
    assert world.pulls(repository.id)[0].is_open


def test_a_merge_closes_the_issues_that_its_text_closes(
    world: LocalWorld, repository: Repository, issue: IssueRef, pull_number: int, rosa: Actor
) -> None:
    kept = world.open_issue(repository.id, rosa, title="Not this one")
    body = f"Fixes #{issue.number}, refs #{kept.number}, closes #999, resolves octo/other#{kept.number}"
    world.edit_issue(ref(repository, pull_number), rosa, body=body)
    world.merge_pull(repository.id, pull_number, rosa)
    assert [(found.number, found.is_open) for found in world.issues(repository.id)] == [(1, False), (3, True)]


def test_a_merged_pull_request_keeps_its_diff_without_its_branch(
    world: LocalWorld, repository: Repository, pull_number: int, rosa: Actor
) -> None:
    before, head = world.pull_diff(repository.id, pull_number), world.pulls(repository.id)[0].head_sha
    world.merge_pull(repository.id, pull_number, rosa)
    world.git.delete_branch(repository.id, "fix", by=rosa)
    assert world.pull_diff(repository.id, pull_number) == before
    assert world.pulls(repository.id)[0].head_sha == head


def test_a_closed_pull_request_is_neither_closed_nor_merged_again(
    world: LocalWorld, repository: Repository, pull_number: int, rosa: Actor
) -> None:
    world.close_pull(repository.id, pull_number, rosa)
    for again in (world.close_pull, world.merge_pull):
        with pytest.raises(ForgeError, match="not open"):
            again(repository.id, pull_number, rosa)
    assert "fix" in world.git.branches(repository.id)


def test_a_branch_has_one_open_pull_request_to_a_base(
    world: LocalWorld, repository: Repository, pull_number: int, rosa: Actor
) -> None:
    with pytest.raises(ForgeError, match=f"#{pull_number} from 'fix' to 'main' is open already"):
        world.open_pull(repository.id, rosa, head="fix", base="main", title="Again")
    world.close_pull(repository.id, pull_number, rosa)
    assert world.open_pull(repository.id, rosa, head="fix", base="main", title="Again").is_open


def test_a_pull_request_goes_with_its_branch(
    world: LocalWorld, repository: Repository, pull_number: int, rosa: Actor
) -> None:
    world.git.delete_branch(repository.id, "fix", by=rosa)
    (pull,) = world.pulls(repository.id)
    assert not pull.is_open and not pull.merged and len(pull.head_sha) == 40
    with pytest.raises(NotFound):
        world.git.delete_branch(repository.id, "fix", by=rosa)


def test_a_push_to_its_branch_is_told_of_a_pull_request(
    world: LocalWorld, repository: Repository, pull_number: int, rosa: Actor
) -> None:
    moved = world.git.push(repository.id, "fix", {"more.txt": b"x"}, by=rosa)
    told = [(record.event, record.action) for record in world.deliveries()][-2:]
    assert told == [("push", ""), ("pull_request", "synchronize")]
    assert world.pulls(repository.id)[0].head_sha == moved


def test_everything_is_there_in_another_process(
    world: LocalWorld, repository: Repository, issue: IssueRef, pull_number: int, tmp_path: Path
) -> None:
    again = LocalWorld(tmp_path / "forge")
    assert again.repositories() == [repository]
    assert again.pulls(repository.id) == world.pulls(repository.id)
    assert again.issues(repository.id) == world.issues(repository.id)


def test_a_label_put_on_again_is_not_the_same_delivery(
    world: LocalWorld, rosa: Actor, issue: IssueRef
) -> None:
    world.label(issue, rosa, "again")
    world.unlabel(issue, rosa, "again")
    world.label(issue, rosa, "again")

    first, second = [hook.payload for hook in world.deliveries() if hook.action == "labeled"][-2:]
    assert first != second
