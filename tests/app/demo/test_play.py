"""What the demo says at its end about where to look."""

from __future__ import annotations

from pathlib import Path

from app.demo.play import ways_to_look

PAGE = "http://127.0.0.1:8400/console/tasks/1"


def test_a_demo_that_stays_says_how_to_log_in_and_where_its_data_are() -> None:
    said = "\n".join(ways_to_look(PAGE, "the-token", Path("/tmp/demo/service"), 1, stays=True))
    assert PAGE in said and "user operator, password the-token" in said
    assert "FIXWRIGHT_DATA_DIR=/tmp/demo/service fixwright show 1" in said


def test_a_demo_that_goes_names_the_command_that_keeps_it_and_no_password() -> None:
    (said,) = ways_to_look(PAGE, "the-token", Path("/tmp/demo/service"), 1, stays=False)
    assert "`fixwright demo --keep`" in said
    assert "the-token" not in said
