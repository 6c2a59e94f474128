"""The provider `directory`, as the entry point names it. Light: no file is read from here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from domain.errors import ConfigurationError
from domain.events import Event
from domain.ports import Forge, WebhookDialect

NAME = "directory"


class DirectoryProvider:
    """Options: `path`, the directory. It must be there."""

    name = NAME

    def dialect(self) -> WebhookDialect:
        """Return the webhook side."""
        return NoWebhooks()

    def forge(self, options: Mapping[str, str]) -> Forge:
        """Return the client. Raises ConfigurationError."""
        from directory_forge.forge import DirectoryForge

        unknown = sorted(set(options) - {"path"})
        if unknown:
            raise ConfigurationError(f"the provider directory has no option {unknown[0]!r}; it has path")
        path = Path(options.get("path", ""))
        if not path.is_absolute() or not path.is_dir():
            raise ConfigurationError(
                "the provider directory needs the option path, a directory; for example "
                """FIXWRIGHT_FORGE_OPTIONS='{"directory": {"path": "/srv/forge"}}'"""
            )
        return DirectoryForge(path)


class NoWebhooks:
    """A directory tells nobody: whatever comes to its door is refused."""

    name = NAME

    def verify(self, body: bytes, headers: Sequence[tuple[bytes, bytes]], secrets: Sequence[bytes]) -> bool:
        """Refuse: there is nothing that could be signed rightly."""
        return False

    def delivery_id(self, headers: Sequence[tuple[bytes, bytes]]) -> str:
        """Raise ValueError."""
        raise ValueError("a directory sends no webhooks")

    def parse(self, body: bytes, headers: Sequence[tuple[bytes, bytes]]) -> Event:
        """Raise ValueError."""
        raise ValueError("a directory sends no webhooks")
