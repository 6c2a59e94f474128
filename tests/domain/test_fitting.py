"""A page that is cut still closes what it opened, and is as short as the forge counts."""

from __future__ import annotations

import pytest

from domain.fitting import CUT, LONGEST_TEXT, fitted, length


@pytest.mark.parametrize(
    "text",
    [
        "line\n" * 20_000,
        "x" * 100_000,
        "\U0001f600" * 50_000,
        "é" * 65_000,
        "```\n" + "x\n" * 50_000,
        "<details><summary>Log</summary>\n\n````diff\n" + "```\n" * 40_000,
        "~~~~~\n" + "~~~\n" * 30_000,
        "<details>" * 20_000,
        "\n" * 90_000,
    ],
)
def test_a_page_that_is_too_long(text: str) -> None:
    cut = fitted(text)
    assert length(cut) <= LONGEST_TEXT and cut.endswith(CUT)
    assert len(cut.encode("utf-16-le")) // 2 == length(cut)


def test_code_and_folded_parts_are_closed() -> None:
    cut = fitted("<details><summary>Log</summary>\n\n````diff\n" + "```\n" * 40_000)
    assert cut.endswith(f"\n```\n````\n\n</details>\n\n{CUT}")
    assert fitted("```\ncode\n```\n" + "text\n" * 20_000).endswith(f"text\n\n{CUT}")


def test_a_page_that_fits_is_left_as_it_is() -> None:
    assert fitted("a\n```\n") == "a\n```\n"
    assert fitted("a" * LONGEST_TEXT) == "a" * LONGEST_TEXT
