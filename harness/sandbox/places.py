"""Where things are inside the sandbox: the paths that every back end shows alike."""

from __future__ import annotations

WORK = "/work"
"""The worktree, and where every command starts."""

TEMPORARY = "/tmp"
"""The session's scratch directory."""

HOME = "/home/agent"
"""A home of the session's own, gone with each command; a policy may show directories in it."""

SETUP = "/setup"
"""What the set-up installed: writable while it runs, read-only ever after, absent without one."""

EGRESS_SOCKET = "/run/fixwright/egress.sock"
"""The way out, in a session that has one: the Unix socket of the harness' proxy."""

RELAY_DIRECTORY = "/run/fixwright"
"""Where the programs lie that carry connections to that socket."""

RELAY_PORT = 3128
"""Loopback port inside of a session with a way out; clients that speak to a proxy over TCP find it there."""
