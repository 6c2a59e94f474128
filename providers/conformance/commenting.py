"""Contract checks of our own comments: one per topic, one per key, whatever others do to them."""

# ruff: noqa: D102  (a check is described by its name)

from __future__ import annotations

import pytest

from domain.errors import ForgeError, NotFound, PermissionRefused
from domain.model import Actor, Comment, IssueRef
from domain.ports import Capability, Forge, ListingReactions, Reacting
from providers.conformance.reading import TEXTS
from providers.conformance.stage import ForgeStage, StagedChecks, needs


class CommentingChecks(StagedChecks):
    """ensure_comment, add_comment and reactions."""

    def test_a_topic_has_one_comment(self, issue: IssueRef, forge: Forge) -> None:
        first = forge.ensure_comment(issue, "status", "working")
        assert forge.ensure_comment(issue, "status", "working").id == first.id
        assert [comment.id for comment in ours(forge, issue)] == [first.id]
        assert first.author.id == forge.identity.id and first.url

    def test_the_marker_is_hidden_behind_the_text(self, issue: IssueRef, forge: Forge) -> None:
        forge.ensure_comment(issue, "status", "Working on it.\n\n- one\n- two")
        (found,) = ours(forge, issue)
        shown, marker = found.body.split("<!--")
        assert shown.strip() == "Working on it.\n\n- one\n- two"
        assert marker.rstrip().endswith("-->")

    @pytest.mark.parametrize("text", TEXTS)
    def test_our_text_is_written_as_it_is(self, issue: IssueRef, forge: Forge, text: str) -> None:
        forge.ensure_comment(issue, "status", text)
        forge.add_comment(issue, "once", text)
        assert len(ours(forge, issue)) == 2
        assert all(comment.body.startswith(text.rstrip()) for comment in ours(forge, issue))

    def test_another_client_finds_the_same_comments(
        self, stage: ForgeStage, issue: IssueRef, forge: Forge
    ) -> None:
        other = stage.forge()
        first, once = forge.ensure_comment(issue, "status", "a"), forge.add_comment(issue, "once", "b")
        assert other.ensure_comment(issue, "status", "c").id == first.id
        assert other.add_comment(issue, "once", "d").id == once.id
        assert forge.ensure_comment(issue, "status", "e").id == first.id
        assert len(ours(forge, issue)) == 2

    def test_an_edit_by_somebody_does_not_free_a_key(
        self, stage: ForgeStage, issue: IssueRef, person: Actor, forge: Forge
    ) -> None:
        first = forge.add_comment(issue, "attempt-1", "the text")
        stage.edit_comment(issue, first.id, person, first.body.replace("the text", "other words"))
        assert forge.add_comment(issue, "attempt-1", "the text").id == first.id
        assert len(ours(forge, issue)) == 1

    def test_a_closed_issue_takes_comments(
        self, stage: ForgeStage, issue: IssueRef, person: Actor, forge: Forge
    ) -> None:
        stage.close_issue(issue, person)
        first = forge.ensure_comment(issue, "status", "closed, so I stop")
        assert forge.ensure_comment(issue, "status", "stopped").id == first.id

    def test_a_comment_leaves_the_issue_as_it_was(self, issue: IssueRef, forge: Forge) -> None:
        before = forge.issue(issue)
        forge.ensure_comment(issue, "status", "Fixes #1, closes #1")
        after = forge.issue(issue)
        assert (after.title, after.body, after.is_open) == (before.title, before.body, before.is_open)
        assert after.labels == before.labels

    @pytest.mark.parametrize("unit", ["x", "ü", "🎉"])
    def test_a_text_is_taken_whole_or_refused_never_cut(
        self, issue: IssueRef, forge: Forge, unit: str
    ) -> None:
        for length in (20_000, 65_000, 65_536, 70_000, 300_000):
            text = unit * length
            try:
                forge.ensure_comment(issue, f"long-{length}", text)
            except ForgeError:
                continue
            assert any(comment.body.startswith(text) for comment in ours(forge, issue)), length
        assert ours(forge, issue), "20,000 characters must be possible"

    def test_new_text_replaces_the_old(self, issue: IssueRef, forge: Forge) -> None:
        first = forge.ensure_comment(issue, "status", "working")
        second = forge.ensure_comment(issue, "status", "done")
        (found,) = ours(forge, issue)
        assert second.id == first.id == found.id
        assert "done" in found.body and "working" not in found.body

    def test_topics_do_not_run_into_one_another(self, issue: IssueRef, forge: Forge) -> None:
        topics = ["status", "status-2", "stat", "a:status", "task-1", "task-12", "task-1:status"]
        made = {topic: forge.ensure_comment(issue, topic, f"about {topic}.").id for topic in topics}
        assert len(set(made.values())) == len(topics)
        for topic in reversed(topics):
            assert forge.ensure_comment(issue, topic, f"again about {topic}.").id == made[topic]
        assert len(ours(forge, issue)) == len(topics)

    def test_issues_do_not_share_topics(
        self, stage: ForgeStage, repository_id: str, issue: IssueRef, person: Actor, forge: Forge
    ) -> None:
        other = stage.open_issue(repository_id, person, "Another", "")
        assert forge.ensure_comment(issue, "status", "a").id != forge.ensure_comment(other, "status", "b").id
        assert len(ours(forge, issue)) == len(ours(forge, other)) == 1

    def test_somebody_elses_marker_is_not_ours(
        self, stage: ForgeStage, issue: IssueRef, person: Actor, forge: Forge
    ) -> None:
        copied = forge.ensure_comment(issue, "status", "working").body
        stage.delete_comment(issue, ours(forge, issue)[0].id, person)
        theirs = stage.comment(issue, person, copied)
        mine = forge.ensure_comment(issue, "status", "done")
        assert mine.id != theirs
        assert {comment.id: comment.body for comment in forge.comments(issue)}[theirs] == copied

    def test_a_marker_quoted_in_our_own_text_catches_nothing(
        self, stage: ForgeStage, issue: IssueRef, person: Actor, forge: Forge
    ) -> None:
        quoted = forge.ensure_comment(issue, "status", "working")
        stage.delete_comment(issue, quoted.id, person)
        report = forge.ensure_comment(issue, "report", f"It said:\n\n{quoted.body}")
        assert forge.ensure_comment(issue, "status", "done").id != report.id
        assert len(ours(forge, issue)) == 2

    def test_our_comment_is_found_among_130(
        self, stage: ForgeStage, issue: IssueRef, person: Actor, forge: Forge
    ) -> None:
        for number in range(95):
            stage.comment(issue, person, f"before {number}")
        first = forge.ensure_comment(issue, "status", "working")
        for number in range(35):
            stage.comment(issue, person, f"after {number}")
        assert forge.ensure_comment(issue, "status", "done").id == first.id
        assert len(ours(forge, issue)) == 1 and len(forge.comments(issue)) == 131

    def test_a_deleted_comment_is_written_anew_once(
        self, stage: ForgeStage, issue: IssueRef, person: Actor, forge: Forge
    ) -> None:
        first = forge.ensure_comment(issue, "status", "working")
        stage.delete_comment(issue, first.id, person)
        again = forge.ensure_comment(issue, "status", "working")
        assert again.id != first.id
        assert forge.ensure_comment(issue, "status", "working").id == again.id
        assert len(ours(forge, issue)) == 1

    def test_an_edit_by_somebody_is_written_over(
        self, stage: ForgeStage, issue: IssueRef, person: Actor, forge: Forge
    ) -> None:
        first = forge.ensure_comment(issue, "status", "working")
        stage.edit_comment(issue, first.id, person, first.body.replace("working", "merged, all fine"))
        assert forge.ensure_comment(issue, "status", "working").id == first.id
        (found,) = ours(forge, issue)
        assert found.body == first.body

    def test_a_text_that_is_too_long_is_refused(self, issue: IssueRef, forge: Forge) -> None:
        with pytest.raises(ForgeError):
            forge.ensure_comment(issue, "status", "x" * 2_000_000)
        with pytest.raises(ForgeError):
            forge.add_comment(issue, "once", "x" * 2_000_000)
        assert ours(forge, issue) == []

    def test_a_long_text_is_taken_whole(self, issue: IssueRef, forge: Forge) -> None:
        text = "".join(f"line {number}\n" for number in range(5000))
        forge.ensure_comment(issue, "log", text)
        assert text.rstrip() in ours(forge, issue)[0].body

    def test_a_key_has_one_comment(self, issue: IssueRef, forge: Forge) -> None:
        first = forge.add_comment(issue, "attempt-1", "the first text")
        again = forge.add_comment(issue, "attempt-1", "another text")
        assert again == first and "the first text" in first.body
        assert [comment.id for comment in ours(forge, issue)] == [first.id]

    def test_keys_and_topics_do_not_run_into_one_another(self, issue: IssueRef, forge: Forge) -> None:
        made = [forge.add_comment(issue, key, key).id for key in ("attempt-1", "attempt-11", "tempt-1")]
        made.append(forge.ensure_comment(issue, "attempt-1", "the topic").id)
        assert len(set(made)) == 4
        assert "the topic" not in forge.add_comment(issue, "attempt-1", "").body

    def test_comments_can_be_put_on_a_pull_request(
        self, stage: ForgeStage, repository_id: str, person: Actor, forge: Forge
    ) -> None:
        stage.push(repository_id, "topic", "new.txt")
        number = stage.open_pull(repository_id, person, "topic", "main")
        ref = IssueRef(forge=forge.name, repository_id=repository_id, number=number)
        assert forge.ensure_comment(ref, "status", "a").id == forge.ensure_comment(ref, "status", "b").id

    def test_comments_need_an_issue(self, issue: IssueRef, forge: Forge) -> None:
        wrong = IssueRef(forge=issue.forge, repository_id=issue.repository_id, number=987654)
        with pytest.raises(NotFound):
            forge.ensure_comment(wrong, "status", "x")
        with pytest.raises(NotFound):
            forge.add_comment(wrong, "once", "x")

    def test_comments_need_a_permission(
        self, stage: ForgeStage, repository_id: str, issue: IssueRef, forge: Forge
    ) -> None:
        stage.restrict_bot(repository_id)
        with pytest.raises(PermissionRefused):
            forge.ensure_comment(issue, "status", "x")
        with pytest.raises(PermissionRefused):
            forge.add_comment(issue, "once", "x")
        assert ours(forge, issue) == []

    def test_an_archived_repository_takes_no_comment(
        self, stage: ForgeStage, repository_id: str, issue: IssueRef, forge: Forge
    ) -> None:
        stage.archive(repository_id)
        with pytest.raises(PermissionRefused):
            forge.ensure_comment(issue, "status", "x")

    @needs(Capability.REACTIONS)
    def test_a_reaction_needs_a_comment_and_a_known_name(
        self, stage: ForgeStage, issue: IssueRef, person: Actor, forge: Forge
    ) -> None:
        assert isinstance(forge, Reacting)
        with pytest.raises(ForgeError):
            forge.react(issue, "987654321", "eyes")
        comment_id = stage.comment(issue, person, "/fixwright run")
        with pytest.raises(ForgeError):
            forge.react(issue, comment_id, "no-such-reaction")
        assert stage.reactions(issue, comment_id) == []

    @needs(Capability.REACTIONS)
    def test_a_reaction_is_put_once(
        self, stage: ForgeStage, issue: IssueRef, person: Actor, forge: Forge
    ) -> None:
        assert isinstance(forge, Reacting), "who claims reactions has the method for them"
        comment_id = stage.comment(issue, person, "/fixwright run")
        forge.react(issue, comment_id, "eyes")
        forge.react(issue, comment_id, "eyes")
        assert stage.reactions(issue, comment_id) == [(forge.identity, "eyes")]

    @needs(Capability.REACTION_LISTS)
    def test_reactions_are_listed_with_who_put_them(
        self, stage: ForgeStage, issue: IssueRef, person: Actor, forge: Forge
    ) -> None:
        assert isinstance(forge, ListingReactions), "who claims lists of reactions has the method for them"
        comment_id = forge.add_comment(issue, "plan", "The plan.").id
        assert forge.reactions(issue, comment_id) == ()
        other = stage.person("other")
        stage.react(issue, comment_id, person, "+1")
        stage.react(issue, comment_id, other, "eyes")
        found = {(each.actor.id, each.content) for each in forge.reactions(issue, comment_id)}
        assert found == {(person.id, "+1"), (other.id, "eyes")}

    @needs(Capability.REACTION_LISTS)
    def test_reactions_to_a_comment_that_is_gone_are_not_found(
        self, stage: ForgeStage, issue: IssueRef, person: Actor, forge: Forge
    ) -> None:
        assert isinstance(forge, ListingReactions)
        comment_id = stage.comment(issue, person, "Gone soon.")
        stage.delete_comment(issue, comment_id, person)
        with pytest.raises(NotFound):
            forge.reactions(issue, comment_id)


def ours(forge: Forge, issue: IssueRef) -> list[Comment]:
    """Return the comments that the bot wrote."""
    return [comment for comment in forge.comments(issue) if comment.author.id == forge.identity.id]
