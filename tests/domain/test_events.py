"""Commands in comments: only a first line that is the command and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.events import COMMAND_PREFIX, Verb, parse_command


@pytest.mark.parametrize("verb", sorted(Verb))
def test_each_verb_alone_on_the_first_line(verb: Verb) -> None:
    assert parse_command(f"/fixwright {verb}") is verb


@pytest.mark.parametrize(
    "comment",
    [
        "/fixwright resume\n",
        "/fixwright resume\r\n",
        "/fixwright resume   \t",
        "/fixwright   resume",
        "/fixwright\tresume",
        "\ufeff/fixwright resume",
        "/fixwright resume\nplease look at the parser first",
        "/fixwright resume\r\n\r\n> quoted below",
        "/fixwright RESUME",
        "/Fixwright Resume",
        "/fixwright resume\n<!-- /fixwright cancel -->",
    ],
)
def test_a_plain_command_is_one(comment: str) -> None:
    assert parse_command(comment) is Verb.RESUME


@pytest.mark.parametrize(
    "comment",
    [
        "",
        "\n",
        "\ufeff",
        "resume",
        "/fixwright",
        "/fixwright ",
        "/fixwright\nresume",
        "/fixwrightresume",
        "/fixwright-resume",
        "/fixwright unknown",
        "/fixwright resume now",
        "/fixwright resume please, but only when the tests are green",
        "/fixwright resume cancel",
        "/fixwright resume.",
        "/fixwright `resume`",
        "//fixwright resume",
        "please /fixwright resume",
        " /fixwright resume",
        "\t/fixwright resume",
        "    /fixwright resume",
        "\n/fixwright resume",
        "> /fixwright resume",
        ">/fixwright resume",
        "> quoted\n\n/fixwright resume",
        "```\n/fixwright resume\n```",
        "~~~\n/fixwright resume\n~~~",
        "`/fixwright resume`",
        "| /fixwright resume |\n|---|",
        "| a |\n|---|\n| /fixwright resume |",
        "<!--\n/fixwright resume\n-->",
        "<!-- /fixwright resume -->",
        "<details>\n\n/fixwright resume",
        "- /fixwright resume",
        "# /fixwright resume",
        "**/fixwright resume**",
        "/fix\u200bwright resume",
        "\u200b/fixwright resume",
        "/fixwright resume\u200b",
        "/fixwright\u00a0resume",
        "/fixwright resume\x00",
        "/fixwright resume\u2028/fixwright cancel",
        "/fixwright resume\r/fixwright cancel",
        "\ufeff\ufeff/fixwright resume",
        "/fixwright re\u017fume",
        "/f\u0131xwright resume",
        "/fixwright ru\uff4e",
    ],
)
def test_anything_else_is_not(comment: str) -> None:
    assert parse_command(comment) is None


@given(st.text(max_size=80))
def test_only_the_first_line_counts(rest: str) -> None:
    assert parse_command(f"/fixwright cancel\n{rest}") is Verb.CANCEL


@given(st.text(max_size=40), st.sampled_from(Verb))
def test_nothing_may_stand_before_the_command(before: str, verb: Verb) -> None:
    comment = f"{before}{COMMAND_PREFIX} {verb}"
    assert (parse_command(comment) is verb) == (before in ("", "\ufeff"))


@pytest.mark.parametrize("piece", [" ", "a", "/fixwright ", "/fixwright run ", "\r", "\n"])
def test_a_huge_comment_is_no_trouble(piece: str) -> None:
    assert parse_command("/fixwright " + piece * 500_000 + "!") is None
