"""What the GitHub on loopback answers: who may ask what, and what an App asks about itself."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from app.demo.github.exchange import Answer, Moved, Refused, Request
from app.demo.github.hooks import sent_hooks
from app.demo.github.issue_routes import ISSUE_ROUTES
from app.demo.github.making import convert
from app.demo.github.pull_routes import PULL_ROUTES
from app.demo.github.shapes import (
    Here,
    app_json,
    repository_json,
    user_json,
)
from app.demo.github.state import APP_ID, SLUG, GithubState, Installation, Token
from app.demo.github.threads import every_thread_json, threads_json
from domain.errors import NotFound
from providers.local import rows

RANKS = {"read": 1, "write": 2}


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
    for method, pattern, needs, handler in (*ISSUE_ROUTES, *PULL_ROUTES):
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


def _authorize(here: Here, request: Request, needs: Mapping[str, str]) -> None:
    """Let in whoever has one of the permissions, on this repository. What is not to be seen is not there."""
    token = request.token
    if token is None:
        raise Refused(401, "Requires authentication")
    if here.id not in token.repository_ids or here.full_name in token.installation.left_out:
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
    if found is None or here.full_name in found.left_out:
        raise Refused(404, "Not Found")
    return Answer(200, _installation_json(found))


def _installation(state: GithubState, request: Request, match: re.Match[str], url: str) -> Answer:
    _must_be_app(request)
    found = state.installation(int(match[1]))
    if found is None:
        raise Refused(404, "Not Found")
    return Answer(200, _installation_json(found))


def _installations(state: GithubState, request: Request, match: re.Match[str], url: str) -> Answer:
    _must_be_app(request)
    return Answer(200, [_installation_json(each) for each in state.installations.values()])


def _hook_config(state: GithubState, request: Request, match: re.Match[str], url: str) -> Answer:
    _must_be_app(request)
    if not state.hook:
        raise Refused(404, "Not Found")
    return Answer(200, state.hook)


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
    there = [
        each
        for each in state.local.repositories()
        if each.full_name.startswith(home) and each.full_name not in installation.left_out
    ]
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
    state.minted += 1
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
    with state.local.ground.read() as tx:
        found = rows.actor_called(tx, match[1])
    if found is None:
        raise Refused(404, "Not Found")
    return Answer(200, user_json(found))


def _user_by_id(state: GithubState, request: Request, match: re.Match[str], url: str) -> Answer:
    with state.local.ground.read() as tx:
        found = rows.actor(tx, int(match[1]))
    if found.id == "0":
        raise Refused(404, "Not Found")
    return Answer(200, user_json(found))


def _deliveries(state: GithubState, request: Request, match: re.Match[str], url: str) -> Answer:
    _must_be_app(request)
    newest = sorted([*sent_hooks(state), *state.deliveries], key=lambda each: -int(each["id"]))
    start = int(request.query.get("cursor", "0"))
    size = int(request.query.get("per_page", "30"))
    headers = {}
    if start + size < len(newest):
        query = f"per_page={size}&cursor={start + size}"
        headers["Link"] = f'<{url}/app/hook/deliveries?{query}>; rel="next"'
    return Answer(200, newest[start : start + size], headers)


def _redeliver(state: GithubState, request: Request, match: re.Match[str], url: str) -> Answer:
    _must_be_app(request)
    sent = next((each for each in sent_hooks(state) if str(each["id"]) == match[1]), None)
    if sent is not None:
        state.local.redeliver(sent["guid"])
        return Answer(202, {})
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
        found = state.threads.get(variables["number"], []) + threads_json(state, variables)
        if not _is_pull(state, variables["number"]):
            error = {"type": "NOT_FOUND", "message": "Could not resolve to a PullRequest"}
            return Answer(200, {"data": {"repository": {"pullRequest": None}}, "errors": [error]})
        shown, info = _window(found, variables["after"], 2)
        nodes = [{**thread, "comments": _inner(thread, None)} for thread in shown]
        page = {"pageInfo": info, "nodes": nodes}
        return Answer(200, {"data": {"repository": {"pullRequest": {"reviewThreads": page}}}})
    known = [*(t for each in state.threads.values() for t in each), *every_thread_json(state)]
    thread = next(each for each in known if each["id"] == variables["id"])
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
    ("POST", r"/app-manifests/([^/]+)/conversions", convert),
    ("GET", r"/app/installations/(\d+)", _installation),
    ("POST", r"/app/installations/(\d+)/access_tokens", _mint),
    ("DELETE", r"/installation/token", _revoke),
    ("GET", r"/app/installations", _installations),
    ("GET", r"/app/hook/config", _hook_config),
    ("GET", r"/app/hook/deliveries", _deliveries),
    ("POST", r"/app/hook/deliveries/(\d+)/attempts", _redeliver),
    ("GET", r"/users/([^/]+)", _user_by_login),
    ("GET", r"/user/(\d+)", _user_by_id),
    ("POST", r"/graphql", _graphql),
]
