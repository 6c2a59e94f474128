"""Continuous integration on an embedded forge: what somebody says of a commit, with the job's log."""

from __future__ import annotations

import sqlite3

from domain.errors import ForgeError, NotFound
from domain.ports import CiJob, CiState, CiStatus
from providers.local.ground import Transaction

_PASSED = frozenset({"success", "neutral", "skipped"})
_ORDER = (CiState.PENDING, CiState.RED, CiState.GREEN)


def report(tx: Transaction, repository_id: str, sha: str, job: CiJob, log: str) -> None:
    """Say how a job ended on a commit, "" while it runs; the newest word counts. A status has no job id."""
    where = (int(repository_id), sha, job.name)
    tx.run("DELETE FROM checks WHERE repository_id = ? AND sha = ? AND name = ?", *where)
    tx.run(
        "INSERT INTO checks (repository_id, sha, name, conclusion, log, is_status) VALUES (?, ?, ?, ?, ?, ?)",
        *(*where, job.conclusion, log, job.job_id == ""),
    )


def status(tx: Transaction, repository_id: str, sha: str) -> CiStatus:
    """Return all that was said of a commit."""
    found = tx.all(
        "SELECT * FROM checks WHERE repository_id = ? AND sha = ? ORDER BY id", int(repository_id), sha
    )
    jobs = tuple(map(_job, found))
    states = {job.state for job in jobs}
    together = next((state for state in _ORDER if state in states), CiState.NONE)
    return CiStatus(state=together, jobs=jobs)


def log_tail(tx: Transaction, repository_id: str, job_id: str, most_bytes: int) -> str:
    """Return the end of a job's log, in whole lines. Raises NotFound."""
    content = str(_row(tx, repository_id, job_id)["log"]).encode()
    if len(content) > most_bytes:
        content = content[-most_bytes:].partition(b"\n")[2]
    return content.decode("utf-8", "replace")


def rerun(tx: Transaction, repository_id: str, job_id: str) -> None:
    """Let a job that has ended run once more. Raises NotFound, ForgeError."""
    row = _row(tx, repository_id, job_id)
    if not row["conclusion"]:
        raise ForgeError(f"the job {row['name']} is still running")
    tx.run("UPDATE checks SET conclusion = '', log = '', reruns = reruns + 1 WHERE id = ?", row["id"])


def reruns(tx: Transaction, repository_id: str, sha: str) -> dict[str, int]:
    """Return how often each job of a commit was run again."""
    found = tx.all("SELECT * FROM checks WHERE repository_id = ? AND sha = ?", int(repository_id), sha)
    return {row["name"]: row["reruns"] for row in found}


def _row(tx: Transaction, repository_id: str, job_id: str) -> sqlite3.Row:
    row = tx.one(
        "SELECT * FROM checks WHERE repository_id = ? AND id = ? AND is_status = 0",
        int(repository_id),
        int(job_id) if job_id.isascii() and job_id.isdigit() else -1,
    )
    if row is None:
        raise NotFound(f"there is no job {job_id!r}")
    return row


def _job(row: sqlite3.Row) -> CiJob:
    conclusion = str(row["conclusion"])
    return job_of(row["name"], conclusion, job_id="" if row["is_status"] else str(row["id"]))


def job_of(name: str, conclusion: str, job_id: str) -> CiJob:
    """Return a job by the word for how it ended, "" while it runs."""
    ended = CiState.GREEN if conclusion in _PASSED else CiState.RED
    state = ended if conclusion else CiState.PENDING
    return CiJob(name=name, state=state, url="", job_id=job_id, conclusion=conclusion)
