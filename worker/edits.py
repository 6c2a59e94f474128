"""Says that an issue's later text is not what is worked on: people may have edited it since."""

from __future__ import annotations

import structlog

from domain.model import Task
from domain.ports import Forge
from domain.snapshot import snapshot_hash
from domain.states import State
from worker import announce
from worker.readiness import is_edited
from worker.voice import Voice

log = structlog.get_logger(__name__)


def tell_at_the_start(task: Task, forge: Forge, voice: Voice) -> None:
    """Say once of each later text of the issue that it is not what is worked on. Raises ForgeError."""
    issue = forge.issue(task.issue)
    if is_edited(task, issue):
        now = snapshot_hash(issue.title, issue.body)
        log.info("issue edited since", task=task.id, works_on=snapshot_hash(task.title, task.body), now=now)
        voice.once(task, f"edited-{now[:16]}", announce.EDITED)


def tell_during_the_work(task: Task, forge: Forge) -> str:
    """Say it once in each run; return the decision for the record. Raises ForgeError.

    Not of each text: its author may be anybody, and could have us write as many comments.
    """
    if task.state is not State.RUNNING or not is_edited(task, forge.issue(task.issue)):
        return "nothing to do: not being worked on, or the same text"
    forge.add_comment(task.issue, f"edited-{task.id}-{task.generation}", announce.EDITED)
    return "said that the earlier text is worked on"
