"""The environment and the user data base that a command sees: made up, nothing inherited."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from domain.errors import SandboxError
from harness.sandbox.places import HOME

SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
USER = "agent"
USER_ID = 1000
"""The uid and gid inside; which uid it is outside is the operator's choice."""

_FIXED = {
    "USER": USER,
    "LOGNAME": USER,
    "SHELL": "/bin/bash",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "CI": "true",
    # Nothing may wait for a key: pagers pass through, editors fail, prompts are refused.
    "PAGER": "cat",
    "MANPAGER": "cat",
    "GIT_PAGER": "cat",
    "EDITOR": "/bin/false",
    "VISUAL": "/bin/false",
    "GIT_EDITOR": "/bin/false",
    "GIT_SEQUENCE_EDITOR": "/bin/false",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "/bin/false",
    "SSH_ASKPASS": "/bin/false",
    "DEBIAN_FRONTEND": "noninteractive",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUNBUFFERED": "1",
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "npm_config_yes": "true",
    "npm_config_audit": "false",
    "npm_config_fund": "false",
    "npm_config_update_notifier": "false",
}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

ACCOUNT_FILES: Mapping[str, str] = {
    "/etc/passwd": (
        "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n"
        f"{USER}:x:{USER_ID}:{USER_ID}:{USER}:{HOME}:/bin/bash\n"
        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    ),
    "/etc/group": f"root:x:0:\n{USER}:x:{USER_ID}:\nnogroup:x:65534:\n",
    "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n",
}
"""Files of /etc that are written for the sandbox instead of being shown from the host."""


def command_environment(
    extra: Mapping[str, str], *, path: Sequence[str], home: str = HOME, temporary: str = "/tmp"
) -> dict[str, str]:
    """Return the whole environment of a command: the fixed list, then the policy's own variables.

    Raises SandboxError for a variable that cannot be one (its name, or a NUL in its value).
    """
    for name, value in extra.items():
        if not _NAME.match(name) or "\x00" in value:
            raise SandboxError(f"{name!r} cannot be an environment variable: use letters, digits and _")
    return {"PATH": ":".join(path), "HOME": home, "TMPDIR": temporary, **_FIXED, **extra}
