"""A forge over smart HTTP that mints short-lived tokens: the embedded forge behind `git http-backend`."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from domain.model import CloneAccess
from providers.local.faulty import Fault, FaultyForge
from providers.local.forge import LocalForge
from tests.harness.git_world import smart_http

PROTOCOL = "http"


@dataclass
class Token:
    """One minted token: when, for which repository, and whether the server still takes it."""

    secret: str
    repository_id: str
    minted_at: float
    live: bool = True


class TokenForge(FaultyForge):
    """Remembers every token, and every request that came with a good or a bad one."""

    def __init__(self, root: Path, faults: Sequence[Fault] = ()) -> None:
        super().__init__(LocalForge(root), faults)
        self.tokens: list[Token] = []
        self.requests: list[str] = []
        self.refused = 0
        self.address = ""
        self._root = root

    def clone_access(self, repository_id: str) -> CloneAccess:
        """Mint a token as long as an app's, for this repository alone."""
        plain = super().clone_access(repository_id)
        number = len(self.tokens) + 1
        secret = f"ghs_{number}_canary." + "tokenOfOneOperation" * 20 + f".{number}"
        self.tokens.append(Token(secret, repository_id, time.monotonic()))
        path = Path(plain.url.removeprefix("file://")).relative_to(self._root)
        return CloneAccess(
            url=f"{self.address}/{path}", protocol=PROTOCOL, username="x-access-token", secret=secret
        )

    def takes(self, authorization: str | None, path: str) -> bool:
        """Tell whether the server lets a request in."""
        self.requests.append(path)
        for token in self.tokens:
            basic = base64.b64encode(f"x-access-token:{token.secret}".encode()).decode()
            if token.live and authorization == f"Basic {basic}":
                return True
        self.refused += authorization is not None
        return False


@contextmanager
def token_forge(root: Path, faults: Sequence[Fault] = ()) -> Iterator[TokenForge]:
    """Serve the embedded forge at `root` behind tokens."""
    forge = TokenForge(root, faults)
    with smart_http(root, forge.takes) as address:
        forge.address = address
        yield forge
