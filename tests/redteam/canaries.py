"""Secrets of every kind that a service holds, laid out everywhere, and the spellings in which they leak."""

from __future__ import annotations

import base64
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    "MIIEcanary0Qm9vYmFyIGlzIG5vdCBhIGtleSBidXQgbG9va3MgbGlrZSBvbmU1f7\n"
    "Y2FuYXJ5LW9mLXRoZS1hcHAta2V5LXNlY29uZC1saW5lLW9mLWJhc2U2NC10ZXh0\n"
    "-----END RSA PRIVATE KEY-----\n"
)

CANARIES: Mapping[str, str] = {
    "OPENAI_API_KEY": "sk-canary-openai-5b1f0c7d9e",
    "ANTHROPIC_API_KEY": "sk-ant-canary-77aa01c2",
    "AWS_SECRET_ACCESS_KEY": "canaryAwsSecret/9f+8e7d6c",
    "FIXWRIGHT_TEST_APP_KEY": PEM,
    "FIXWRIGHT_TEST_TOKEN": "ghs_" + "canaryInstallationToken" * 4,
    "FIXWRIGHT_TEST_WEBHOOK_SECRET": "canary-webhook-secret-0123456789-abcdef",
}
"""As they stand in the environment of an operator's machine: keys of a model, of an app, of a webhook."""


def spellings(secret: str) -> set[str]:
    """Return a secret in plain, Base64 and URL-encoded form; of a key file, each line that is secret."""
    found: set[str] = set()
    for piece in (secret, *(line for line in secret.splitlines() if "-----" not in line)):
        raw = piece.encode()
        plain_base64 = base64.b64encode(raw).decode().rstrip("=")
        as_password = base64.b64encode(b"x-access-token:" + raw).decode().rstrip("=")
        found |= {piece, plain_base64[:-1], as_password[20:-1], urllib.parse.quote(piece, safe=""), raw.hex()}
    return {spelling for spelling in found if len(spelling) >= 12}


class Hunt:
    """Looks for secrets, in every spelling, in whatever bytes it is given."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._needles = [
            (name, spelling.encode()) for name, secret in secrets.items() for spelling in spellings(secret)
        ]

    def found_in(self, content: bytes | str) -> set[str]:
        """Return the names of the secrets in it."""
        raw = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content
        return {name for name, needle in self._needles if needle in raw}

    def found_below(self, root: Path, *, but: Iterable[Path] = ()) -> Iterator[str]:
        """Yield `secret in file` for the files below a directory, apart from those named."""
        left_out = set(but)
        for path in root.rglob("*"):
            if path in left_out or path.is_symlink() or not path.is_file():
                continue
            yield from (f"{name} in {path}" for name in self.found_in(path.read_bytes()))


def lay_out(root: Path) -> list[Path]:
    """Write the canaries to files below a directory, closed and open to all; returns the files."""
    files = []
    for name, mode in (("app.pem", 0o600), ("settings.env", 0o600), ("readable.env", 0o644)):
        path = root / name
        path.write_text(PEM if name == "app.pem" else "".join(f"{k}={v!r}\n" for k, v in CANARIES.items()))
        path.chmod(mode)
        files.append(path)
    return files
