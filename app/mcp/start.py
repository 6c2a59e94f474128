"""`fixwright mcp`: checks what it needs, then serves; the protocol's package is an optional one."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from domain.errors import ConfigurationError


def start(root: Path) -> None:
    """Serve a repository's tools until the client leaves. Raises ConfigurationError."""
    if not root.is_dir():
        raise ConfigurationError(f"--repo: {root} is no directory")
    if importlib.util.find_spec("mcp") is None or importlib.util.find_spec("mcp_types") is None:
        raise ConfigurationError(
            "the package `mcp` (2.0 or newer) is not installed; `pip install 'fixwright[mcp]'` brings it"
        )
    if sys.stdin.isatty():
        sys.stderr.write("fixwright mcp speaks to a client on standard input; see docs/how-to/mcp.md\n")
    from app.mcp.server import serve

    serve(root)
