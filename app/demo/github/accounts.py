"""GitHub's side of a login with an account: the page that asks, the code, the token, and what it opens."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from app.demo.github.exchange import Answer, Refused, Request
from app.demo.github.making import CLIENT_SECRET
from app.demo.github.shapes import Here, repository_json, user_json
from app.demo.github.state import GithubState, Login
from domain.model import Actor, Permission
from providers.local import rows

CLIENT_ID = "Iv23abcdef"
AUTHORIZE = "/login/oauth/authorize"
ACCESS_TOKEN = "/login/oauth/access_token"
PREFIX = "ghu_"

_ORDER = [
    Permission.NONE,
    Permission.READ,
    Permission.TRIAGE,
    Permission.WRITE,
    Permission.MAINTAIN,
    Permission.ADMIN,
]


def authorize(state: GithubState, address: str) -> str:
    """Take a browser to the page, have the person before it agree, and return where it goes next."""
    query = {name: values[-1] for name, values in parse_qs(urlsplit(address).query).items()}
    if query.get("client_id") != CLIENT_ID or query.get("code_challenge_method") != "S256":
        state.broken.append(f"a login that asks for {sorted(query)}")
    back = {"state": query["state"]}
    if state.accounts.who is None:
        return f"{query['redirect_uri']}?{urlencode({**back, 'error': 'access_denied'})}"
    code = f"{state.next_id():020x}"
    state.accounts.codes[code] = Login(state.accounts.who, query["redirect_uri"], query["code_challenge"])
    return f"{query['redirect_uri']}?{urlencode({**back, 'code': code})}"


def access_token(state: GithubState, body: bytes) -> Answer:
    """Give a token for a code, once, to who knows the App's secret and the code's verifier."""
    form = {name: values[-1] for name, values in parse_qs(body.decode()).items()}
    login = state.accounts.codes.pop(form.get("code", ""), None)
    if (form.get("client_id"), form.get("client_secret")) != (CLIENT_ID, CLIENT_SECRET):
        return Answer(200, {"error": "incorrect_client_credentials"})
    digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
    challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    if login is None or login.redirect_uri != form.get("redirect_uri") or login.challenge != challenge:
        return Answer(200, {"error": "bad_verification_code"})
    token = f"{PREFIX}{state.next_id():036x}"
    state.accounts.tokens[token] = login.who
    return Answer(200, {"access_token": token, "token_type": "bearer", "expires_in": 28800, "scope": ""})


def respond_to_account(state: GithubState, request: Request, url: str) -> Answer:
    """Answer a request that is signed with an account's token."""
    who = state.accounts.tokens.get(request.headers["authorization"].partition(" ")[2])
    if who is None:
        raise Refused(401, "Bad credentials")
    if request.path == "/user":
        return Answer(200, user_json(who))
    match = re.fullmatch(r"/repos/([^/]+/[^/]+)", request.path)
    if match is None or request.method != "GET":
        return Answer(501, {"message": "this world has no such route"})
    found = next(
        (each for each in state.local.repositories() if each.full_name.lower() == match[1].lower()), None
    )
    held = _held(state, found.id, who) if found else Permission.NONE
    if found is None or (held is Permission.NONE and found.private):
        raise Refused(404, "Not Found")
    rank = _ORDER.index(held)
    named = {"pull": 1, "triage": 2, "push": 3, "maintain": 4, "admin": 5}
    rights = {name: rank >= least for name, least in named.items()}
    return Answer(200, {**repository_json(Here(state, int(found.id), url)), "permissions": rights})


def give_back(state: GithubState, request: Request) -> Answer:
    """Make an account's token useless, for the App that it was given to."""
    expected = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
    if request.headers.get("authorization") != f"Basic {expected}":
        raise Refused(401, "Requires authentication")
    token: Any = (request.body or {}).get("access_token")
    if state.accounts.tokens.pop(token, None) is None:
        raise Refused(404, "Not Found")
    state.accounts.returned.append(token)
    return Answer(204)


def _held(state: GithubState, repository_id: str, who: Actor) -> Permission:
    with Here(state, int(repository_id), "").ground.read() as tx:
        return rows.permission(tx, repository_id, who)
