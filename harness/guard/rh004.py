"""RH004: a file that does not parse any more."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import PurePosixPath

from domain.model import Finding
from harness.guard.context import Context, critical, warning

RULE = "RH004"
_WHY = "Nothing that needs this file can run."


def check(context: Context) -> Iterator[Finding]:
    """Yield findings for Python, TOML and package.json files that do not parse."""
    for path, pair in context.python.items():
        delta = context.change.deltas[path]
        if not pair.error:
            continue
        if delta.old is not None and pair.old is None:
            yield warning(
                RULE, path, pair.error_line, "not analysed: it did not parse before either", pair.error
            )
        else:
            yield critical(RULE, path, pair.error_line, f"it does not parse: {pair.error}", _WHY)
    for path, delta in context.change.deltas.items():
        problem = _problem(path, delta.new) if delta.new is not None and delta.is_regular else ""
        if problem and (delta.old is None or not _problem(path, delta.old)):
            yield critical(RULE, path, 0, f"it does not parse: {problem}", _WHY)


def _problem(path: str, content: bytes) -> str:
    name = PurePosixPath(path).name
    try:
        if name.endswith(".toml"):
            tomllib.loads(content.decode("utf-8"))
        elif name in {"package.json", "composer.json"}:
            json.loads(content)
    except (ValueError, RecursionError) as error:
        return str(error)[:200]
    return ""
