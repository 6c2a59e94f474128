"""One class for every forge that words its deliveries as GitHub does; the header names are its settings."""

from __future__ import annotations

import re
from collections.abc import Sequence

from domain.events import Event
from providers.webhooks.payload import read_event
from providers.webhooks.signature import is_signed

Headers = Sequence[tuple[bytes, bytes]]
"""As ASGI gives them: names in lower case, values as they came."""

_DELIVERY_ID = re.compile(rb"[A-Za-z0-9._:-]{1,128}")
_EVENT_NAME = re.compile(rb"[a-z_]{1,64}")


class GitHubShapedDialect:
    """A `WebhookDialect`: how one forge signs and words its deliveries.

    For GitHub itself the headers are X-GitHub-Event, X-GitHub-Delivery and X-Hub-Signature-256; the older
    X-Hub-Signature (SHA-1) is never looked at.
    Source: https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries
    """

    def __init__(self, name: str, event_header: str, delivery_header: str, signature_header: str) -> None:
        self.name = name
        self._event_header = event_header.lower().encode("ascii")
        self._delivery_header = delivery_header.lower().encode("ascii")
        self._signature_header = signature_header.lower().encode("ascii")

    def verify(self, body: bytes, headers: Headers, secrets: Sequence[bytes]) -> bool:
        """Tell whether the exact bytes are signed with one of the secrets. Constant time, never raises."""
        return is_signed(body, _all(headers, self._signature_header), secrets)

    def delivery_id(self, headers: Headers) -> str:
        """Return the forge's delivery id: 1 to 128 letters, digits, `.`, `_`, `:` or `-`.

        Raises:
            ValueError: the header is absent, repeated, too long or has other characters.
        """
        return _only(headers, self._delivery_header, _DELIVERY_ID)

    def parse(self, body: bytes, headers: Headers) -> Event:
        """Return what the delivery means.

        Raises:
            ValueError: no event header, not a JSON object, or not the shape that the event's name promises.
        """
        return read_event(self.name, _only(headers, self._event_header, _EVENT_NAME), body)


def _all(headers: Headers, name: bytes) -> list[bytes]:
    return [value for key, value in headers if key == name]


def _only(headers: Headers, name: bytes, pattern: re.Pattern[bytes]) -> str:
    values = _all(headers, name)
    if len(values) != 1 or not pattern.fullmatch(values[0]):
        raise ValueError(f"the header {name.decode('ascii')} is absent, repeated or malformed")
    return values[0].decode("ascii")
