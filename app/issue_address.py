"""An issue by its address, for commands: through a configured forge, else as anybody may read it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from app.forges import forge_options
from app.settings import WorkerSettings, load_worker_settings, personal_token
from domain.errors import ConfigurationError, FixwrightError, ForgeError, ForgeUnavailable
from domain.model import IssueRef
from domain.ports import Forge
from domain.text import one_line
from providers.github.manifest import web_root
from providers.github.plugin import API_URL, checked_api_url
from providers.github.public import read_issue
from providers.plugins import load_provider

_SCHEMES = ("http://", "https://", "local://")
_ISSUE = re.compile(
    r"/(?P<name>[\w.-]+(?:/[\w.-]+)+?)/(?:-/)?(?:issues|pull|merge_requests|work_items)/(?P<number>[1-9]\d{0,17})/?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Address:
    """Where an issue is: the site as scheme://host, the repository's name, the issue's number."""

    text: str
    site: str
    name: str
    number: int


def is_address(text: str) -> bool:
    """Tell whether this is the address of something rather than a file's name."""
    return text.lower().startswith(_SCHEMES)


def parsed(text: str) -> Address:
    """Return what an issue's address says. Raises ConfigurationError."""
    parts = urlsplit(text)
    is_local = parts.scheme.lower() == "local"
    found = _ISSUE.fullmatch(f"/{parts.netloc}{parts.path}" if is_local else parts.path)
    if found is None or parts.username or (not is_local and not parts.hostname):
        raise ConfigurationError(
            f"--issue: {one_line(text, 200)} is no issue's address; a right one is "
            "https://github.com/owner/name/issues/12, or give a file"
        )
    site = "local" if is_local else f"{parts.scheme.lower()}://{parts.netloc.lower()}"
    return Address(
        text, site.replace("://www.github.com", "://github.com"), found["name"], int(found["number"])
    )


def issue_text(text: str) -> str:
    """Return the title and body of the issue at an address. Raises ConfigurationError."""
    address, settings = parsed(text), load_worker_settings()
    forge = _configured(address, settings)
    if forge is None and address.site == "local":
        raise _problem(address, "there is no local forge here; set FIXWRIGHT_LOCAL_FORGE to its directory")
    why = ""
    if forge is not None:
        try:
            return _through(forge, address)
        except FixwrightError as error:
            why = f"the configured forge says: {error}; "
            if address.site == "local":
                raise _problem(address, str(error)) from None
    return _as_anybody(address, settings, why)


def _configured(address: Address, settings: WorkerSettings) -> Forge | None:
    """Return a client of the forge that the address is on, where credentials for it are set."""
    if address.site == "local":
        return (
            load_provider("local").forge(forge_options("local", settings)) if settings.local_forge else None
        )
    if settings.github_app_id and address.site == web_root(settings.github_api_url):
        one = {"repositories": address.name.lower()}
        return load_provider("github").forge(forge_options("github", settings) | one)
    for name, options in settings.forge_options.items():
        if any(value.lower().rstrip("/").startswith(address.site) for value in options.values()):
            return load_provider(name).forge(options)
    return None


def _through(forge: Forge, address: Address) -> str:
    repository = forge.repository_named(address.name)
    issue = forge.issue(IssueRef(forge=forge.name, repository_id=repository.id, number=address.number))
    return f"{issue.title}\n\n{issue.body}"


def _as_anybody(address: Address, settings: WorkerSettings, why: str) -> str:
    """Read from GitHub's API, or an Enterprise server's. A token goes to the sites that it is for alone."""
    api_url = _api_of(address, settings)
    own = api_url in {API_URL, settings.github_api_url.rstrip("/")}
    token = personal_token() if own else ""
    try:
        title, body = read_issue(api_url, address.name, address.number, token)
    except ForgeUnavailable as error:
        raise _problem(address, f"{why}{error}; try again later, or give the issue as a file") from None
    except ForgeError as error:
        have = "GITHUB_TOKEN does not open it" if token else "no credentials are set for it"
        raise _problem(
            address,
            f"{why}{error}; {have}: set GITHUB_TOKEN, or FIXWRIGHT_GITHUB_APP_ID and its key, to those of an "
            "account that may read it, or give the issue as a file",
        ) from None
    return f"{title}\n\n{body}"


def _api_of(address: Address, settings: WorkerSettings) -> str:
    if address.site in {"https://github.com", "http://github.com"}:
        return API_URL
    if address.site == web_root(settings.github_api_url):
        return settings.github_api_url.rstrip("/")
    return checked_api_url(f"{address.site}/api/v3")


def _problem(address: Address, why: str) -> ConfigurationError:
    return ConfigurationError(f"--issue: {one_line(address.text, 200)}: {why}")
