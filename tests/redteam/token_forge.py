"""A forge over smart HTTP that mints short-lived tokens: the embedded forge behind `git http-backend`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from domain.model import CloneAccess
from domain.ports import Purpose
from providers.local.faulty import Fault, FaultyForge
from providers.local.forge import LocalForge
from tests.harness.git_world import token_http

PROTOCOL = "http"


@dataclass
class Token:
    """One minted token: when, for which repository, and whether the server still takes it."""

    secret: str
    repository_id: str
    minted_at: float
    live: bool = True


class TokenForge(FaultyForge):
    """Remembers every token, and counts pushes and bad ones."""

    def __init__(self, root: Path, faults: Sequence[Fault] = ()) -> None:
        super().__init__(LocalForge(root), faults)
        self.tokens: list[Token] = []
        self.pushes = 0
        self.refused = 0
        self.address = ""
        self._root = root

    def clone_access(self, repository_id: str, purpose: Purpose = Purpose.FETCH) -> CloneAccess:
        """Mint a token as long as an app's, for this repository alone."""
        plain = super().clone_access(repository_id, purpose)
        number = len(self.tokens) + 1
        secret = f"ghs_{number}_canary." + "tokenOfOneOperation" * 20 + f".{number}"
        self.tokens.append(Token(secret, repository_id, time.monotonic()))
        path = Path(plain.url.removeprefix("file://")).relative_to(self._root)
        return CloneAccess(
            url=f"{self.address}/{path}", protocol=PROTOCOL, username="x-access-token", secret=secret
        )

    def takes(self, password: str, is_push: bool) -> bool:
        """Tell whether the server lets a request in."""
        self.pushes += is_push
        if any(token.live and token.secret == password for token in self.tokens):
            return True
        self.refused += bool(password)
        return False


@contextmanager
def token_forge(root: Path, faults: Sequence[Fault] = ()) -> Iterator[TokenForge]:
    """Serve the embedded forge at `root` behind tokens."""
    forge = TokenForge(root, faults)
    with token_http(root, forge.takes) as address:
        forge.address = address
        yield forge
