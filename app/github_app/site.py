"""What the setup page serves for: the flow, the lock, what is fixed already, and under which addresses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from app.github_app.flow import ManifestFlow
from app.github_app.lock import CodeLock
from providers.github.manifest import Wishes

_NEAR = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:[0-9]{1,5})?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupSite:
    """A setup page and its surroundings. `public_url` "" where the operator did not set it.

    `wishes` is what was decided on a command line already. `taken_up` says that the process which serves this
    goes on with the App by itself.
    """

    flow: ManifestFlow
    lock: CodeLock
    public_url: str = ""
    repositories: tuple[str, ...] = ()
    wishes: Wishes | None = None
    taken_up: bool = True

    def is_ours(self, host: str) -> bool:
        """Tell whether a request's Host is this machine as seen from itself, or the public address.

        Anything else is a name that somebody else has pointed here.
        """
        public = urlsplit(self.public_url).netloc.lower()
        return _NEAR.fullmatch(host) is not None or bool(public and host.lower() == public)

    def root_for(self, origin: str) -> str:
        """Return the address that a browser of this origin has the page under, "" for a foreign one."""
        scheme, _, host = origin.partition("://")
        if scheme == "http" and _NEAR.fullmatch(host):
            return origin
        parts = urlsplit(self.public_url)
        is_public = bool(self.public_url) and origin.lower() == f"{parts.scheme}://{parts.netloc}".lower()
        return self.public_url if is_public else ""

    def is_secure(self, host: str) -> bool:
        """Tell whether a browser that says this Host came by https."""
        parts = urlsplit(self.public_url)
        return parts.scheme == "https" and host.lower() == parts.netloc.lower()
