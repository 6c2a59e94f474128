"""GitHub as a provider plugin. Light: PyGithub is not loaded before the client is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from domain.errors import ConfigurationError
from domain.ports import Forge, WebhookDialect

NAME = "github"

API_URL = "https://api.github.com"

_OPTIONS = ("app_id", "private_key", "api_url", "repositories")


class GithubProvider:
    """The provider `github`. Options: `app_id`, `private_key`; `api_url`; `repositories`.

    `repositories` are owner/name, separated by spaces; none means that none is served.
    """

    name = NAME

    def dialect(self) -> WebhookDialect:
        """Return the webhook side."""
        from providers.webhooks import GitHubShapedDialect

        return GitHubShapedDialect(NAME, "X-GitHub-Event", "X-GitHub-Delivery", "X-Hub-Signature-256")

    def forge(self, options: Mapping[str, str]) -> Forge:
        """Return the client. GitHub is not asked yet. Raises ConfigurationError."""
        known = _checked(options)
        from providers.github.forge import GithubForge

        return GithubForge(
            app_id=known["app_id"],
            private_key=known["private_key"],
            api_url=checked_api_url(known["api_url"]),
            served=frozenset(known["repositories"].lower().split()),
        )


def _checked(options: Mapping[str, str]) -> dict[str, str]:
    for name in options:
        if name not in _OPTIONS:
            raise ConfigurationError(
                f"the provider github has no option {name!r}; it has {', '.join(_OPTIONS)}"
            )
    known = {name: options.get(name, "").strip() for name in _OPTIONS}
    if not known["app_id"]:
        raise ConfigurationError(
            "FIXWRIGHT_GITHUB_APP_ID: is not set, but a repository on GitHub is served; "
            "for example FIXWRIGHT_GITHUB_APP_ID=12345"
        )
    if not known["private_key"]:
        raise ConfigurationError(
            "FIXWRIGHT_GITHUB_PRIVATE_KEY: is not set, nor is FIXWRIGHT_GITHUB_PRIVATE_KEY_FILE; "
            "for example FIXWRIGHT_GITHUB_PRIVATE_KEY_FILE=./data/github-app.pem"
        )
    # One line with \n in it is how platforms without multi-line values keep a key.
    known["private_key"] = known["private_key"].replace("\\n", "\n") + "\n"
    return known


def checked_api_url(text: str) -> str:
    """Return the API's address without a slash at its end. Raises ConfigurationError."""
    url = text.rstrip("/") or API_URL
    parts = urlsplit(url)
    host = parts.hostname or ""
    is_near = host in {"127.0.0.1", "::1", "localhost"}
    is_right = parts.scheme == "https" or (parts.scheme == "http" and is_near)
    if not is_right or not host or parts.username or parts.query or parts.fragment:
        raise ConfigurationError(
            "FIXWRIGHT_GITHUB_API_URL: is not an https address without user name and query; for example "
            "FIXWRIGHT_GITHUB_API_URL=https://github.example.com/api/v3"
        )
    if host == "github.com":
        raise ConfigurationError(
            f"FIXWRIGHT_GITHUB_API_URL: is the website's address; its API is at {API_URL}, the default"
        )
    return url
