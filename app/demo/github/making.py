"""GitHub's side of the manifest flow: the page that takes a manifest, and the code that becomes an App."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from app.demo.github.exchange import Answer, Refused, Request
from app.demo.github.state import APP_ID, SLUG, GithubState, app_key

WEBHOOK_SECRET = "5f2b" * 10
CLIENT_SECRET = "c1d2" * 10
KEYS = {
    *("name", "url", "hook_attributes", "redirect_url", "callback_urls", "setup_url", "description"),
    *("public", "default_events", "default_permissions", "request_oauth_on_install", "setup_on_update"),
}
"""https://docs.github.com/apps/sharing-github-apps/registering-a-github-app-from-a-manifest"""

PAGE = re.compile(r"(?:/organizations/([^/]+))?/settings/apps/new")


def register(state: GithubState, address: str, body: bytes) -> str:
    """Take a manifest as the page does whose button was pressed; returns where the browser goes next."""
    parts = urlsplit(address)
    match = PAGE.fullmatch(parts.path)
    if match is None:
        raise ValueError(f"{parts.path} takes no manifest")
    manifest = json.loads(parse_qs(body.decode(), keep_blank_values=True)["manifest"][0])
    unknown = set(manifest) - KEYS
    if unknown or not manifest["hook_attributes"]["url"].startswith("http"):
        state.broken.append(f"a manifest with {unknown or manifest['hook_attributes']}")
    if len(manifest["name"]) > 34:
        state.broken.append("an App's name is too long")
    code = f"{state.next_id():040x}"
    state.manifests[code] = {**manifest, "organization": match[1] or ""}
    back = {"code": code, "state": parse_qs(parts.query)["state"][0]}
    return f"{manifest['redirect_url']}?{urlencode(back)}"


def convert(state: GithubState, request: Request, match: re.Match[str], url: str) -> Answer:
    """Give out an App and its keys, once for each code."""
    manifest = state.manifests.pop(match[1], None)
    if manifest is None:
        raise Refused(404, "Not Found")
    state.app_permissions = dict(manifest["default_permissions"])
    state.app_events = list(manifest["default_events"])
    state.hook["url"] = manifest["hook_attributes"]["url"]
    return Answer(201, {**created(manifest, url), **state.conversion})


def created(manifest: dict[str, Any], url: str) -> dict[str, Any]:
    """Return the App of a manifest as the conversion's answer has it, keys and all."""
    owner = manifest["organization"] or "octocat"
    return {
        "id": APP_ID,
        "slug": SLUG,
        "node_id": "MDxOkludGVncmF0aW9uMQ==",
        "client_id": "Iv23abcdef",
        "owner": {"login": owner, "id": 77, "type": "Organization" if manifest["organization"] else "User"},
        "name": manifest["name"],
        "description": manifest["description"],
        "external_url": manifest["url"],
        "html_url": url.removesuffix("/api/v3") + f"/github-apps/{SLUG}",
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
        "permissions": manifest["default_permissions"],
        "events": manifest["default_events"],
        "client_secret": CLIENT_SECRET,
        "webhook_secret": WEBHOOK_SECRET,
        "pem": app_key(),
    }
