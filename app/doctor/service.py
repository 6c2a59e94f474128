"""Looks whether the two processes run, and whether the web process can be reached from outside."""

from __future__ import annotations

import contextlib
import json

import httpx

from app.doctor.lines import Lines, fail, ok, warn
from app.setting_groups import CommonSettings, WebSettings
from app.wake import Bell

SECONDS = 10.0
MOST_BYTES = 4096


def processes(web: WebSettings) -> Lines:
    """Look for the web process where it listens, and for the worker's socket."""
    host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(web.host, web.host)
    host = f"[{host}]" if ":" in host and not host.startswith("[") else host
    if web.port == 0:
        yield warn("web process", "FIXWRIGHT_PORT=0 takes any port", "set FIXWRIGHT_PORT")
    else:
        said = _health(f"http://{host}:{web.port}")
        if said == "ok":
            yield ok("web process", "runs")
        elif said.startswith("!"):
            yield warn("web process", f"does not run ({said[1:]})", "fixwright serve")
        else:
            yield fail("web process", f"runs, and says: {said}", "look at its log")
    bell = Bell(web.bell_path)
    with contextlib.closing(bell):
        if bell.is_heard():
            yield ok("worker", "runs")
        else:
            yield warn("worker", "does not run", "fixwright work")


def public_address(settings: CommonSettings) -> Lines:
    """Ask the public address how the service is, as somebody from outside would."""
    address = settings.public_url
    if not address:
        return
    said = _health(address)
    if said == "ok":
        yield ok("public address", f"{address} leads here, and is well")
    elif said.startswith("!"):
        words = f"{address}/healthz cannot be reached from this machine ({said[1:]})"
        fix = "check name, certificate and proxy; if only this machine cannot, the deliveries tell"
        yield warn("public address", words, fix)
    else:
        yield fail(
            "public address", f"{address}/healthz says: {said}", "look at the proxy, and the service's log"
        )


def _health(address: str) -> str:
    """Return what /healthz says; "!" and why where nothing of ours answers."""
    try:
        with httpx.stream("GET", f"{address}/healthz", timeout=SECONDS) as answer:
            body = b""
            for piece in answer.iter_bytes(MOST_BYTES):
                body += piece
                if len(body) >= MOST_BYTES:
                    break
            status = answer.status_code
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
        return f"!{type(error).__name__}"
    try:
        said = json.loads(body[:MOST_BYTES])["status"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return f"!status {status}, and not in our words"
    return str(said)[:200]
