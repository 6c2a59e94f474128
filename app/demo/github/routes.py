"""What the GitHub on loopback answers: GitHub's rules for each operation that a provider needs, no more."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from app.demo.github.server import Answer, Refused, Request
from app.demo.github.state import APP_ID, SLUG, GithubState, Installation, Token
from domain.errors import ForgeError, NotFound
from domain.model import Actor, IssueRef, Permission
from domain.ports import LabelChange
from providers.local import issues, pulls, rows
from providers.local.ground import FORGE_NAME

Rest = Callable[["Here", Request, re.Match[str]], Answer]
RANKS = {"read": 1, "write": 2}
GHOST = {"login": "ghost", "id": 10137, "type": "User"}
LEVELS = {Permission.MAINTAIN: "write", Permission.TRIAGE: "read"}


class Here:
    """One repository in the world, as a request found it."""

    def __init__(self, state: GithubState, repository_id: int, url: str) -> None:
        self.state = state
        self.ground = state.local._ground
        self.url = url
        with self.ground.read() as tx:
            self.row = rows.repository_row(tx, str(repository_id))
        self.id = repository_id
        self.full_name: str = self.row["full_name"]

    def ref(self, number: str | int) -> IssueRef:
        """Return what names an issue of this repository."""
        return IssueRef(forge=FORGE_NAME, repository_id=str(self.id), number=int(number))


def respond(state: GithubState, request: Request, url: str) -> Answer:
    """Answer a request that is signed by an App, by a token, or by nobody."""
    try:
        if request.path.startswith(("/repos/", "/repositories/")):
            return _in_repository(state, request, url)
        for method, pattern, handler in APP_ROUTES:
            match = re.fullmatch(pattern, request.path)
            if method == request.method and match:
                return handler(state, request, match, url)
    except NotFound:
        raise Refused(404, "Not Found") from None
    return Answer(501, {"message": "this world has no such route"})


def _in_repository(state: GithubState, request: Request, url: str) -> Answer:
    repository_id, rest = _place(state, request, url)
    here = Here(state, repository_id, url)
    if rest == "/installation":
        return _repository_installation(state, request, here)
    for method, pattern, needs, handler in REPOSITORY_ROUTES:
        match = re.fullmatch(pattern, rest)
        if method == request.method and match:
            _authorize(here, request, needs)
            return handler(here, request, match)
    return Answer(501, {"message": "this world has no such route"})


def _place(state: GithubState, request: Request, url: str) -> tuple[int, str]:
    """Return the repository's id and the rest of the path; a renamed one is somewhere else now."""
    by_id = re.fullmatch(r"/repositories/(\d+)(/.*)?", request.path)
    if by_id:
        return int(by_id[1]), by_id[2] or ""
    match = re.fullmatch(r"/repos/([^/]+/[^/]+)(/.*)?", request.path)
    if not match:
        raise Refused(404, "Not Found")
    rest = match[2] or ""
    for repository in state.local.repositories():
        if repository.full_name.lower() == match[1].lower():
            return int(repository.id), rest
    moved = state.old_names.get(match[1].lower())
    if moved is None:
        raise Refused(404, "Not Found")
    raw_rest = request.raw_path.split("/", 4)[4] if request.raw_path.count("/") > 3 else ""
    location = f"{url}/repositories/{moved}" + (f"/{raw_rest}" if raw_rest else "")
    raise Moved(301 if request.method == "GET" else 307, location)


class Moved(Refused):
    """What was asked for is somewhere else."""

    def __init__(self, status: int, location: str) -> None:
        super().__init__(status, "Moved Permanently", Location=location)


def _authorize(here: Here, request: Request, needs: Mapping[str, str]) -> None:
    """Let in whoever has one of the permissions, on this repository. What is not to be seen is not there."""
    token = request.token
    if token is None:
        raise Refused(401, "Requires authentication")
    if here.id not in token.repository_ids:
        raise Refused(404, "Not Found")
    if not any(_has(token, name, level) for name, level in needs.items()):
        accepted = "; ".join(f"{name}={level}" for name, level in needs.items())
        raise Refused(403, "Resource not accessible by integration", X_Accepted_GitHub_Permissions=accepted)
    if request.method != "GET" and here.row["archived"]:
        raise Refused(403, "Repository was archived so is read-only.")


def _has(token: Token, name: str, level: str) -> bool:
    granted = token.installation.permissions.get(name, "")
    named = token.permissions.get(name, "")
    return min(RANKS.get(granted, 0), RANKS.get(named, 0)) >= RANKS[level]


# -- the App ----------------------------------------------------------------------------------------


def _must_be_app(request: Request) -> None:
    if not request.is_app:
        raise Refused(401, "A JSON web token could not be decoded")


def _app(state: GithubState, request: Request, match: re.Match[str], url: str) -> Answer:
    _must_be_app(request)
    return Answer(200, {**app_json(state), "permissions": state.app_permissions, "events": state.app_events})


def app_json(state: GithubState) -> dict[str, Any]:
    """Return the App as its own runs and installations show it."""
    return {"id": APP_ID, "slug": SLUG, "name": "Fixwright"}


def _installation_json(installation: Installation) -> dict[str, Any]:
    return {
        "id": installation.id,
        "account": {"login": installation.account, "id": 77, "type": "Organization"},
        "app_id": APP_ID,
        "app_slug": SLUG,
        "repository_selection": "selected",
        "permissions": installation.permissions,
        "events": ["issues"],
        "suspended_at": "2026-01-01T00:00:00Z" if installation.suspended else None,
    }


def _repository_installation(state: GithubState, request: Request, here: Here) -> Answer:
    _must_be_app(request)
    found = state.installations.get(here.full_name.split("/")[0])
    if found is None:
        raise Refused(404, "Not Found")
    return Answer(200, _installation_json(found))


def _installation(state: GithubState, request: Request, match: re.Match[str], url: str) -> Answer:
    _must_be_app(request)
    found = state.installation(int(match[1]))
    if found is None:
        raise Refused(404, "Not Found")
    return Answer(200, _installation_json(found))


def _mint(state: GithubState, request: Request, match: re.Match[str], url: str) -> Answer:
    """Give out a token: never with more than asked for, nor than the installation has."""
    _must_be_app(request)
    installation = state.installation(int(match[1]))
    if installation is None:
        raise Refused(404, "Not Found")
    if installation.suspended:
        raise Refused(403, "This installation has been suspended")
    body = request.body or {}
    asked = body.get("permissions") or dict(installation.permissions)
    for name, level in asked.items():
        if RANKS.get(installation.permissions.get(name, ""), 0) < RANKS[level]:
            raise Refused(422, "The permissions requested are not granted to this installation.")
    home = installation.account + "/"
    there = [each for each in state.local.repositories() if each.full_name.startswith(home)]
    chosen = [
        each
        for each in there
        if int(each.id) in body.get("repository_ids", [])
        or each.full_name.partition("/")[2].lower() in map(str.lower, body.get("repositories", []))
    ]
    if len(chosen) != len(body.get("repository_ids", [])) + len(body.get("repositories", [])):
        raise Refused(422, "There is at least one repository that is not accessible to the installation.")
    ids = frozenset(int(each.id) for each in (chosen or there))
    # As long as GitHub's newer ones: nothing may assume forty characters.
    secret = f"ghs_{APP_ID}_" + base64.urlsafe_b64encode(f"token {state.next_id()} ".encode() * 20).decode()
    expires = state.now() + state.token_seconds
    state.tokens[secret] = Token(installation, ids, asked, expires)
    data = {
        "token": secret,
        "expires_at": f"{datetime.fromtimestamp(expires, UTC):%Y-%m-%dT%H:%M:%SZ}",
        "permissions": asked,
        "repository_selection": "selected",
    }
    if chosen:
        data["repositories"] = [repository_json(Here(state, int(each.id), url)) for each in chosen]
    return Answer(201, data)


def _revoke(state: GithubState, request: Request, match: re.Match[str], url: str) -> Answer:
    secret = request.headers["authorization"].partition(" ")[2]
    state.tokens.pop(secret, None)
    state.revoked.append(secret)
    return Answer(204)


def _user_by_login(state: GithubState, request: Request, match: re.Match[str], url: str) -> Answer:
    with state.local._ground.read() as tx:
        row = tx.one("SELECT id FROM users WHERE lower(login) = lower(?) AND deleted = 0", match[1])
        if row is None:
            raise Refused(404, "Not Found")
        return Answer(200, user_json(rows.actor(tx, row["id"])))


def _user_by_id(state: GithubState, request: Request, match: re.Match[str], url: str) -> Answer:
    with state.local._ground.read() as tx:
        found = rows.actor(tx, int(match[1]))
    if found.id == "0":
        raise Refused(404, "Not Found")
    return Answer(200, user_json(found))


def _deliveries(state: GithubState, request: Request, match: re.Match[str], url: str) -> Answer:
    _must_be_app(request)
    newest = sorted(state.deliveries, key=lambda each: -int(each["id"]))
    start = int(request.query.get("cursor", "0"))
    size = int(request.query.get("per_page", "30"))
    headers = {}
    if start + size < len(newest):
        query = f"per_page={size}&cursor={start + size}"
        headers["Link"] = f'<{url}/app/hook/deliveries?{query}>; rel="next"'
    return Answer(200, newest[start : start + size], headers)


def _redeliver(state: GithubState, request: Request, match: re.Match[str], url: str) -> Answer:
    _must_be_app(request)
    known = next((each for each in state.deliveries if str(each["id"]) == match[1]), None)
    if known is None:
        raise Refused(404, "Not Found")
    again = {**known, "id": state.next_id(), "redelivery": True, "status": "OK", "status_code": 202}
    state.deliveries.append(again)
    return Answer(202, {})


def _graphql(state: GithubState, request: Request, match: re.Match[str], url: str) -> Answer:
    """Answer the two questions about threads that the provider has, page by page."""
    variables = request.body["variables"]
    if request.token is None or not _has(request.token, "pull_requests", "read"):
        error = {"type": "FORBIDDEN", "message": "Resource not accessible by integration"}
        return Answer(200, {"data": None, "errors": [error]})
    if "query Threads(" in request.body["query"]:
        found = state.threads.get(variables["number"], [])
        if not _is_pull(state, variables["number"]):
            error = {"type": "NOT_FOUND", "message": "Could not resolve to a PullRequest"}
            return Answer(200, {"data": {"repository": {"pullRequest": None}}, "errors": [error]})
        shown, info = _window(found, variables["after"], 2)
        nodes = [{**thread, "comments": _inner(thread, None)} for thread in shown]
        page = {"pageInfo": info, "nodes": nodes}
        return Answer(200, {"data": {"repository": {"pullRequest": {"reviewThreads": page}}}})
    thread = next(t for each in state.threads.values() for t in each if t["id"] == variables["id"])
    return Answer(200, {"data": {"node": {"comments": _inner(thread, variables["inner"])}}})


def _is_pull(state: GithubState, number: int) -> bool:
    """Tell whether there is such a pull request; in which repository is not looked at."""
    found = (pull for each in state.local.repositories() for pull in state.local.pulls(each.id))
    return any(pull.number == number for pull in found)


def _inner(thread: dict[str, Any], after: str | None) -> dict[str, Any]:
    shown, info = _window(thread["comments"], after, 3)
    return {"pageInfo": info, "nodes": shown}


def _window(items: list[Any], after: str | None, size: int) -> tuple[list[Any], dict[str, Any]]:
    start = int(after or 0)
    is_more = start + size < len(items)
    return items[start : start + size], {"hasNextPage": is_more, "endCursor": str(start + size)}


APP_ROUTES: list[tuple[str, str, Callable[[GithubState, Request, re.Match[str], str], Answer]]] = [
    ("GET", r"/app", _app),
    ("GET", r"/app/installations/(\d+)", _installation),
    ("POST", r"/app/installations/(\d+)/access_tokens", _mint),
    ("DELETE", r"/installation/token", _revoke),
    ("GET", r"/app/hook/deliveries", _deliveries),
    ("POST", r"/app/hook/deliveries/(\d+)/attempts", _redeliver),
    ("GET", r"/users/([^/]+)", _user_by_login),
    ("GET", r"/user/(\d+)", _user_by_id),
    ("POST", r"/graphql", _graphql),
]


# -- shapes -----------------------------------------------------------------------------------------


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
        "html_url": f"https://github.example/{here.full_name}",
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
        "html_url": f"https://github.example/{here.full_name}/{kind}/{found.number}",
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
        "html_url": f"https://github.example/{here.full_name}/issues/1#issuecomment-{row['id']}",
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
        "html_url": f"https://github.example/{here.full_name}/pull/{found.number}",
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


# -- issues, comments, labels -----------------------------------------------------------------------


def _repository(here: Here, request: Request, match: re.Match[str]) -> Answer:
    return Answer(200, repository_json(here))


def _issues(here: Here, request: Request, match: re.Match[str]) -> Answer:
    """List as GitHub does: pull requests among them, several labels together, changed since."""
    wanted = {name.lower() for name in request.query.get("labels", "").split(",") if name}
    since = request.query.get("since", "")
    order = "DESC" if request.query.get("direction", "desc") == "desc" else "ASC"
    with here.ground.read() as tx:
        found = tx.all(f"SELECT * FROM issues WHERE repository_id = ? ORDER BY number {order}", here.id)
        shown = [issue_json(here, tx, row) for row in found]
    state = request.query.get("state", "open")
    kept = [
        each
        for each in shown
        if (state == "all" or each["state"] == state)
        and wanted <= {label["name"].lower() for label in each["labels"]}
        and each["updated_at"] >= since
    ]
    return paged(here, request, kept)


def _issue(here: Here, request: Request, match: re.Match[str]) -> Answer:
    location = here.state.transferred.get((here.id, int(match[1])))
    if location:
        raise Moved(301, location)
    with here.ground.read() as tx:
        return Answer(200, issue_json(here, tx, rows.issue_row(tx, here.ref(match[1]))))


def _comments(here: Here, request: Request, match: re.Match[str]) -> Answer:
    with here.ground.read() as tx:
        found = rows.comment_rows(tx, rows.issue_row(tx, here.ref(match[1]))["id"])
        return paged(here, request, [comment_json(here, tx, row) for row in found])


def _write_comment(here: Here, request: Request, match: re.Match[str]) -> Answer:
    with _checked("IssueComment"), here.ground.write() as tx:
        row = issues.write_comment(tx, here.ref(match[1]), here.state.bot, request.body["body"])
        return Answer(201, comment_json(here, tx, row))


def _edit_comment(here: Here, request: Request, match: re.Match[str]) -> Answer:
    with _checked("IssueComment"), here.ground.write() as tx:
        row = issues.rewrite_comment(
            tx, issues.comment_row(tx, match[1]), here.state.bot, request.body["body"]
        )
        return Answer(200, comment_json(here, tx, row))


def _delete_comment(here: Here, request: Request, match: re.Match[str]) -> Answer:
    with here.ground.write() as tx:
        issues.remove_comment(tx, issues.comment_row(tx, match[1]), here.state.bot)
    return Answer(204)


def _events(here: Here, request: Request, match: re.Match[str]) -> Answer:
    with here.ground.read() as tx:
        row = rows.issue_row(tx, here.ref(match[1]))
        found = rows.label_changes(tx, here.ref(match[1]))
        author = user_json(rows.actor(tx, row["author_id"]))
    opened = {"id": 1, "event": "subscribed", "actor": author or GHOST, "created_at": when(row["created_at"])}
    return paged(here, request, [opened, *(_event_json(change) for change in found)])


def _event_json(change: LabelChange) -> dict[str, Any]:
    return {
        "id": 2,
        "event": "labeled" if change.added else "unlabeled",
        "actor": user_json(change.actor) or GHOST,
        "label": {"name": change.label, "color": "ededed"},
        "created_at": f"{change.at:%Y-%m-%dT%H:%M:%SZ}",
    }


def _add_labels(here: Here, request: Request, match: re.Match[str]) -> Answer:
    with _checked("Label"), here.ground.write() as tx:
        row = rows.issue_row(tx, here.ref(match[1]))
        issues.put_labels(tx, row["id"], here.state.bot, request.body["labels"])
        return Answer(200, [_label_json(name) for name in rows.labels(tx, row["id"])])


def _label_json(name: str) -> dict[str, Any]:
    return {"id": 5, "node_id": "x", "name": name, "color": "ededed", "default": False}


def _remove_label(here: Here, request: Request, match: re.Match[str]) -> Answer:
    with here.ground.write() as tx:
        row = rows.issue_row(tx, here.ref(match[1]))
        if match[2].lower() not in {name.lower() for name in rows.labels(tx, row["id"])}:
            raise Refused(404, "Label does not exist")
        issues.take_label(tx, row["id"], here.state.bot, match[2])
        return Answer(200, [_label_json(name) for name in rows.labels(tx, row["id"])])


def _react(here: Here, request: Request, match: re.Match[str]) -> Answer:
    content = request.body["content"]
    with here.ground.write() as tx:
        row = issues.comment_row(tx, match[1])
        done = tx.run(
            "INSERT OR IGNORE INTO reactions (comment_id, user_id, content) VALUES (?, ?, ?)",
            row["id"],
            int(here.state.bot.id),
            content,
        )
    shown = {"id": 9, "content": content, "user": user_json(here.state.bot)}
    return Answer(201 if done.rowcount else 200, {**shown, "created_at": "2026-01-01T00:00:00Z"})


def _permission(here: Here, request: Request, match: re.Match[str]) -> Answer:
    with here.ground.read() as tx:
        row = tx.one("SELECT id FROM users WHERE lower(login) = lower(?) AND deleted = 0", match[1])
        if row is None:
            raise Refused(404, f"{match[1]} is not a user")
        who = rows.actor(tx, row["id"])
        held = rows.permission(tx, str(here.id), who)
    if held is Permission.NONE and not here.row["private"]:
        held = Permission.READ
    return Answer(
        200,
        {
            "permission": LEVELS.get(held, held.value),
            "role_name": held.value,
            "user": {**(user_json(who) or {}), "role_name": held.value},
        },
    )


def _contents(here: Here, request: Request, match: re.Match[str]) -> Answer:
    with here.ground.read() as tx:
        git = tx.git(here.full_name)
    ref = request.query.get("ref", here.row["default_branch"])
    content = git.read_file(git.resolve(ref) or ref, match[1])
    encoded = base64.encodebytes(content).decode()
    return Answer(
        200,
        {
            "type": "file",
            "encoding": "base64",
            "size": len(content),
            "name": match[1].rpartition("/")[2],
            "path": match[1],
            "content": encoded,
            "sha": "0" * 40,
        },
    )


# -- pull requests ----------------------------------------------------------------------------------


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
    with _checked("PullRequest", head=f"{here.full_name.split('/')[0]}:{head}"), here.ground.write() as tx:
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
    with _checked("PullRequest"), here.ground.write() as tx:
        row = rows.pull_row(tx, str(here.id), int(match[1]))
        if "base" in body:
            pulls.set_base(tx, row, here.state.bot, body["base"])
        issues.edit(tx, row["issue_id"], here.state.bot, title=body.get("title"), body=body.get("body"))
        return Answer(200, pull_json(here, tx, rows.pull_row(tx, str(here.id), int(match[1])), whole=True))


class _checked:
    """Turns the embedded forge's refusals into GitHub's 422, in GitHub's words."""

    def __init__(self, resource: str, head: str = "") -> None:
        self.resource = resource
        self.head = head

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if not isinstance(error, ForgeError) or isinstance(error, NotFound):
            return
        raise Refused(422, "Validation Failed", [self._details(str(error))]) from None

    def _details(self, said: str) -> dict[str, str]:
        custom = {"resource": self.resource, "code": "custom"}
        if "is open already" in said:
            return {**custom, "message": f"A pull request already exists for {self.head}."}
        if "no commits between" in said:
            return {**custom, "message": said.replace("there are no", "No").replace("'", "")}
        for field in ("base", "head"):
            if f"the {field} branch" in said:
                return {"resource": self.resource, "field": field, "code": "invalid"}
        if "blank" in said:
            return {"resource": self.resource, "field": "title", "code": "missing_field"}
        return {**custom, "field": "body", "message": said}


def _request_reviewers(here: Here, request: Request, match: re.Match[str]) -> Answer:
    with here.ground.read() as tx:
        row = rows.pull_row(tx, str(here.id), int(match[1]))
        may_read = {user["login"] for user in tx.all("SELECT login FROM users")}
        if unknown := set(request.body["reviewers"]) - may_read:
            return Answer(422, {"message": f"Reviews may only be requested from collaborators: {unknown}"})
        asked = here.state.requested_reviewers.setdefault(int(match[1]), [])
        asked += [login for login in request.body["reviewers"] if login not in asked]
        return Answer(201, pull_json(here, tx, row, whole=True))


def _review_comments(here: Here, request: Request, match: re.Match[str]) -> Answer:
    return paged(here, request, here.state.review_comments)


def _reply(here: Here, request: Request, match: re.Match[str]) -> Answer:
    written = {
        "id": here.state.next_id(),
        "body": request.body["body"],
        "user": user_json(here.state.bot),
        "in_reply_to_id": int(match[2]),
        "path": "a.py",
        "html_url": "https://github.example/x",
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
    }
    here.state.review_comments.append(written)
    return Answer(201, written)


# -- checks -----------------------------------------------------------------------------------------


def _check_runs(here: Here, request: Request, match: re.Match[str]) -> Answer:
    name = request.query.get("check_name")
    found = [
        each
        for each in here.state.checks
        if each["head_sha"] == match[1] and (name is None or each["name"] == name)
    ]
    return paged(here, request, found, wrap="check_runs")


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
        raise Refused(404, "Not Found")
    return Answer(302, None, {"Location": f"{here.state.log_host}/_logs/{match[1]}?sig=x"})


ISSUES_READ = {"issues": "read", "pull_requests": "read"}
ISSUES_WRITE = {"issues": "write", "pull_requests": "write"}

REPOSITORY_ROUTES: list[tuple[str, str, Mapping[str, str], Rest]] = [
    ("GET", r"", {"metadata": "read"}, _repository),
    ("GET", r"/issues", {"issues": "read"}, _issues),
    ("GET", r"/issues/(\d+)", ISSUES_READ, _issue),
    ("GET", r"/issues/(\d+)/comments", ISSUES_READ, _comments),
    ("POST", r"/issues/(\d+)/comments", ISSUES_WRITE, _write_comment),
    ("PATCH", r"/issues/comments/(\d+)", ISSUES_WRITE, _edit_comment),
    ("DELETE", r"/issues/comments/(\d+)", ISSUES_WRITE, _delete_comment),
    ("POST", r"/issues/comments/(\d+)/reactions", ISSUES_WRITE, _react),
    ("GET", r"/issues/(\d+)/events", ISSUES_READ, _events),
    ("POST", r"/issues/(\d+)/labels", ISSUES_WRITE, _add_labels),
    ("DELETE", r"/issues/(\d+)/labels/(.+)", ISSUES_WRITE, _remove_label),
    ("GET", r"/collaborators/([^/]+)/permission", {"metadata": "read"}, _permission),
    ("GET", r"/contents/(.+)", {"contents": "read"}, _contents),
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
]
