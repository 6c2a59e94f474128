"""The embedded forge as a provider plugin. Light: neither git nor an HTTP client is loaded from here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from domain.errors import ConfigurationError
from domain.ports import Forge, WebhookDialect

NAME = "local"

_OPTIONS = ("path", "webhook_url", "webhook_secret")


class LocalProvider:
    """The provider `local`. Options: `path`; `webhook_url` and `webhook_secret`, both or neither."""

    name = NAME

    def dialect(self) -> WebhookDialect:
        """Return the webhook side: GitHub's wording under our own header names."""
        from providers.webhooks import GitHubShapedDialect

        return GitHubShapedDialect(
            NAME, "X-Fixwright-Event", "X-Fixwright-Delivery", "X-Fixwright-Signature-256"
        )

    def forge(self, options: Mapping[str, str]) -> Forge:
        """Return the bot's client on the forge in the directory `path`. Raises ConfigurationError."""
        path, url, secret = _checked(options)
        from providers.local.forge import LocalForge
        from providers.local.ground import BOT
        from providers.local.outbox import WebhookTarget

        return LocalForge(path, BOT, WebhookTarget(url=url, secret=secret) if url else None)


def _checked(options: Mapping[str, str]) -> tuple[Path, str, str]:
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        raise ConfigurationError(
            f"the provider local has no option {unknown[0]!r}; it has {', '.join(_OPTIONS)}"
        )
    path, url, secret = (options.get(name, "") for name in _OPTIONS)
    if not path:
        raise ConfigurationError(
            "the provider local needs the option path; a right one is /var/lib/fixwright/forge"
        )
    if bool(url) != bool(secret):
        raise ConfigurationError(
            "the provider local needs both of webhook_url and webhook_secret, or neither"
        )
    if url and (urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname):
        raise ConfigurationError(
            f"the provider local cannot send to webhook_url {url!r}; "
            "a right one is http://127.0.0.1:8000/webhooks/local"
        )
    return Path(path), url, secret
