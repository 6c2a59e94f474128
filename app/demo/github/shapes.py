"""The things of a GitHub as its API shows them, from the rows of an embedded forge."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from app.demo.github.exchange import Answer, Request
from app.demo.github.state import APP_ID, SLUG, GithubState
from domain.model import Actor, IssueRef
from providers.local import rows
from providers.local.ground import FORGE_NAME

PREFIX = "/api/v3"

GHOST = {"login": "ghost", "id": 10137, "type": "User"}


class Here:
    """One repository in the world, as a request found it."""

    def __init__(self, state: GithubState, repository_id: int, url: str) -> None:
        self.state = state
        self.ground = state.local.ground
        self.url = url
        self.site = url.removesuffix(PREFIX)
        with self.ground.read() as tx:
            self.row = rows.repository_row(tx, str(repository_id))
        self.id = repository_id
        self.full_name: str = self.row["full_name"]

    def ref(self, number: str | int) -> IssueRef:
        """Return what names an issue of this repository."""
        return IssueRef(forge=FORGE_NAME, repository_id=str(self.id), number=int(number))


def app_json(state: GithubState) -> dict[str, Any]:
    """Return the App as its own runs and installations show it."""
    return {"id": APP_ID, "slug": SLUG, "name": "Fixwright"}


def user_json(actor: Actor) -> dict[str, Any] | None:
    """Return a user; None for who is gone."""
    if actor.id == "0":
        return None
    return {"login": actor.login, "id": int(actor.id), "type": "Bot" if actor.is_bot else "User"}


def repository_json(here: Here) -> dict[str, Any]:
    """Return a repository."""
    owner, _, name = here.full_name.partition("/")
    return {
        "id": here.id,
        "name": name,
        "full_name": here.full_name,
        "owner": {"login": owner, "id": 77, "type": "Organization"},
        "private": bool(here.row["private"]),
        "archived": bool(here.row["archived"]),
        "default_branch": here.row["default_branch"],
        "html_url": f"{here.site}/{here.full_name}",
    }


def when(text: str) -> str:
    """Return a time of the embedded forge as GitHub writes it."""
    return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def issue_json(here: Here, tx: Any, row: Any) -> dict[str, Any]:
    """Return an issue, or a pull request as an issue."""
    found = rows.issue(tx, row)
    kind = "pull" if found.is_pull else "issues"
    shown = {
        "id": row["id"],
        "number": found.number,
        "title": found.title,
        "body": row["body"],
        "state": row["state"],
        "locked": found.locked,
        "labels": [{"name": name} for name in found.labels],
        "assignees": [user_json(each) for each in found.assignees],
        "user": user_json(found.author),
        "html_url": f"{here.site}/{here.full_name}/{kind}/{found.number}",
        "created_at": when(row["created_at"]),
        "updated_at": when(row["updated_at"]),
    }
    if found.is_pull:
        shown["pull_request"] = {"html_url": shown["html_url"]}
    return shown


def comment_json(here: Here, tx: Any, row: Any) -> dict[str, Any]:
    """Return a comment."""
    found = rows.comment(tx, row)
    return {
        "id": row["id"],
        "body": found.body,
        "user": user_json(found.author),
        "html_url": f"{here.site}/{here.full_name}/issues/1#issuecomment-{row['id']}",
        "created_at": when(row["created_at"]),
        "updated_at": when(row["updated_at"]),
    }


def pull_json(here: Here, tx: Any, row: Any, *, whole: bool) -> dict[str, Any]:
    """Return a pull request; only the whole one says whether it is merged."""
    found = rows.pull(tx, row)
    home = repository_json(here)
    shown = {
        "id": row["pull_id"],
        "number": found.number,
        "title": found.title,
        "body": row["body"],
        "state": row["state"],
        "draft": found.is_draft,
        "merged_at": when(row["updated_at"]) if found.merged else None,
        "user": user_json(found.author or Actor(id="0", login="ghost")),
        "labels": [{"name": name} for name in rows.labels(tx, row["issue_id"])],
        "head": {"label": f"{home['owner']['login']}:{found.head_branch}", "ref": found.head_branch}
        | {"sha": found.head_sha, "repo": home},
        "base": {"ref": found.base_branch, "sha": found.head_sha, "repo": home},
        "html_url": f"{here.site}/{here.full_name}/pull/{found.number}",
        "created_at": when(row["created_at"]),
        "updated_at": when(row["updated_at"]),
    }
    return {**shown, "merged": found.merged} if whole else shown


def paged(here: Here, request: Request, items: list[Any], wrap: str = "") -> Answer:
    """Return one page, and say in GitHub's own way where the next one is: by the repository's id."""
    size = min(int(request.query.get("per_page", "30")), 100)
    page = int(request.query.get("page", "1"))
    shown = items[(page - 1) * size : page * size]
    headers = {}
    if page * size < len(items):
        rest = request.path.split("/", 4)[4] if request.path.startswith("/repos/") else ""
        others = "&".join(f"{key}={value}" for key, value in request.query.items() if key == "per_page")
        address = f"{here.url}/repositories/{here.id}/{rest}?{others}&page={page + 1}"
        headers["Link"] = f'<{address}>; rel="next", <{address}>; rel="last"'
    return Answer(200, {"total_count": len(items), wrap: shown} if wrap else shown, headers)


Handler = Callable[[Here, Request, re.Match[str]], Answer]
Routes = list[tuple[str, str, Mapping[str, str], Handler]]
"""Method, pattern of the path after the repository, permissions of which one is needed, and who answers."""
