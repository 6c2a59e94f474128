"""Finds a program that makes a command another user's, and sees for itself that it does."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from domain.errors import SandboxError
from harness.sandbox.capabilities import SETS, fields_of
from harness.sandbox.identity import Identity

_UNSHARE, _SETPRIV = Path("/usr/bin/unshare"), Path("/usr/bin/setpriv")
_TRIAL_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Becoming:
    """Whom a command is to run as, and the words before it that see to that.

    Without words where it is another user, Python must do it: in a copy of its own process, which costs
    milliseconds a command.
    """

    identity: Identity
    words: tuple[str, ...] = ()

    @property
    def by_copy(self) -> bool:
        """Tell whether Python itself must become the user."""
        return self.identity.separate and not self.words


def way_to_become(identity: Identity, *, unshare: Path = _UNSHARE, setpriv: Path = _SETPRIV) -> Becoming:
    """Return the cheapest way that is proven to work here: each candidate is run once.

    Raises SandboxError where nothing takes this process' own rights from the command.
    """
    if not identity.separate:
        return Becoming(identity)
    uid, gid = identity.uid, identity.gid
    for words in (
        # Takes numbers for what they are. The other asks the user data base for names first: a millisecond.
        (str(unshare), f"--setuid={uid}", f"--setgid={gid}", "--"),
        (
            *(str(setpriv), f"--reuid={uid}", f"--regid={gid}", "--clear-groups"),
            *("--inh-caps=-all", "--ambient-caps=-all", "--"),
        ),
    ):
        if _becomes(words, identity):
            return Becoming(identity, words)
    if os.geteuid() != 0:
        # The kernel takes capabilities from who ceases to be root; from who never was, it does not.
        raise SandboxError(
            f"cannot become user id {uid} and lose this process' own rights: {setpriv} does not work here; "
            "install or upgrade util-linux"
        )
    return Becoming(identity)


def _becomes(words: tuple[str, ...], identity: Identity) -> bool:
    """Tell whether a command behind these words has the user, this group alone, and no capabilities."""
    try:
        told = subprocess.run(
            [*words, "/bin/cat", "/proc/self/status"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={}, cwd="/", check=False, timeout=_TRIAL_SECONDS, text=True, errors="replace",
        ).stdout  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return False
    seen = fields_of(told)
    wanted = {"Uid": [str(identity.uid)] * 4, "Gid": [str(identity.gid)] * 4, "Groups": []}
    is_powerless = all(int(word, 16) == 0 for name in SETS for word in seen.get(name, ["1"]))
    return is_powerless and all(seen.get(key) == value for key, value in wanted.items())
