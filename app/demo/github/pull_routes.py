"""Answers about pull requests, their reviews, checks and statuses."""

from __future__ import annotations

import re
from typing import Any

from app.demo.github.exchange import Answer, Refused, Request
from app.demo.github.refusals import refusing
from app.demo.github.shapes import (
    Here,
    Routes,
    app_json,
    paged,
    pull_json,
    user_json,
)
from domain.model import Actor
from domain.ports import CiState
from providers.local import checks, issues, pulls, reviews, rows

ACTIONS = {"id": 15368, "slug": "github-actions"}
"""The App that runs an embedded forge's jobs."""


def _pulls(here: Here, request: Request, match: re.Match[str]) -> Answer:
    head = request.query.get("head", "").partition(":")[2]
    state = request.query.get("state", "open")
    with here.ground.read() as tx:
        found = rows.pull_rows(tx, str(here.id), head or None)
        found = sorted(found, key=lambda row: -row["number"])
        shown = [pull_json(here, tx, row, whole=False) for row in found]
    return paged(here, request, [each for each in shown if state in {"all", each["state"]}])


def _open_pull(here: Here, request: Request, match: re.Match[str]) -> Answer:
    body = request.body
    if body.get("draft") and here.id in here.state.drafts_refused:
        raise Refused(422, "Draft pull requests are not supported in this repository.")
    head = body["head"].rpartition(":")[2]
    with refusing("PullRequest", head=f"{here.full_name.split('/')[0]}:{head}"), here.ground.write() as tx:
        row = pulls.insert_pull(
            tx,
            str(here.id),
            here.state.bot,
            text=(body["title"], body.get("body") or ""),
            branches=(head, body["base"]),
            draft=bool(body.get("draft")),
        )
        return Answer(201, pull_json(here, tx, row, whole=True))


def _edit_pull(here: Here, request: Request, match: re.Match[str]) -> Answer:
    body = request.body
    with refusing("PullRequest"), here.ground.write() as tx:
        row = rows.pull_row(tx, str(here.id), int(match[1]))
        if "base" in body:
            pulls.set_base(tx, row, here.state.bot, body["base"])
        issues.edit(tx, row["issue_id"], here.state.bot, title=body.get("title"), body=body.get("body"))
        return Answer(200, pull_json(here, tx, rows.pull_row(tx, str(here.id), int(match[1])), whole=True))


def _request_reviewers(here: Here, request: Request, match: re.Match[str]) -> Answer:
    with here.ground.read() as tx:
        row = rows.pull_row(tx, str(here.id), int(match[1]))
        unknown = [login for login in request.body["reviewers"] if rows.actor_called(tx, login) is None]
        if unknown:
            return Answer(422, {"message": f"Reviews may only be requested from collaborators: {unknown}"})
        asked = here.state.requested_reviewers.setdefault(int(match[1]), [])
        asked += [login for login in request.body["reviewers"] if login not in asked]
        shown = pull_json(here, tx, row, whole=True)
    with refusing("ReviewRequest"), here.ground.write() as tx:
        for login in request.body["reviewers"]:
            reviews.request(tx, row, Actor(id="", login=login))
    return Answer(201, shown)


def _review_comments(here: Here, request: Request, match: re.Match[str]) -> Answer:
    return paged(here, request, here.state.review_comments)


def _reply(here: Here, request: Request, match: re.Match[str]) -> Answer:
    written = {
        "id": here.state.next_id(),
        "body": request.body["body"],
        "user": user_json(here.state.bot),
        "in_reply_to_id": int(match[2]),
        "path": "a.py",
        "html_url": f"{here.site}/x",
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
    }
    here.state.review_comments.append(written)
    with here.ground.write() as tx:
        row = rows.pull_row(tx, str(here.id), int(match[1]))
        reviews.answer(tx, row, match[2], here.state.bot, request.body["body"])
    return Answer(201, written)


def _check_runs(here: Here, request: Request, match: re.Match[str]) -> Answer:
    name = request.query.get("check_name")
    found = [
        each
        for each in here.state.checks
        if each["head_sha"] == match[1] and (name is None or each["name"] == name)
    ]
    found += [each for each in _jobs(here, match[1]) if name is None or each["name"] == name]
    return paged(here, request, found, wrap="check_runs")


def _jobs(here: Here, sha: str) -> list[dict[str, Any]]:
    """Return as runs what people of the embedded forge say of a commit's jobs."""
    with here.ground.read() as tx:
        jobs = checks.status(tx, str(here.id), sha).jobs
    return [
        {
            "id": int(job.job_id),
            "head_sha": sha,
            "name": job.name,
            "status": "in_progress" if job.state is CiState.PENDING else "completed",
            "conclusion": job.conclusion or None,
            "external_id": "",
            "app": ACTIONS,
        }
        for job in jobs
        if job.job_id
    ]


def _make_check(here: Here, request: Request, match: re.Match[str]) -> Answer:
    run = {
        "id": here.state.next_id(),
        "conclusion": None,
        "app": app_json(here.state),
        **request.body,
    }
    here.state.checks.append(run)
    return Answer(201, run)


def _edit_check(here: Here, request: Request, match: re.Match[str]) -> Answer:
    run = next((each for each in here.state.checks if each["id"] == int(match[1])), None)
    if run is None:
        raise Refused(404, "Not Found")
    run.update(request.body)
    return Answer(200, run)


def _combined_status(here: Here, request: Request, match: re.Match[str]) -> Answer:
    found = [each for each in here.state.statuses if each["sha"] == match[1]]
    answer = paged(here, request, found, wrap="statuses")
    answer.data |= {"state": "pending", "sha": match[1]}
    return answer


def _job_log(here: Here, request: Request, match: re.Match[str]) -> Answer:
    if int(match[1]) not in here.state.logs:
        with here.ground.read() as tx:
            here.state.logs[int(match[1])] = checks.log_tail(tx, str(here.id), match[1], 2**20).encode()
    return Answer(302, None, {"Location": f"{here.state.log_host}/_logs/{match[1]}?sig=x"})


def _rerun_job(here: Here, request: Request, match: re.Match[str]) -> Answer:
    run = next((each for each in here.state.checks if each["id"] == int(match[1])), None)
    if run is None:
        with refusing("Job"), here.ground.write() as tx:
            checks.rerun(tx, str(here.id), match[1])
    else:
        run.update(status="queued", conclusion=None)
    return Answer(201, {})


PULL_ROUTES: Routes = [
    ("GET", r"/pulls", {"pull_requests": "read"}, _pulls),
    ("POST", r"/pulls", {"pull_requests": "write"}, _open_pull),
    ("PATCH", r"/pulls/(\d+)", {"pull_requests": "write"}, _edit_pull),
    ("GET", r"/pulls/(\d+)/comments", {"pull_requests": "read"}, _review_comments),
    ("POST", r"/pulls/(\d+)/requested_reviewers", {"pull_requests": "write"}, _request_reviewers),
    ("POST", r"/pulls/(\d+)/comments/(\d+)/replies", {"pull_requests": "write"}, _reply),
    ("GET", r"/commits/([^/]+)/check-runs", {"checks": "read"}, _check_runs),
    ("POST", r"/check-runs", {"checks": "write"}, _make_check),
    ("PATCH", r"/check-runs/(\d+)", {"checks": "write"}, _edit_check),
    ("GET", r"/commits/([^/]+)/status", {"statuses": "read"}, _combined_status),
    ("GET", r"/actions/jobs/(\d+)/logs", {"actions": "read"}, _job_log),
    ("POST", r"/actions/jobs/(\d+)/rerun", {"actions": "write"}, _rerun_job),
]
