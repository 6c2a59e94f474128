"""Reads what is left of a world: rows, forge, disk, processes."""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from domain.budget import ZERO
from domain.model import Attempt, Outcome, PublicationKind, Pull
from domain.states import Trigger
from domain.text import Redactor
from evals.crash.judgement import Move, Remains
from evals.crash.world import World
from harness.receipt_chain import broken_links
from harness.receipt_key import ReceiptKey
from harness.transcript import Transcript
from store.history import History
from store.receipts import read_receipts

PATIENCE_SECONDS = 2.0
"""How long a process whose worker was killed may take to be gone."""

_WITHOUT = frozenset({Outcome.CANCELLED, Outcome.ORPHANED, Outcome.INTERRUPTED})
"""How an attempt may end without a receipt, when whoever would have written it is dead."""

_MARKER = re.compile(r"<!-- (fixwright[^>]*) -->")


def read(world: World) -> Remains:
    """Gather all that the judgement needs."""
    queue, ledger, forge = world.queue, world.ledger, world.forge
    tasks = queue.tasks()
    task = tasks[0]
    attempts = queue.attempts(task.id)
    repository = world.repository
    pulls = forge.pulls(repository.id)
    verdicts = [queue.verdict(attempt) for attempt in attempts]
    publications = queue.publications(task.id)
    ours = [comment for comment in forge.comments(world.issue) if comment.author.id == forge.bot.id]
    heads = forge.git.branches(repository.id)
    return Remains(
        tasks=tasks,
        moves=[
            Move(trigger=event.trigger, came_from=event.came_from, went_to=event.went_to)
            for event in History(world.database).task_events(task.id)
            if isinstance(event.trigger, Trigger)
        ],
        attempts=attempts,
        branches=[name for name in heads if name != repository.default_branch],
        pulls=[f"#{pull.number} {pull.head_branch}" for pull in pulls],
        comments=[(comment.body.split("\n")[0], _marker(comment.body)) for comment in ours],
        spent=ledger.spent_on_task(task.id),
        spent_on_attempts=[ledger.spent_on_attempt(attempt.id) for attempt in attempts],
        calls_on_attempts=[ledger.calls_on_attempt(attempt.id) for attempt in attempts],
        billed=world.bill.total if world.bill.calls else ZERO,
        billed_calls=world.bill.calls,
        receipts=list(_receipt_problems(world, attempts, pulls)),
        published=[forge.git.tree(repository.id, pull.head_branch) for pull in pulls],
        verified=[verdict.tree for verdict in verdicts if verdict is not None and verdict.verified],
        unfinished=sum(each.done_at is None for each in publications if each.kind in PublicationKind),
        steps=[_steps(world, attempt.id) for attempt in attempts],
        leftovers=list(_leftovers(world.root)),
    )


def _receipt_problems(world: World, attempts: Sequence[Attempt], pulls: Sequence[Pull]) -> Iterator[str]:
    """Yield what is wrong: each judged attempt has a receipt, they form a chain, pulls name theirs."""
    kept = read_receipts(world.database_path)
    if kept:
        yield from broken_links(kept, ReceiptKey(world.root).public())
    told = {receipt.attempt_id for receipt in kept}
    for attempt in attempts:
        if attempt.outcome is not None and attempt.id not in told and attempt.outcome not in _WITHOUT:
            yield f"attempt {attempt.number} ended {attempt.outcome} without one"
    for pull in pulls:
        tree = world.forge.git.tree(world.repository.id, pull.head_branch)
        if not any(receipt.sha256 in pull.body and receipt.tree == tree for receipt in kept):
            yield f"pull request #{pull.number} names none of its tree"


def processes_of(root: Path) -> list[str]:
    """Return the command lines of living processes that name a path below `root`, or work there."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
            place = _place_of(entry)
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z" and (str(root).encode() in command or place.startswith(str(root))):
            found.append(os.fsdecode(command.replace(b"\0", b" "))[:200])
    return found


def _place_of(entry: Path) -> str:
    """Return where a process works; "" where only root may see it."""
    try:
        return str((entry / "cwd").readlink())
    except PermissionError:
        return ""


def _leftovers(root: Path) -> Iterator[str]:
    ground = root / "ground"
    yield from (f"worktree {path.name}" for path in sorted((ground / "work").iterdir()))
    for mirror in sorted((ground / "mirrors").iterdir()):
        if not mirror.name.endswith(".git"):
            yield f"half-made mirror {mirror.name}"
            continue
        yield from (f"index {path.name}" for path in mirror.glob("index-*"))
        yield from (f"lock {path}" for path in mirror.rglob("*.lock") if path.name != "fixwright.lock")
        if _is_held(mirror / "fixwright.lock"):
            yield f"the lock of {mirror.name} is held"
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (alive := processes_of(root)) and time.monotonic() < deadline:
        time.sleep(0.05)
    yield from (f"process {command}" for command in alive)


def _is_held(lock: Path) -> bool:
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _steps(world: World, attempt_id: int) -> list[int]:
    records = Transcript(world.root / "transcripts" / f"attempt-{attempt_id}.jsonl", Redactor()).read()
    return [int(str(record["step"])) for record in records if "step" in record]


def _marker(body: str) -> str:
    found = _MARKER.search(body)
    return found[1] if found else body
