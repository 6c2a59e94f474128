"""The gate before anything is pushed: what is shown, whose word counts, that exactly that is published."""

from __future__ import annotations

import re

import pytest

from domain.model import IssueRef, Outcome, Reason
from domain.states import State
from evals.crash.fuse import Fuse, Fused, FusedGit, Killed
from providers.local.forge import LocalForge
from tests.worker.conftest import BuildTown
from tests.worker.town import NOTES, WRITE, Town, caps, plays

GATED = NOTES | {".fixwright.yml": "approval: publish\n"}
WAITING = (State.BLOCKED, Reason.AWAITING_APPROVAL)
IN_REVIEW = (State.IN_REVIEW, None)
OTHER = "printf '# Lamp\\n\\nAnother text.\\n' > README.md"


@pytest.fixture
def gated(build: BuildTown) -> Town:
    return build(GATED)


def held(town: Town, *commands: str) -> IssueRef:
    """Return an issue whose change is ready and waits."""
    issue = town.issue("docs")
    town.loop(plays(*(commands or (WRITE,)))).turn()
    assert town.stands == WAITING, town.text(issue)
    return issue


def hear(town: Town) -> None:
    """Let a worker hear what was said and do what follows, with an agent that must not be asked."""
    town.loop(plays("exit 9", claim=None)).turn()


def shown(town: Town, issue: IssueRef) -> str:
    (comment,) = [c.body for c in town.said(issue) if "waiting for a maintainer's word" in c.body]
    return comment


def tree_in(comment: str) -> str:
    match = re.search(r"Tree: `([0-9a-f]{40})`", comment)
    assert match is not None
    return match[1]


@pytest.mark.long
def test_exactly_what_would_be_pushed_is_shown_and_nothing_is(gated: Town) -> None:
    issue = held(gated)

    comment = shown(gated, issue)
    (ready,) = gated.queue.publications(gated.task.id)
    assert ready.done_at is None and tree_in(comment) == ready.tree
    assert f"`{ready.branch}`, for `main`" in comment and ready.title.split(" (#")[0][:10] in comment
    assert "+It has no tests yet." in comment and "Fixes" in comment
    assert not gated.branches and not gated.world.pulls(gated.repository.id)
    assert gated.outcomes == [None], "the attempt stays open: nothing is worked out twice"
    assert "/fixwright approve" in gated.text(issue)


@pytest.mark.long
def test_a_maintainers_word_publishes_exactly_it_without_model_or_tests(gated: Town) -> None:
    issue = held(gated)
    (ready,) = gated.queue.publications(gated.task.id)
    spent = gated.ledger.spent_on_task(gated.task.id)

    gated.comment(issue, "/fixwright approve\nGood.")
    hear(gated)

    assert gated.stands == IN_REVIEW, gated.text(issue)
    assert not gated.cast.briefs and gated.ledger.spent_on_task(gated.task.id) == spent
    (pull,) = gated.world.pulls(gated.repository.id)
    assert (pull.title, pull.head_branch, pull.head_sha) == (ready.title, ready.branch, ready.commit_sha)
    assert pull.body.startswith(ready.body)
    assert gated.decisions() == [f"approve: publish-{ready.tree}-1"] and gated.outcomes == [Outcome.VERIFIED]
    (word,) = gated.queue.allowances(gated.task.id)
    assert word.by.login == "mika"


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "goes_on"), [("{tree}", True), ("{start}", True), ("{other}", False), ("abc", False)]
)
def test_a_name_must_be_that_of_what_waits(gated: Town, name: str, goes_on: bool) -> None:
    issue = held(gated)
    tree = tree_in(shown(gated, issue))
    written = name.format(tree=tree.upper(), start=tree[:7], other="0" * 40)
    gated.comment(issue, f"/fixwright approve {written}")
    hear(gated)
    assert gated.stands == (IN_REVIEW if goes_on else WAITING)
    assert goes_on or f"/fixwright approve {tree[:12]}" in gated.said(issue)[-1].body
    assert bool(gated.branches) is goes_on


@pytest.mark.long
def test_strangers_approve_nothing(gated: Town) -> None:
    issue = held(gated)
    for by in (gated.stranger, gated.world.bot):
        gated.comment(issue, "/fixwright approve", by=by)
    hear(gated)
    assert gated.stands == WAITING and not gated.branches
    assert not gated.queue.allowances(gated.task.id)


@pytest.mark.long
def test_a_word_that_is_older_than_what_waits_must_name_it(gated: Town) -> None:
    issue = gated.issue("docs")
    gated.world.comment(issue, gated.maintainer, "/fixwright approve")
    gated.loop(plays(WRITE)).turn()
    for comment in [c for c in gated.world.comments(issue) if "Tree: `" in c.body]:
        gated.world.delete_comment(comment.id, gated.world.bot)
    gated.deliver()
    hear(gated)
    assert gated.stands == WAITING
    assert "older than what waits now" in gated.said(issue)[-1].body
    (ready,) = gated.queue.publications(gated.task.id)
    gated.comment(issue, f"/fixwright approve {ready.tree[:12]}")
    hear(gated)
    assert gated.stands == IN_REVIEW


@pytest.mark.long
@pytest.mark.parametrize("verb", ["retry", "resume"])
def test_another_attempt_needs_another_word(gated: Town, verb: str) -> None:
    issue = held(gated)
    first = tree_in(shown(gated, issue))
    gated.comment(issue, f"/fixwright {verb}\nSay it another way.")
    gated.loop(plays(OTHER)).turn()

    assert gated.stands == WAITING and gated.outcomes == [Outcome.INTERRUPTED, None]
    assert "Say it another way." in str(gated.cast.briefs[0].instructions)
    last = [c.body for c in gated.said(issue) if "Tree: `" in c.body][-1]
    assert "Another text." in last and tree_in(last) != first and not gated.branches
    gated.comment(issue, f"/fixwright approve {first}")
    hear(gated)
    assert gated.stands == WAITING and not gated.branches
    gated.comment(issue, "/fixwright approve")
    hear(gated)
    assert gated.stands == IN_REVIEW
    (pull,) = gated.world.pulls(gated.repository.id)
    assert "+Another text." in gated.world.pull_diff(gated.repository.id, pull.number)


@pytest.mark.long
def test_what_was_cancelled_after_its_approval_needs_another_word(gated: Town) -> None:
    issue = held(gated)
    gated.comment(issue, "/fixwright approve")
    gated.comment(issue, "/fixwright cancel")
    hear(gated)
    assert gated.stands == (State.CANCELLED, Reason.WITHDRAWN)
    gated.comment(issue, "/fixwright run")
    gated.loop(plays(WRITE)).turn()
    assert gated.stands == WAITING and not gated.branches
    gated.comment(issue, "/fixwright approve")
    hear(gated)
    assert gated.stands == IN_REVIEW, gated.text(issue)


@pytest.mark.long
def test_a_cancel_rejects_it(gated: Town) -> None:
    issue = held(gated)
    gated.comment(issue, "/fixwright cancel")
    hear(gated)
    gated.comment(issue, "/fixwright approve")
    hear(gated)
    assert gated.stands == (State.CANCELLED, Reason.WITHDRAWN)
    assert not gated.branches and gated.outcomes == [Outcome.CANCELLED]


def push_to_base(town: Town, files: dict[str, bytes | None]) -> None:
    town.world.git.push(town.repository.id, "main", files, by=town.maintainer)


@pytest.mark.long
def test_on_a_base_that_moved_the_same_change_is_verified_again_and_published(gated: Town) -> None:
    issue = held(gated)
    spent = gated.ledger.spent_on_task(gated.task.id)
    push_to_base(gated, {"OTHER.md": b"Other.\n"})
    gated.comment(issue, "/fixwright approve")
    hear(gated)

    assert gated.stands == IN_REVIEW, gated.text(issue)
    assert not gated.cast.briefs and gated.ledger.spent_on_task(gated.task.id) == spent
    assert gated.outcomes == [Outcome.DECLINED, Outcome.VERIFIED]
    assert "The base branch had moved on since the approval" in gated.text(issue)
    (pull,) = gated.world.pulls(gated.repository.id)
    assert "OTHER.md" in gated.world.git.files(gated.repository.id, pull.head_branch)
    difference = gated.world.pull_diff(gated.repository.id, pull.number)
    assert "no tests yet" in difference and "OTHER.md" not in difference


@pytest.mark.long
def test_what_becomes_another_change_on_a_moved_base_needs_a_word_of_its_own(gated: Town) -> None:
    issue = held(gated)
    push_to_base(gated, {"README.md": b"# Lantern\n\nIt burns.\n"})
    gated.comment(issue, "/fixwright approve")
    gated.loop(plays(OTHER)).turn()
    assert gated.stands == WAITING and not gated.branches
    assert "What was approved before was another change" in gated.text(issue)


@pytest.mark.long
def test_a_publication_that_failed_goes_on_with_the_same_word(gated: Town) -> None:
    """Somebody has taken the branch's name meanwhile."""
    issue = held(gated)
    gated.world.git.push(gated.repository.id, "fixwright/issue-1", {"x": b"x"}, by=gated.maintainer)
    gated.comment(issue, "/fixwright approve")
    hear(gated)
    assert gated.stands == (State.BLOCKED, Reason.BRANCH_MOVED)
    gated.comment(issue, "/fixwright resume")
    hear(gated)
    assert gated.stands == IN_REVIEW, gated.text(issue)
    (pull,) = gated.world.pulls(gated.repository.id)
    assert pull.head_branch == "fixwright/issue-1-2"


@pytest.mark.long
def test_unfinished_work_is_not_pushed_either_and_not_lost(gated: Town) -> None:
    issue = gated.issue("docs")
    gated.loop(plays(WRITE, "true", "true"), caps=caps(max_iterations=2)).turn()
    assert gated.stands == (State.BLOCKED, Reason.TASK_LIMIT) and not gated.branches
    gated.comment(issue, "/fixwright resume")
    gated.loop(plays("grep -q 'no tests yet' README.md && echo >> README.md")).turn()
    assert gated.stands == WAITING, gated.text(issue)
    assert "+It has no tests yet." in shown(gated, issue) and not gated.branches


@pytest.mark.long
def test_a_secret_is_not_shown_and_the_hidden_is_named(gated: Town) -> None:
    gated.secrets.lend("hunter2hunter2")
    issue = held(gated, "printf '# Lamp\\n\\nIt ho\u200blds hunter2hunter2 here.\\n' > README.md")
    comment = shown(gated, issue)
    assert "⟨U+200B⟩" in comment and "hunter2" not in comment


@pytest.mark.long
def test_a_long_difference_is_clipped_and_kept_whole(gated: Town) -> None:
    issue = held(gated, "seq -f 'A line of a lamp that is long enough, %g' 3000 > README.md")
    comment = shown(gated, issue)
    assert "characters left out" in comment and "attempt-1.diff" in comment and "/fixwright cancel" in comment
    whole = (gated.root / "transcripts" / "attempt-1.diff").read_text()
    assert "long enough, 1500" in whole and "long enough, 1500" not in comment


def turn_to_its_end(town: Town, life: str) -> None:
    town.close()
    town.reopen()
    loop = town.loop(plays(WRITE), life=life)
    town.workspaces.sweep()
    while loop.turn():
        pass


def fused(town: Town, fuse: Fuse, life: str) -> None:
    town.loop(
        plays(WRITE),
        forge=Fused(LocalForge(town.root / "forge"), fuse),  # type: ignore[arg-type]  # any port
        queue=Fused(town.queue, fuse),  # type: ignore[arg-type]
        runner=FusedGit(town.root / "git-home", fuse=fuse),
        life=life,
    ).turn()


@pytest.mark.long
@pytest.mark.parametrize("share", range(4))
def test_a_death_before_any_call_pushes_nothing_before_the_word_and_once_after(
    build: BuildTown, share: int
) -> None:
    """Nothing is paid twice either: the agent is asked in one attempt, whoever dies."""
    calls: list[list[str]] = []
    for when in ("before", "after"):
        town, fuse = build(GATED), Fuse(every=False)
        if when == "after":
            town.comment(held(town), "/fixwright approve")
        else:
            town.issue("docs")
        fused(town, fuse, "one")
        calls.append(fuse.calls)
    first = len(calls[0]) - calls[0][::-1].index("save_verdict")
    deaths = [("before", at) for at in range(first, len(calls[0]) + 1)]
    deaths += [("after", at) for at in range(1, len(calls[1]) + 1)]

    for when, at in deaths[share::4]:
        town = build(GATED)
        issue = town.issue("docs") if when == "before" else held(town)
        if when == "after":
            town.comment(issue, "/fixwright approve")
        with pytest.raises(Killed):
            fused(town, Fuse(at, every=False), "two")
        if when == "before":
            turn_to_its_end(town, "three")
            assert town.stands == WAITING and not town.branches, (when, at)
            town.comment(issue, "/fixwright approve")
        turn_to_its_end(town, "four")

        assert town.stands == IN_REVIEW, (when, at, town.text(issue))
        assert len(town.world.pulls(town.repository.id)) == len(town.branches) == 1
        assert len([c for c in town.said(issue) if "Tree: `" in c.body]) == 1
        assert town.ledger.calls_on_attempt(town.attempts[0].id) == 1
        assert town.outcomes == [Outcome.VERIFIED]
