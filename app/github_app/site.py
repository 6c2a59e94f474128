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
        return _NEAR.fullmatch(host) is not None or self._is_public(host)

    def root_for(self, origin: str) -> str:
        """Return the address that a browser of this origin has the page under, "" for a foreign one."""
        scheme, _, host = origin.partition("://")
        if scheme == "http" and _NEAR.fullmatch(host):
            return origin
        is_public = scheme == urlsplit(self.public_url).scheme and self._is_public(host)
        return self.public_url if is_public else ""

    def is_secure(self, host: str) -> bool:
        """Tell whether a browser that says this Host came by https."""
        return urlsplit(self.public_url).scheme == "https" and self._is_public(host)

    def _is_public(self, host: str) -> bool:
        """Tell whether a browser at the public address says this Host; it leaves the usual port out."""
        parts = urlsplit(self.public_url)
        usual = {"https": ":443", "http": ":80"}.get(parts.scheme, "")
        public = parts.netloc.lower().removesuffix(usual)
        return bool(public) and host.lower().removesuffix(usual) == public
