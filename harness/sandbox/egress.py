"""The one way out of a session that has one: a relay inside, from loopback to the harness' proxy.

Package clients speak to a proxy over TCP, and the sandbox has no network but its own loopback. So a small
program listens there and carries each connection to the proxy's Unix socket. Perl runs it, which every Debian
has, or Python; a guest without either has no way out, and says so.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from domain.errors import SandboxError
from harness.sandbox.places import EGRESS_SOCKET, RELAY_DIRECTORY, RELAY_PORT

_RUNNERS = {"relay.pl": ("/usr/bin/perl",), "relay.py": ("/usr/bin/python3", "/usr/local/bin/python3")}

RELAY_START = f"""\
relay=
for program in {" ".join(f"{runner}:{name}" for name, places in _RUNNERS.items() for runner in places)}; do
  [ -x "${{program%%:*}}" ] || continue
  relay=$("${{program%%:*}}" {RELAY_DIRECTORY}/"${{program#*:}}" {EGRESS_SOCKET} {RELAY_PORT}) && break
done
[ -n "$relay" ] || {{ echo "[the relay to the proxy cannot be started: no perl, no python3]"; exit 125; }}
"""
"""Shell lines that start the relay, and go on once it listens."""

RELAY_STOP = """\
kill -9 "$relay" 2>/dev/null
while [ -d "/proc/$relay" ]; do :; done
"""
"""Shell lines that end it, so that it is not taken for something that the command left behind."""


def relay_files() -> dict[str, str]:
    """Return the relay's programs: guest path → content."""
    found = resources.files("harness.sandbox")
    return {f"{RELAY_DIRECTORY}/{name}": found.joinpath(name).read_text("utf-8") for name in _RUNNERS}


def egress_environment() -> dict[str, str]:
    """Return the variables by which package clients find the proxy; each client has its own."""
    address = f"http://127.0.0.1:{RELAY_PORT}"
    java = " ".join(
        f"-D{scheme}.proxyHost=127.0.0.1 -D{scheme}.proxyPort={RELAY_PORT}" for scheme in ("http", "https")
    )
    spellings = ("http_proxy", "https_proxy", "all_proxy")
    return {
        **dict.fromkeys((*spellings, *(name.upper() for name in spellings)), address),
        "no_proxy": "localhost,127.0.0.1,::1",
        "NO_PROXY": "localhost,127.0.0.1,::1",
        "npm_config_proxy": address,
        "npm_config_https_proxy": address,
        "YARN_HTTP_PROXY": address,
        "YARN_HTTPS_PROXY": address,
        "CARGO_HTTP_PROXY": address,
        "JAVA_TOOL_OPTIONS": java,
    }


def require_relay() -> None:
    """Check that a host whose /usr is shown inside can run the relay. Raises SandboxError."""
    runners = [Path(runner) for places in _RUNNERS.values() for runner in places]
    if not any(runner.exists() for runner in runners):
        raise SandboxError(
            "a session cannot reach the proxy: install perl (Debian's perl-base) or python3 below /usr"
        )
