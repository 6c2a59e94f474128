"""A word that nobody wrote in a comment: a thumb up on what waits. Pure."""

from __future__ import annotations

from domain.events import COMMAND_PREFIX, CommandGiven, Given, Verb
from domain.model import Actor, IssueRef


def approval_by_reaction(issue: IssueRef, name: str, comment_id: str, actor: Actor) -> CommandGiven:
    """Return the approval of what is called `name`, by somebody who reacted to the comment that shows it."""
    return CommandGiven(
        issue=issue,
        actor=actor,
        verb=Verb.APPROVE,
        comment_id=f"reaction-{comment_id}-{actor.id}",
        text=f"{COMMAND_PREFIX} approve {name}",
        given_by=Given.REACTION,
    )
