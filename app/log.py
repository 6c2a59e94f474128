"""Logging: structlog for everything, one line per event, on standard output; secrets never."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, MutableMapping
from typing import Any, TextIO

import structlog

from domain.text import plain

Redact = Callable[[str], str]


def configure_logging(log_format: str, *, redact: Redact = str, stream: TextIO | None = None) -> None:
    """Send all log lines, also those of libraries that use `logging`, to `stream` (standard output).

    `log_format` is "json", "console", or "auto": console on a terminal, JSON elsewhere. `redact` takes known
    secrets out of every text (`domain.text.Redactor`).
    """
    out = stream or sys.stdout
    as_json = log_format == "json" or (log_format == "auto" and not out.isatty())
    chain: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    if not as_json:
        chain.append(_disarm)
    render = _redacting(_json_renderer() if as_json else _console_renderer(colors=out.isatty()), redact)
    structlog.configure(
        processors=[*chain, render],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(file=out),
        cache_logger_on_first_use=True,
    )
    _adopt_standard_logging(chain, render, out)


def _json_renderer() -> structlog.typing.Processor:
    encode = json.JSONEncoder(default=repr).encode  # made once: structlog's renderer makes one per line

    def render(_: Any, __: str, record: MutableMapping[str, Any]) -> str:
        return encode(dict(record))

    return render


def _console_renderer(*, colors: bool) -> structlog.typing.Processor:
    return structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=structlog.dev.plain_traceback)


def _adopt_standard_logging(
    chain: list[structlog.typing.Processor], renderer: structlog.typing.Processor, out: TextIO
) -> None:
    """Give the lines of libraries that use `logging` the same shape and the same redaction."""
    handler = logging.StreamHandler(out)
    strip = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(foreign_pre_chain=chain, processors=[strip, renderer])
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.INFO)


def _redacting(renderer: structlog.typing.Processor, redact: Redact) -> structlog.typing.Processor:
    """Take secrets out of the finished line: one look at it costs less than one at each field."""

    def render(logger: Any, method: str, record: MutableMapping[str, Any]) -> str:
        return redact(str(renderer(logger, method, record)))

    return render


def _disarm(_: Any, __: str, record: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Leave nothing in a text that could act on a terminal, or look like a line of its own."""
    for key, value in record.items():
        if isinstance(value, str):
            shown = plain(value)
            record[key] = shown if key == "exception" else shown.replace("\n", "\\n")
    return record
