"""The detectors of detect-secrets, used line by line: no network, no verification, no settings of its own.

Loaded at the first change that is looked at: they take 20 MB, which a worker without work does not need.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

_MODULES = {
    "artifactory": "ArtifactoryDetector",
    "aws": "AWSKeyDetector",
    "azure_storage_key": "AzureStorageKeyDetector",
    "basic_auth": "BasicAuthDetector",
    "cloudant": "CloudantDetector",
    "discord": "DiscordBotTokenDetector",
    "github_token": "GitHubTokenDetector",
    "gitlab_token": "GitLabTokenDetector",
    "ibm_cloud_iam": "IbmCloudIamDetector",
    "ibm_cos_hmac": "IbmCosHmacDetector",
    "jwt": "JwtTokenDetector",
    "mailchimp": "MailchimpDetector",
    "npm": "NpmDetector",
    "openai": "OpenAIDetector",
    "private_key": "PrivateKeyDetector",
    "pypi_token": "PypiTokenDetector",
    "sendgrid": "SendGridDetector",
    "slack": "SlackDetector",
    "softlayer": "SoftlayerDetector",
    "square_oauth": "SquareOAuthDetector",
    "stripe": "StripeDetector",
    "telegram_token": "TelegramBotTokenDetector",
    "twilio": "TwilioKeyDetector",
}
"""Those that know a credential by its form. Bare randomness and key words are left to our own patterns: a
hash, an identifier, a picture or `password = "test"` is no credential, and refusing a change is for good.
"""

_WORTH_A_LOOK = re.compile(r"[A-Za-z0-9+/_=-]{16}|://|BEGIN")
_PIECE = 2_000
"""Characters that a detector sees at once: some take time that grows with the square of a line."""

_LEAST_CHARACTERS = 8


class _Detector(Protocol):
    secret_type: str

    def analyze_string(self, string: str) -> Iterable[str]: ...


class Detectors:
    """All detectors, made once."""

    def __init__(self) -> None:
        self._detectors: tuple[_Detector, ...] = tuple(_made())

    def first(self, text: str, is_placeholder: Callable[[str], bool]) -> tuple[str, str] | None:
        """Return (what it is, the credential) of the first hit that is no placeholder, or None."""
        if not _WORTH_A_LOOK.search(text):
            return None
        for start in range(0, max(1, len(text)), _PIECE // 2):
            piece = text[start : start + _PIECE]
            for detector in self._detectors:
                for found in detector.analyze_string(piece):
                    if not is_placeholder(found) and _is_likely(detector, found):
                        return detector.secret_type, found
        return None


def _made() -> Iterator[_Detector]:
    for module, name in _MODULES.items():
        made: _Detector = getattr(importlib.import_module(f"detect_secrets.plugins.{module}"), name)()
        yield made


def _is_likely(detector: _Detector, found: str) -> bool:
    """Tell a credential from a name in code, and from the `user:pass@host` that documentation is full of."""
    if detector.secret_type == "Private Key":
        return True
    has_both = all(any(map(kind, found)) for kind in (str.isalpha, str.isdigit))
    return has_both and len(found) >= _LEAST_CHARACTERS
