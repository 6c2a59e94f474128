"""What is looked up afresh for an attempt: where it begins, what maintainers said, what was tried before."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import structlog

from domain.approving import REJECTED, plan_waiting
from domain.errors import ConfigurationError, GitError
from domain.events import Verb, parse_command
from domain.model import Attempt, Comment, Issue, Repository, Task
from domain.policy import may_trigger
from domain.ports import Capability, CiEnd, Forge, TaskQueue, WatchLog
from domain.repo_config import FILE_NAME, parse_repo_config
from domain.snapshot import snapshot_hash
from domain.text import clip
from harness.checkpoints import last_checkpoint
from harness.git import Mirror
from harness.handoff import PastAttempt, actions_in
from harness.transcript import Transcript

log = structlog.get_logger(__name__)

MAX_INSTRUCTIONS = 10
"""How many of the maintainers' newest comments the agent gets to read."""

PLAN_FIRST = "plan-first"
"""The label of an issue whose plan is to be approved, whatever the repository's file says."""

ENDED = "ended"
"""Key of the comment that says how an attempt ended; forges keep it in a marker."""

MAX_LOOKUPS = 20
"""How many different authors are looked up for that."""


def live_branch(task: Task, forge: Forge) -> str:
    """Return the task's branch while its pull request, if any, is open; rejected work is not built on."""
    if not task.wip_branch:
        return ""
    pull = forge.find_pull(task.issue.repository_id, task.wip_branch)
    return task.wip_branch if pull is None or pull.is_open else ""


def words_of_writers(task: Task, forge: Forge, comments: Sequence[Comment]) -> tuple[str, ...]:
    """Return what maintainers wrote, newest last; nobody else's words are instructions. Raises ForgeError."""
    is_writer: dict[str, bool] = {forge.identity.id: False}
    chosen: list[str] = []
    for comment in reversed(comments):
        author = comment.author
        if author.id not in is_writer:
            if len(is_writer) > MAX_LOOKUPS:
                continue
            permission = forge.permission_of(task.issue.repository_id, author)
            is_writer[author.id] = may_trigger(permission, author)
        own_words = _own_words(comment.body)
        if is_writer[author.id] and own_words:
            chosen.append(clip(own_words, 4000))
        if len(chosen) == MAX_INSTRUCTIONS:
            break
    return tuple(reversed(chosen))


def answers(task: Task, forge: Forge, queue: TaskQueue, comments: Sequence[Comment]) -> str:
    """Return what was asked about an issue and what its author wrote since; "" where nothing was asked.

    An author who may write is among the maintainers, whose words are instructions. Raises ForgeError.
    """
    readings = (queue.report(attempt)[0] for attempt in queue.attempts(task.id))
    asked = [question for reading in readings if reading for question in reading.questions]
    if not asked:
        return ""
    ours = [each.created_at for each in comments if each.author.id == forge.identity.id]
    author = forge.issue(task.issue).author
    said = [
        clip(words, 4000)
        for each in comments
        if each.author.id == author.id and ours and each.created_at >= min(ours)
        if (words := _own_words(each.body))
    ]
    if may_trigger(forge.permission_of(task.issue.repository_id, author), author):
        said = []
    questions = "\n".join(f"- {question}" for question in dict.fromkeys(asked))
    replies = "\n\n".join(said[-MAX_INSTRUCTIONS:]) or "(nothing)"
    return f"Asked before:\n{questions}\n\nThe author of the issue wrote since:\n{replies}"


def goes_ahead(task: Task, forge: Forge, comments: Sequence[Comment]) -> bool:
    """Tell whether a maintainer has commanded to go on since the last attempt ended. Raises ForgeError."""
    ours = [each for each in comments if each.author.id == forge.identity.id]
    endings = [each for each in ours if f":{ENDED}-{task.id}-" in each.body] or ours
    if not endings:
        return False
    since = max(each.created_at for each in endings)
    return any(
        parse_command(each.body) in {Verb.RUN, Verb.RESUME, Verb.RETRY}
        and may_trigger(forge.permission_of(task.issue.repository_id, each.author), each.author)
        for each in comments
        if each.created_at >= since
    )


def _own_words(text: str) -> str:
    """Return what somebody wrote without a command to us, and without what they quoted.

    What is quoted is other people's word, or our own. A line that only begins like a command is words.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if parse_command(text) not in {None, Verb.UNKNOWN}:
        del lines[0]
    return "\n".join(line for line in lines if not line.lstrip().startswith(">")).strip()


def is_edited(task: Task, issue: Issue) -> bool:
    """Tell whether an issue says something else now than when work on it was asked for."""
    return snapshot_hash(issue.title, issue.body) != snapshot_hash(task.title, task.body)


def is_by_maintainer(task: Task, forge: Forge) -> bool:
    """Tell whether the issue's own author may write to the repository now. Raises ForgeError."""
    author = forge.issue(task.issue).author
    return may_trigger(forge.permission_of(task.issue.repository_id, author), author)


def is_watched(forge: Forge, mirror: Mirror, repository: Repository) -> bool:
    """Tell whether a repository wants its commits watched, by its default branch, and its forge can tell."""
    if Capability.CI not in forge.capabilities:
        return False
    try:
        head = mirror.default_head(repository.default_branch)
        return bool(head) and parse_repo_config(mirror.read_file(head, FILE_NAME)).ci_monitor.enabled
    except (ConfigurationError, GitError) as error:
        log.warning("commit not watched", repository=repository.full_name, problem=str(error))
        return False


def wants_plan(task: Task, forge: Forge) -> bool:
    """Tell whether an issue carries the label that asks for a plan before any work. Raises ForgeError."""
    return PLAN_FIRST in {label.strip().casefold() for label in forge.issue(task.issue).labels}


def has_approved_plan(task: Task, queue: TaskQueue) -> bool:
    """Tell whether a maintainer has approved a plan for the text that is worked on."""
    words = {word.change for word in queue.allowances(task.id)}
    return any(
        plan_waiting(task, attempt, reading).word in words
        for attempt in queue.attempts(task.id)
        if attempt.outcome not in REJECTED and (reading := queue.report(attempt)[0]) is not None
    )


def evidence_for(task: Task, watches: WatchLog) -> str:
    """Return what continuous integration printed of the branch as it stands, "" where it did not fail."""
    ended = [watch for watch in watches.of_task(task.id) if watch.sha == task.wip_sha]
    return ended[-1].evidence if ended and ended[-1].end is CiEnd.OURS else ""


def past_attempts(
    queue: TaskQueue, current: Attempt, transcript_of: Callable[[Attempt], Transcript]
) -> tuple[PastAttempt, ...]:
    """Return the task's closed attempts, oldest first, with what their transcripts tell."""
    past = []
    for attempt in queue.attempts(current.task_id):
        if attempt.id == current.id or attempt.outcome is None:
            continue
        verdict = queue.verdict(attempt)
        past.append(
            PastAttempt(
                number=attempt.number,
                outcome=attempt.outcome,
                claim=queue.report(attempt)[1],
                verdict=verdict,
                tree=verdict.tree if verdict else "",
                start_sha=attempt.base_sha,
                actions=actions_in(transcript_of(attempt).steps()) if verdict is None else (),
                summary=transcript_of(attempt).summary() if verdict is None else "",
                left=last_checkpoint(transcript_of(attempt).steps()) if verdict is None else "",
            )
        )
    return tuple(past)
