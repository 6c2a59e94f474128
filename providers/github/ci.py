"""What continuous integration says of a commit, checks and statuses together, and the end of a job's log."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from urllib.parse import quote, urljoin, urlsplit

import requests

from domain.errors import ForgeError, ForgeUnavailable, NotFound
from domain.ports import CheckReport, CiJob, CiState, CiStatus
from providers.github import shapes
from providers.github.calls import MOST_REDIRECTS
from providers.github.desk import Desk
from providers.github.wire import WHOLE_SECONDS, send

MOST_LOG_BYTES = 64 * 2**20
"""Read of a log to get to its end."""

MOST_SUMMARY = 65_000
_PASSED = frozenset({"success", "neutral", "skipped"})
_STATUSES = {"success": CiState.GREEN, "pending": CiState.PENDING}


def status(desk: Desk, sha: str, own_app_id: str, *, with_statuses: bool) -> CiStatus:
    """Return all of a commit's checks and statuses, our own checks left out. Raises NotFound."""
    commit = f"/commits/{quote(sha, safe='')}"
    runs = desk.items(f"{commit}/check-runs", {"filter": "latest"}, key="check_runs")
    jobs = [_job(run) for run in runs if str(shapes.part(run, "app").get("id", "")) != own_app_id]
    if with_statuses:
        jobs += [_from_status(each) for each in desk.items(f"{commit}/status", key="statuses")]
    note = "" if with_statuses else "commit statuses cannot be seen: the App lacks `statuses: read`"
    return CiStatus(state=_together(jobs), jobs=tuple(jobs), note=note)


def _together(jobs: list[CiJob]) -> CiState:
    states = {job.state for job in jobs}
    for worst in (CiState.PENDING, CiState.RED, CiState.GREEN):
        if worst in states:
            return worst
    return CiState.NONE


def _job(run: shapes.Json) -> CiJob:
    conclusion = shapes.text(run.get("conclusion"))
    state = CiState.GREEN if conclusion in _PASSED else CiState.RED
    is_action = shapes.part(run, "app").get("slug") == "github-actions"
    return CiJob(
        name=shapes.text(run.get("name")),
        state=state if run.get("status") == "completed" else CiState.PENDING,
        url=shapes.text(run.get("html_url") or run.get("details_url")),
        job_id=str(run.get("id")) if is_action else "",
        conclusion=conclusion.lower(),
    )


def _from_status(data: shapes.Json) -> CiJob:
    return CiJob(
        name=shapes.text(data.get("context")),
        state=_STATUSES.get(shapes.text(data.get("state")), CiState.RED),
        url=shapes.text(data.get("target_url")),
    )


def ensure_check(desk: Desk, report: CheckReport, own_app_id: str) -> str:
    """Make our check, or bring the one with the same key to this report. Returns its id."""
    output = {"title": report.title[:255], "summary": report.summary[:MOST_SUMMARY]}
    state: dict[str, object] = {"name": report.name, "output": output, "external_id": report.key}
    state |= (
        {"status": "in_progress"}
        if report.conclusion is None
        else {"status": "completed", "conclusion": report.conclusion.value}
    )
    query = {"check_name": report.name, "filter": "all"}
    path = f"/commits/{quote(report.sha, safe='')}/check-runs"
    for run in desk.items(path, query, key="check_runs"):
        is_own = str(shapes.part(run, "app").get("id", "")) == own_app_id
        if is_own and run.get("external_id") == report.key:
            desk.call("PATCH", f"/check-runs/{run['id']}", body=state)
            return str(run["id"])
    reply = desk.call("POST", "/check-runs", body={**state, "head_sha": report.sha})
    return str(shapes.whole(shapes.obj(reply.data, "check").get("id"), "check's id"))


def log_tail(session: requests.Session, address: str, most_bytes: int) -> str:
    """Return the end of a log in whole lines, from an address that GitHub gave out, without any token.

    Raises NotFound where the address has run out (it lives a minute), ForgeUnavailable, ForgeError.
    """
    kept: deque[bytes] = deque()
    size = seen = 0
    for piece in _pieces(session, address):
        kept.append(piece)
        size, seen = size + len(piece), seen + len(piece)
        while size - len(kept[0]) > most_bytes:
            size -= len(kept.popleft())
    content = b"".join(kept)
    if seen > most_bytes:
        content = content[-most_bytes:].partition(b"\n")[2]
    return content.decode("utf-8", "replace").lstrip("\ufeff")


def _pieces(session: requests.Session, address: str) -> Iterator[bytes]:
    deadline, seen = time.monotonic() + WHOLE_SECONDS, 0
    scheme = urlsplit(address).scheme
    try:
        for _ in range(MOST_REDIRECTS):
            if urlsplit(address).scheme != scheme or scheme not in {"https", "http"}:
                raise ForgeError("the log's address leads to another protocol")
            with send(session, requests.Request("GET", address)) as response:
                if 300 <= response.status_code < 400:
                    address = urljoin(address, response.headers.get("location", ""))
                    continue
                if response.status_code >= 500:
                    raise ForgeUnavailable(f"the log cannot be had now: status {response.status_code}")
                if response.status_code >= 400:
                    raise NotFound(f"the log is not there: status {response.status_code}")
                for piece in response.iter_content(2**16):
                    seen += len(piece)
                    yield piece
                    if seen > MOST_LOG_BYTES or time.monotonic() > deadline:
                        raise ForgeError("the log is too long to be read")
                return
    except requests.exceptions.RequestException as error:
        raise ForgeUnavailable(f"the log cannot be had now: {type(error).__name__}") from error
    raise ForgeError("the log's address leads round in a circle")
