"""Text from outside: what a forge would act on, load or hide, and what would break out of its place."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.text import clip, fence, inert, inert_line, one_line, plain, quoted, revealed, visible

WORD_JOINER = "\u2060"

# What forges act on, written from their documentation and laxer than any of them.
LIVE_MENTION = re.compile(r"(?:^|[^A-Za-z0-9])@[A-Za-z0-9_]")
LIVE_REFERENCE = re.compile(r"#\d|![\d\[]|\bGH-\d", re.IGNORECASE)
CLOSING_WORD = r"(?:clos|fix|resolv|implement|reopen)(?:e|ed|es|s|ing)?"
LIVE_CLOSING = re.compile(
    rf"\b{CLOSING_WORD}[^A-Za-z0-9]+(?:issues? )?(?:(?<=#)\d|https?:|[\w.-]+/[\w.-]+#\d|[A-Z]{2, 20}-\d)",
    re.IGNORECASE,
)
BEGINS_A_BLOCK = re.compile(
    r"^(?:[ \t>]|[-*+] |\d+[.)] )*(?:#|\[[ xX]\]|\[!|\[[^\]]*\]:|/[a-z]+(?: |$)|[-=*_|:][-=*_|: ]*$)",
    re.MULTILINE,
)
BEGINS_A_FENCE = re.compile(r"^(?:[ \t>]|[-*+] |\d+[.)] )*(?:```|~~~)", re.MULTILINE)

NEUTRALISERS: list[Callable[[str], str]] = [inert, quoted, lambda text: inert_line(text, 10_000)]
neutralised = pytest.mark.parametrize("neutral", NEUTRALISERS, ids=["inert", "quoted", "inert_line"])

MARKUP = st.sampled_from(
    [
        *(
            "@",
            "#",
            "!",
            "[",
            "]",
            "(",
            ")",
            "<",
            ">",
            "&",
            "`",
            "```",
            "~~~",
            "-",
            "- ",
            "* ",
            "1. ",
            "=",
            "_",
        ),
        *("/", "\n", "\r", " ", "\t", "\\", ":", "|", "a", "user", "org/team", "1", "42", "GH-", "x", "[x]"),
        *("---", "===", "fixes", "Closes", "resolving", "implement", "https://h/o/r/issues/3", "PROJ-9"),
        *("<!--", "-->", "&#64;", "\u200b", WORD_JOINER, "\u202e", "\x1b[31m", "\x1b]0;", "\x07", "\x9b"),
        *("\x00", "\ud800", "é", "😀", "\u2028"),
    ]
)
markup = st.lists(MARKUP, max_size=25).map("".join)


# -- mentions ---------------------------------------------------------------------------------------


@neutralised
@pytest.mark.parametrize(
    "text",
    [
        "@user",
        "hello @user!",
        "@org/team",
        "(@user)",
        "a,@user",
        "\n@user",
        "- @user",
        "`@user",
        "/@user",
        "https://example.org/@user",
        "\\@user",
        "**@user**",
        "_@user_",
        "é@user",
        "@_underscored",
        "@0digit",
        "&commat;user",
        "&#64;user",
        "@<!-- -->user",
        "@\u200buser",
        "\u200b@user",
        "@all @here",
        "@@user",
        "a.@user",
    ],
)
def test_nobody_is_pinged(neutral: Callable[[str], str], text: str) -> None:
    assert LIVE_MENTION.search(neutral(text).replace("&amp;", "&amp ;")) is None
    if neutral is not NEUTRALISERS[2]:
        assert "&commat;" not in neutral(text)
        assert "&#64;" not in neutral(text)


@neutralised
def test_an_address_is_no_mention(neutral: Callable[[str], str]) -> None:
    assert "someone@example.org" in neutral("write to someone@example.org")


@neutralised
def test_an_at_sign_alone_is_left(neutral: Callable[[str], str]) -> None:
    assert WORD_JOINER not in neutral("a @ b, or @ the end @")


def test_a_mention_still_reads_the_same() -> None:
    assert inert("thanks @user, see #12").replace(WORD_JOINER, "") == "thanks @user, see #12"


# -- closing words and references -------------------------------------------------------------------

CLOSING_WORDS = [
    *("close", "closes", "closed", "closing", "fix", "fixes", "fixed", "fixing", "resolve", "resolves"),
    *(
        "resolved",
        "resolving",
        "implement",
        "implements",
        "implemented",
        "implementing",
        "reopen",
        "Fixes",
        "CLOSES",
    ),
]
CLOSING_FORMS = [
    "#1",
    ": #1",
    "\n#1",
    "\n\n#1",
    "   #1",
    " **#1**",
    " `#1`",
    " [#1](https://example.org)",
    " (#1)",
    " issue #1",
    " GH-1",
    " gh-1",
    " org/repo#1",
    " group/sub.group/project#1",
    " https://github.com/o/r/issues/3",
    ": <https://gitlab.com/o/r/-/issues/3>",
    " [it](https://github.com/o/r/issues/3)",
    "\r\nhttps://github.com/o/r/issues/3",
    " PROJ-12",
    " #1, #2 and https://gitlab.com/o/r/-/issues/3",
]


@neutralised
@pytest.mark.parametrize("form", CLOSING_FORMS)
def test_nothing_is_closed(neutral: Callable[[str], str], form: str) -> None:
    gap = " " if form.startswith("#") else ""
    for word in CLOSING_WORDS:
        for before, after in (("", ""), ("this does not ", ""), ("**", "**"), ("_", "_"), ("x-", "")):
            result = neutral(f"{before}{word}{after}{gap}{form}")
            assert LIVE_CLOSING.search(result) is None, result
            assert LIVE_REFERENCE.search(result) is None, result


@neutralised
@pytest.mark.parametrize(
    "text", ["#1", "see #12", "org/repo#1", "a#1", "(#1)", "GH-7", "!33", "group/project!33", "&#49;"]
)
def test_no_issue_is_linked(neutral: Callable[[str], str], text: str) -> None:
    assert LIVE_REFERENCE.search(neutral(text)) is None


@neutralised
@pytest.mark.parametrize(
    "text", ["fix 3 tests", "the fix is simple", "C# and F#", "a prefix of 12", "closed on Monday"]
)
def test_ordinary_words_are_left_alone(neutral: Callable[[str], str], text: str) -> None:
    assert neutral(text).removeprefix("> ") == text


def test_the_issue_of_the_scenario() -> None:
    result = inert("Closes #1, fixes org/other#2, resolves https://github.com/o/r/issues/3")
    assert LIVE_CLOSING.search(result) is None
    assert result.replace(WORD_JOINER, "") == (
        "Closes #1, fixes org/other#2, resolves https://github.com/o/r/issues/3"
    )


# -- what is loaded, run or rendered ----------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "![x](https://evil/p.png)",
        "![x][ref]",
        "![x][]",
        "![x]",
        "![x]\n(https://evil/p.png)",
        "![a[b]c](https://evil/p.png)",
        "![x](https://evil/(p).png)",
        "![![a](b)](https://evil/p.png)",
        "!![a](b)[x](https://evil/p.png)",
        "!\u200b[x](https://evil/p.png)",
        "![x](<https://evil/p q.png>)",
        "[![x](https://evil/p.png)](https://evil)",
    ],
)
@pytest.mark.parametrize("neutral", NEUTRALISERS[:2], ids=["inert", "quoted"])
def test_no_image_is_loaded(neutral: Callable[[str], str], text: str) -> None:
    assert "![" not in neutral(text)


def test_a_simple_image_leaves_its_description() -> None:
    assert inert("before ![a cat](https://evil/p.png) after") == "before a cat after"


@pytest.mark.parametrize(
    "text",
    [
        "<img src=x onerror=alert(1)>",
        "</details><h1>Verified</h1>",
        "<details open>",
        "<script>alert(1)</script>",
        "<javascript:alert(1)>",
        "<https://example.org>",
        "<<b>b>",
        "<!<!-- -->-- x -->",
        "&lt;b&gt;",
        "<\u200bimg src=x>",
        "<a\nhref=x>",
        "<?php ?> <![CDATA[x]]> <!DOCTYPE x>",
    ],
)
def test_no_html_is_left(text: str) -> None:
    for result in (inert(text), quoted(text)):
        assert "<" not in result
        assert re.search(r"&(?!amp;|lt;)", result) is None


def test_entities_show_what_was_written() -> None:
    assert inert("&lt;b&gt; &amp; &copy;") == "&amp;lt;b&gt; &amp;amp; &amp;copy;".replace("&gt;", "&amp;gt;")


@pytest.mark.parametrize(
    "scheme", ["javascript:alert(1)", "JavaScript:alert(1)", "vbscript:x", "data:text/html;base64,x"]
)
def test_a_link_that_runs_is_broken(scheme: str) -> None:
    assert f"]({scheme})" not in inert(f"[click]({scheme})")
    assert re.search(r"(?i)(script|data):[a-z]", inert(f"[click]({scheme})")) is None


@pytest.mark.parametrize(
    "text",
    [
        "# Verified",
        "   ### Verified",
        "####### seven",
        "> # Verified",
        "- # Verified",
        "1. # Verified",
        "Verified\n========",
        "Verified\n---",
        "Verified\n-",
        "Verified\n-   ",
        "> Verified\n> ===",
        "- [x] All tests pass",
        "* [ ] to do",
        "1) [X] done",
        "- - [x] nested",
        "[!NOTE]\nAll is well",
        "> [!TIP]",
        "***",
        "- - -",
        "a | b\n--|--",
        "| a |\n|:-:|",
        "[x]: https://evil 'title",
        "[^1]: footnote",
        "/merge",
        "/assign @me",
        "  /close",
    ],
)
def test_no_block_can_be_taken_for_ours(text: str) -> None:
    assert BEGINS_A_BLOCK.search(text), "the pattern must know this input"
    assert BEGINS_A_BLOCK.search(inert(text)) is None
    assert BEGINS_A_BLOCK.search(re.sub(r"(?m)^> ?", "", quoted(text))) is None
    assert inert(text).replace(WORD_JOINER, "").replace("&lt;", "<") == text


@pytest.mark.parametrize(
    "text",
    ["/usr/lib/python3 is missing", "a # b", "see [x] there", "a - b", "- item", "1. item", "2024-01-01"],
)
def test_ordinary_lines_keep_their_form(text: str) -> None:
    assert inert(text) == text


@pytest.mark.parametrize(
    "text", ["```\ncode", "~~~~\ncode", "- ```\n  code", "> ```", "text\n   ````python\nx"]
)
def test_inert_prose_cannot_swallow_what_follows_it(text: str) -> None:
    assert BEGINS_A_FENCE.search(inert(text)) is None


def test_a_quotation_keeps_code_blocks_inside_itself() -> None:
    assert quoted("```\ncode\n```") == "> ```\n> code\n> ```"
    assert all(line.startswith(">") for line in quoted("a\n\n```\nnever closed\n\n# x").splitlines())


def test_an_empty_quotation_says_so() -> None:
    assert quoted("") == quoted(" \n\t\n") == quoted("<!-- x -->") == quoted("\u200b") == "> (nothing)"


@pytest.mark.long
@given(markup)
def test_a_quotation_is_one_block(text: str) -> None:
    lines = quoted(text).split("\n")
    assert all(line.startswith("> ") for line in lines)
    assert "\r" not in quoted(text)


@given(markup)
def test_whatever_is_written_nothing_is_live(text: str) -> None:
    for result in (inert(text), quoted(text)):
        assert LIVE_MENTION.search(result) is None
        assert LIVE_REFERENCE.search(result) is None
        assert LIVE_CLOSING.search(result) is None
        assert "<" not in result
        assert "![" not in result
    assert BEGINS_A_BLOCK.search(inert(text)) is None
    assert BEGINS_A_FENCE.search(inert(text)) is None
    title = inert_line(text, 80)
    assert LIVE_MENTION.search(title) is None
    assert LIVE_CLOSING.search(title) is None


@given(markup)
def test_inert_text_stays_inert_when_it_is_made_one_line(text: str) -> None:
    line = one_line(inert(text), 10_000)
    assert LIVE_MENTION.search(line) is None
    assert LIVE_REFERENCE.search(line) is None
    assert LIVE_CLOSING.search(line) is None
    assert LIVE_MENTION.search(visible(visible(inert(text)))) is None


# -- code blocks ------------------------------------------------------------------------------------


def closes_after(block: str) -> int:
    """Return how many lines a Markdown reader takes for the fenced block that the text begins with."""
    lines = block.split("\n")
    ticks = len(lines[0]) - len(lines[0].lstrip("`"))
    closing = re.compile(rf" {{0,3}}`{{{ticks},}}[ \t]*")
    return next(n for n, line in enumerate(lines[1:], 2) if closing.fullmatch(line.rstrip("\r")))


@pytest.mark.parametrize(
    "text",
    [
        "```",
        "````",
        "`" * 10,
        "`" * 5000,
        "~~~",
        "```python\nx\n```",
        "</details><h1>Verified</h1>",
        "- [x] All tests pass",
        "![x](https://evil/p.png)",
        "",
        "\n\n",
        "a\r```\rb",
        "   ```   ",
    ],
)
def test_nothing_inside_closes_a_code_block(text: str) -> None:
    block = fence(text, "text")
    assert closes_after(block) == len(block.split("\n"))
    assert block.startswith("```")
    assert text.rstrip() in block


@given(markup, st.sampled_from(["", "diff", "python"]))
def test_no_text_closes_a_code_block(text: str, language: str) -> None:
    block = fence(text, language)
    assert closes_after(block) == len(block.split("\n"))
    assert block.split("\n", 1)[0].lstrip("`") == language


# -- hidden and broken characters -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a<!-- hidden -->b", "ab"),
        ("a<!-- never closed", "a"),
        ("a<!--\n\nlong\n-->b", "ab"),
        ("a\u200bb\u202ec\u2066d\ufeff", "abcd"),
        ("tag\U000e0041\U000e0042s", "tags"),
        ("smuggled\ufe00\ufe01\U000e0100", "smuggled"),
        ("soft\u00adhyphen", "softhyphen"),
        ("blank\u3164\u115f", "blank"),
        ("ig\u2060nore", "ignore"),
        ("[//]: # (hidden words)\nseen", "\nseen"),
        ('[a]: <> "hidden"\nseen', "\nseen"),
        ("[a]: https://example.org\nseen", "[a]: https://example.org\nseen"),
        ("one\rtwo\r\nthree", "one\ntwo\nthree"),
    ],
)
def test_visible_is_what_a_reader_sees(text: str, seen: str) -> None:
    assert visible(text) == seen


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("caf\ufffd \x00end", "caf\ufffd end"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[38;2;1;2;3mx\x1b[K", "x"),
        ("\x9b31mred", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]0;title\x1b\\text", "text"),
        ("\x9d0;title\x9ctext", "text"),
        ("\x1b]8;;https://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bP1$r0m\x1b\\x", "x"),
        ("\x1b(B\x1b[mplain", "plain"),
        ("\x1b7saved\x1b8", "saved"),
        ("\x1b]0;never ended\nFAILED test_x", "0;never ended\nFAILED test_x"),
        ("\x1b", ""),
        ("10 %\r50 %\r100 %\ndone", "100 %\ndone"),
        ("100 %\r", "100 %"),
        ("windows\r\ntwice\r\r\nend", "windows\ntwice\nend"),
        ("\ud800lone", "?lone"),
        ("a\u2028b\u2029c\x85d", "abcd"),
        ("tab\tstays", "tab\tstays"),
        ("\x1b\x1b[0m[31m", "[31m"),
    ],
)
def test_command_output_becomes_plain(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_a_progress_bar_collapses_to_its_last_state() -> None:
    bar = "".join(f"\rstep {n} of 2000" for n in range(2001))
    assert plain(f"start\n{bar}\nend") == "start\nstep 2000 of 2000\nend"


@given(st.text(st.characters(), max_size=60) | markup)
def test_plain_text_can_be_stored_and_shown(text: str) -> None:
    result = plain(text)
    result.encode("utf-8")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", result)
    assert plain(result) == result
    assert visible(text).encode("utf-8") is not None


# -- lengths ----------------------------------------------------------------------------------------


@given(st.text(max_size=300), st.integers(-5, 200))
def test_a_clipped_text_is_never_longer_and_counts_right(text: str, limit: int) -> None:
    result = clip(text, limit)
    assert len(result) <= max(limit, 0) or result == text
    left_out = re.search(r"\n\[… (\d+) characters left out …\]\n", result)
    if result != text and left_out:
        head, _, tail = result.partition(left_out[0])
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len(head) + len(tail) + int(left_out[1]) == len(text)


@pytest.mark.parametrize("limit", [60, 100, 1000, 9999])
def test_what_was_left_out_is_counted_right(limit: int) -> None:
    result = clip("x" * 10_000, limit)
    said = re.search(r"\[… (\d+) characters left out …\]", result)
    assert said
    assert int(said[1]) + result.split(said[0])[0].count("x") + result.split(said[0])[1].count("x") == 10_000
    assert len(result) <= limit


@pytest.mark.parametrize("length", [65_535, 65_536, 65_537, 300_000])
def test_a_body_fits_the_forge_limit(length: int) -> None:
    result = clip("x" * length, 65_536)
    assert len(result) == min(length, 65_536) or len(result) <= 65_536
    assert ("left out" in result) == (length > 65_536)


def test_four_byte_characters_are_not_split() -> None:
    result = clip("😀" * 60_000, 1000)
    assert set(result) <= set("😀\n[… 0123456789characters left out …]")
    assert result.encode("utf-8").decode("utf-8") == result


@given(st.text(max_size=120) | markup, st.integers(-2, 60))
def test_one_line_is_one_short_line(text: str, limit: int) -> None:
    result = one_line(text, limit)
    assert len(result) <= max(0, limit)
    assert len(result.splitlines()) <= 1
    assert result == result.strip()
    assert len(inert_line(text, limit)) <= max(0, limit)


@pytest.mark.parametrize(
    ("title", "limit", "line"),
    [
        ("x" * 256, 255, "x" * 254 + "…"),
        ("two\nlines\ttab  spaces ", 80, "two lines tab spaces"),
        ("", 80, ""),
        ("short", 5, "short"),
        ("e\u0301" * 4, 6, "e\u0301e\u0301…"),
        ("ab👍\U0001f3fdcd", 4, "ab…"),
        ("a b", 2, "a…"),
        ("ab", 1, "…"),
        ("ab", 0, ""),
    ],
)
def test_titles_are_cut_at_a_character(title: str, limit: int, line: str) -> None:
    assert one_line(title, limit) == line


def test_a_family_of_joined_emoji_survives_as_its_members() -> None:
    assert one_line("👨\u200d👩\u200d👧", 80) == "👨👩👧"


@pytest.mark.parametrize("mark", ["[skip ci]", "[ci skip]", "[no ci]", "[Skip Actions]", "[actions skip]"])
def test_a_title_does_not_switch_checks_off(mark: str) -> None:
    assert mark not in inert_line(f"fix it {mark}", 80)
    assert inert_line(f"fix it {mark}", 80).replace(WORD_JOINER, "") == f"fix it {mark}"


def test_a_title_is_not_escaped() -> None:
    assert inert_line("`a < b` & c", 80) == "`a < b` & c"


# -- size -------------------------------------------------------------------------------------------

HOSTILE = [
    "![",
    "![a](",
    "![a][",
    "[",
    "[a]: b (",
    "[\\",
    "<!--",
    "-->",
    "@",
    "#",
    "fix ",
    "fix.",
    "fix.a/",
    "fix #",
    "fix:",
    "- ",
    "> ",
    "1. ",
    "- - ",
    "1. - ",
    "- 1. > ",
    "| ",
    "`",
    "~",
    " ",
    "\t\n",
    "\r",
    "a\r",
    "\x1b",
    "\x1b]",
    "\x1b[",
    "\x1b[1;",
    "\x1bP",
    "\x9d",
    "\x9b",
    "&",
    "javascript:",
    "data:a",
    "/a",
    WORD_JOINER,
    "a" + WORD_JOINER,
    "e\u0301",
    "a",
]


@pytest.mark.parametrize("piece", HOSTILE, ids=ascii)
def test_repeated_marks_are_read_in_linear_time(piece: str) -> None:
    """A pattern that is not linear makes this suite hang; one that is takes a tenth of a second."""
    text = piece * (30_000 // len(piece))
    for start in ("fix ", "[x]: "):
        inert(start + text)
    quoted(text)
    inert_line(text, 80)
    assert len(clip(text, 1000)) <= 1000


@pytest.mark.long
@pytest.mark.parametrize("piece", ["![", "fix ", "a\r", "x"], ids=ascii)
def test_a_megabyte_of_anything_ends(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    assert len(inert(text)) > 0
    assert len(plain(text)) <= len(text)
    assert fence(text).endswith("`")


@pytest.mark.parametrize(
    "text",
    [
        "[skip ci]",
        "[ci skip]",
        "[no ci]",
        "[skip-ci]",
        "[skip azurepipelines]",
        "[travis skip]",
        "***NO_CI***",
    ],
)
def test_words_to_ci_are_parted_in_prose_too(text: str) -> None:
    """A squashed merge makes a commit message of a pull request's text."""
    assert text not in inert(f"x {text} y") and text not in inert_line(f"x {text} y", 80)


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/o/r/issues/3",
        "https://github.com/o/r/pull/3#issuecomment-1",
        "http://forge.local:3000/o/r/pulls/3",
        "https://gitlab.com/a/b/-/merge_requests/3",
    ],
)
def test_addresses_of_issues_elsewhere_leave_no_trace_there(url: str) -> None:
    shown = inert(f"See {url} and https://docs.example/issues/about")
    assert url not in shown and "https://docs.example/issues/about" in shown


def test_a_flood_of_marks_is_dammed() -> None:
    assert visible("Z" + "\u0301" * 5000 + "algo") == "Z" + "\u0301" * 6 + "algo"
    assert visible("e\u0301a\u0308\u0323") == "e\u0301a\u0308\u0323"


def test_a_reader_who_decides_sees_the_unseen() -> None:
    assert revealed("a\u202eb\u200b\U000e0041c\x1b[31m") == "a⟨U+202E⟩b⟨U+200B⟩⟨U+E0041⟩c"
    assert (
        revealed("x = 1" + " " * 80 + "evil()\n" + " " * 60 + "y")
        == "x = 1 ⟨80 blanks⟩ evil()\n" + " " * 60 + "y"
    )
