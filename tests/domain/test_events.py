"""Commands in comments: only a first line that is the command and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.events import COMMAND_PREFIX, Verb, parse_address, parse_command


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
        "/fixwrightresume",
        "/fixwright-resume",
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
        "/fixwright resume\x00",
        "/fixwright resume\u2028/fixwright cancel",
        "/fixwright resume\r/fixwright cancel",
        "\ufeff\ufeff/fixwright resume",
        "/f\u0131xwright resume",
    ],
)
def test_anything_else_is_not(comment: str) -> None:
    assert parse_command(comment) is None


@pytest.mark.parametrize(
    "comment",
    [
        "/fixwright",
        "/fixwright ",
        "/fixwright\nresume",
        "/fixwright unknown",
        "/fixwright resume now",
        "/fixwright resume please, but only when the tests are green",
        "/fixwright resume cancel",
        "/fixwright resume.",
        "/fixwright `resume`",
        "/FIXWRIGHT Please?",
        "/fixwright budget",
        "/fixwright budget three dollars please",
        "/fixwright resume \u2013 the cause is in caf\u00e9.py",
        "/fixwright resume \U0001f64f",
        "/fixwright resume\u200b",
        "/fixwright resume\u00a0",
        "/fixwright\u00a0resume",
        "/fixwright re\u017fume",
        "/fixwright ru\uff4e",
        "/fixwright resume, and " + "mind the old names, too " * 20,
    ],
)
def test_what_begins_like_a_command_and_is_none_is_to_be_answered(comment: str) -> None:
    expected = Verb.BUDGET if comment == "/fixwright budget" else Verb.UNKNOWN
    assert parse_command(comment) is expected


@pytest.mark.parametrize(
    ("comment", "verb", "name"),
    [
        ("@fixwright run", Verb.RUN, "fixwright"),
        ("@fixwright[bot] status\nplease", Verb.STATUS, "fixwright"),
        ("@Acme-Fixer budget 3.00", Verb.BUDGET, "Acme-Fixer"),
        ("@somebody-else cancel", Verb.CANCEL, "somebody-else"),
        ("/fixwright run", Verb.RUN, ""),
    ],
)
def test_a_command_may_call_somebody_by_name(comment: str, verb: Verb, name: str) -> None:
    assert (parse_command(comment), parse_address(comment)) == (verb, name)


@pytest.mark.parametrize(
    "comment", ["@fixwright thanks!", "@fixwright", "cc @fixwright run", "@fixwright explode"]
)
def test_a_mention_that_is_no_command_is_a_mention(comment: str) -> None:
    assert parse_command(comment) is None and parse_address(comment) in {"", "fixwright"}


@pytest.mark.long
@given(st.text(max_size=80))
def test_only_the_first_line_counts(rest: str) -> None:
    assert parse_command(f"/fixwright cancel\n{rest}") is Verb.CANCEL


@given(st.text(max_size=40), st.sampled_from([verb for verb in Verb if verb is not Verb.UNKNOWN]))
def test_nothing_may_stand_before_the_command(before: str, verb: Verb) -> None:
    comment = f"{before}{COMMAND_PREFIX} {verb}"
    assert (parse_command(comment) is verb) == (before in ("", "\ufeff"))


@pytest.mark.parametrize("piece", [" ", "a", "/fixwright ", "/fixwright run ", "\r", "\n", "@a "])
def test_a_huge_comment_is_no_trouble(piece: str) -> None:
    assert parse_command("/fixwright " + piece * 500_000 + "!") in {None, Verb.UNKNOWN}
