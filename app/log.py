"""Logging: structlog for everything, one line per event, on standard output; secrets never."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
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
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    if not as_json:
        chain.append(_disarm)
    render = _json_renderer(redact) if as_json else _console_renderer(redact, colors=out.isatty())
    structlog.configure(
        processors=[*chain, render],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(file=out),
        cache_logger_on_first_use=True,
    )
    _adopt_standard_logging(chain, render, out)


@contextmanager
def warnings_on_stderr() -> Iterator[None]:
    """Keep the log of a command apart from its answer: warnings alone, in lines on standard error."""
    before = structlog.get_config() if structlog.is_configured() else None
    structlog.configure(
        processors=[structlog.stdlib.add_log_level, structlog.processors.format_exc_info, _disarm, _told],
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.ReturnLoggerFactory(),
        cache_logger_on_first_use=False,
    )
    try:
        yield
    finally:
        structlog.reset_defaults()
        if before is not None:
            structlog.configure(**before)


def _told(_: Any, __: str, record: MutableMapping[str, Any]) -> str:
    event, level = record.pop("event", ""), record.pop("level", "warning")
    rest = " ".join(f"{name}={value}" for name, value in record.items())
    sys.stderr.write(plain(f"{level}: {event} {rest}".rstrip()) + "\n")
    return ""


def _json_renderer(redact: Redact) -> structlog.typing.Processor:
    """Redact the finished line, which costs less than each field; a line with escapes in it, field by field.

    A secret that JSON writes with a backslash would not be found in the line as it is.
    """
    encode = json.JSONEncoder(default=repr).encode  # made once: structlog's renderer makes one per line

    def render(_: Any, __: str, record: MutableMapping[str, Any]) -> str:
        line = encode(dict(record))
        return redact(encode(_redacted(record, redact)) if "\\" in line else line)

    return render


def _redacted(value: Any, redact: Redact) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {key: _redacted(each, redact) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_redacted(each, redact) for each in value]
    return value


def _console_renderer(redact: Redact, *, colors: bool) -> structlog.typing.Processor:
    render = structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=structlog.dev.plain_traceback)

    def redacted(logger: Any, method: str, record: MutableMapping[str, Any]) -> str:
        return redact(render(logger, method, record))

    return redacted


class _Handler(logging.StreamHandler[TextIO]):
    """Says nothing of a line that cannot be written: `logging` would print it, and it is not redacted yet."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Say that a line was lost, and nothing of it."""
        with suppress(OSError, ValueError):
            sys.stderr.write(f"a log line of {record.name} was lost: it could not be redacted or written\n")


def _adopt_standard_logging(
    chain: list[structlog.typing.Processor], renderer: structlog.typing.Processor, out: TextIO
) -> None:
    """Give the lines of libraries that use `logging` the same shape and the same redaction."""
    handler = _Handler(out)
    strip = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(foreign_pre_chain=chain, processors=[strip, renderer])
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.INFO)


def _disarm(_: Any, __: str, record: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Leave nothing in a text that could act on a terminal, or look like a line of its own."""
    for key, value in record.items():
        if isinstance(value, str):
            shown = plain(value)
            record[key] = shown if key == "exception" else shown.replace("\n", "\\n")
    return record
