"""Log lines: one per event, readable by machines or people, and never with a secret in them."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from app.log import configure_logging, warnings_on_stderr
from domain.text import Redactor

SECRET = 'secret-"of"-the-tests'


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers, root.level = handlers, level
    structlog.reset_defaults()


def logged(log_format: str) -> io.StringIO:
    stream = io.StringIO()
    configure_logging(log_format, redact=Redactor([SECRET]), stream=stream)
    return stream


def test_json_is_one_object_per_line_with_time_and_level() -> None:
    stream = logged("json")
    structlog.get_logger("t").warning("task set aside", task=7, note="one\ntwo\x1b[31m")
    record = json.loads(stream.getvalue())
    assert (record["event"], record["level"], record["task"]) == ("task set aside", "warning", 7)
    assert record["timestamp"].endswith("Z")
    assert len(stream.getvalue().splitlines()) == 1


def test_a_terminal_gets_neither_escapes_nor_made_up_lines() -> None:
    stream = logged("console")
    structlog.get_logger("t").info("delivery decided", note="a\x1b[2Jb\n2026-01-01 [info] forged")
    assert "\x1b" not in stream.getvalue()
    assert len(stream.getvalue().splitlines()) == 1


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_a_secret_is_nowhere_not_even_in_a_traceback(log_format: str) -> None:
    stream = logged(log_format)
    log = structlog.get_logger("t")
    log.info(f"in the message {SECRET}", field=SECRET, inside={"deep": [SECRET]})
    try:
        raise ValueError(f"with {SECRET}")
    except ValueError:
        log.exception("failed")
        logging.getLogger("elsewhere").exception("failed as well: %s", SECRET)
    text = stream.getvalue()
    assert "Traceback" in text
    assert SECRET not in text
    assert json.dumps(SECRET)[1:-1] not in text


def test_libraries_lines_have_the_same_shape() -> None:
    stream = logged("json")
    logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
    record = json.loads(stream.getvalue())
    assert (record["event"], record["level"]) == ("Invalid HTTP request received.", "warning")


def test_auto_is_json_where_there_is_no_terminal() -> None:
    stream = logged("auto")
    structlog.get_logger("t").info("here")
    assert json.loads(stream.getvalue())["event"] == "here"


def test_a_redactor_that_fails_writes_nothing_of_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    def broken(text: str) -> str:
        raise RuntimeError("no")

    stream = io.StringIO()
    configure_logging("json", redact=broken, stream=stream)
    logging.getLogger("library").warning("token %s", SECRET)
    with pytest.raises(RuntimeError):
        structlog.get_logger("ours").warning("token", token=SECRET)
    out, err = capsys.readouterr()
    assert SECRET not in stream.getvalue() + out + err and "secret-" not in stream.getvalue() + out + err
    assert "a log line of library was lost" in err


def test_what_is_bound_for_a_task_is_in_every_line_meanwhile() -> None:
    out = io.StringIO()
    configure_logging("json", stream=out)
    with structlog.contextvars.bound_contextvars(task=7, attempt=3):
        structlog.get_logger("deep").info("within", attempt=4)
    structlog.get_logger("deep").info("after")
    within, after = map(json.loads, out.getvalue().splitlines())
    assert (within["task"], within["attempt"]) == (7, 4)
    assert "task" not in after


def test_a_command_keeps_warnings_apart_from_its_answer(capsys: pytest.CaptureFixture[str]) -> None:
    before = structlog.get_config()

    with warnings_on_stderr():
        structlog.get_logger("x").info("not told")
        structlog.get_logger("x").warning("too \x1b[2Jlarge", bytes=7)

    assert capsys.readouterr() == ("", "warning: too large bytes=7\n")
    assert structlog.get_config() == before
