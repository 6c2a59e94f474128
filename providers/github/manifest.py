"""What GitHub is asked for when an App is made from a manifest, and the addresses of that. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from domain.errors import ConfigurationError
from domain.text import clip
from providers.github import needs

LONGEST_NAME = 34
"""Characters that GitHub allows in an App's name."""

WEBHOOK_PATH = "/webhooks/github"
LOGIN_PATH = "/console/login/github/callback"
"""Where people come back to who log in to the console with their account."""

_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9 ._-]{{0,{LONGEST_NAME - 1}}}")
_ORGANIZATION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_PUBLIC_URL = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+(?:/[A-Za-z0-9._~/-]*)?")
_NEAR = re.compile(r"localhost|.*\.localhost|127\.[0-9.]+|0\.0\.0\.0|\[?::1?\]?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What a person decides of an App: its name, the account that owns it, and where the service is.

    `organization` "" makes it the App of the person; `public_url` is without a slash at its end.
    """

    name: str
    public_url: str
    organization: str = ""

    @property
    def webhook_url(self) -> str:
        """Where GitHub is to send its deliveries."""
        return self.public_url + WEBHOOK_PATH


def checked(wishes: Wishes) -> Wishes:
    """Return the wishes without blanks around them. Raises ConfigurationError naming what is wrong."""
    name, organization = wishes.name.strip(), wishes.organization.strip()
    public_url = wishes.public_url.strip().rstrip("/")
    if organization and not _ORGANIZATION.fullmatch(organization):
        raise ConfigurationError(f"organization: {clip(organization, 60)!a} is not the name of an account")
    if not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"name: {clip(name, 60)!a} is no name for an App: letters, digits, spaces and .-_ only, at most "
            f"{LONGEST_NAME}; for example fixwright-acme"
        )
    if not _PUBLIC_URL.fullmatch(public_url) or not _host(public_url):
        raise ConfigurationError(
            f"public address: {clip(public_url, 60)!a} is no address such as https://fixwright.example.org"
        )
    if _NEAR.fullmatch(_host(public_url)):
        raise ConfigurationError(
            f"public address: GitHub cannot reach {public_url}, which means itself on every machine; "
            "for example https://fixwright.example.org"
        )
    return Wishes(name=name, public_url=public_url, organization=organization)


def _host(address: str) -> str:
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return ""
    return parts.hostname or ""


def manifest(wishes: Wishes, redirect_url: str) -> dict[str, object]:
    """Return the manifest; GitHub sends the browser back to `redirect_url` with a code."""
    return {
        "name": wishes.name,
        "url": wishes.public_url,
        "description": "Turns a labelled issue into a verified draft pull request. A person merges.",
        "hook_attributes": {"url": wishes.webhook_url, "active": True},
        "redirect_url": redirect_url,
        "callback_urls": [f"{wishes.public_url}{LOGIN_PATH}"],
        "public": False,
        "request_oauth_on_install": False,
        "setup_on_update": False,
        "default_permissions": dict(needs.REQUIRED),
        "default_events": sorted(needs.EVENTS | needs.EVENTS_BESIDES),
    }


def web_root(api_url: str) -> str:
    """Return where people and git go: beside the API, or in front of it on an Enterprise server."""
    parts = urlsplit(api_url)
    if parts.path.rstrip("/").endswith("/api/v3"):
        return f"{parts.scheme}://{parts.netloc}"
    return f"{parts.scheme}://{parts.netloc.removeprefix('api.')}"


def asking_address(api_url: str, organization: str, state: str) -> str:
    """Return where a browser posts the manifest to."""
    owner = f"/organizations/{quote(organization, safe='')}" if organization else ""
    return f"{web_root(api_url)}{owner}/settings/apps/new?state={quote(state, safe='')}"


def installing_address(page: str) -> str:
    """Return where the App is installed, from its page."""
    return f"{page}/installations/new"


def page_of(api_url: str, slug: str, told: str) -> str:
    """Return the App's page: as GitHub tells it if that is on this GitHub, else by its usual address."""
    root = web_root(api_url)
    if re.fullmatch(rf"{re.escape(root)}/[a-z-]+/{re.escape(slug)}", told):
        return told
    return f"{root}/{'apps' if root == 'https://github.com' else 'github-apps'}/{slug}"
