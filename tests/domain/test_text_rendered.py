"""Neutralised text under a real Markdown parser: what it becomes on the page, not what it looks like."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from domain.text import fence, inert, quoted

READER = MarkdownIt("gfm-like", {"html": True, "linkify": False})
"""CommonMark with tables; HTML is let through, so that a tag which survives is seen as one."""

LOUD = {"heading", "hr", "table", "html_block", "html_inline", "image", "fence"}

PIECES = st.sampled_from(
    [
        *(
            "# ",
            "## x",
            "===",
            "---",
            "- ",
            "* ",
            "+ ",
            "1. ",
            "10) ",
            "> ",
            ">",
            "    ",
            "\t",
            " ",
            "\n",
            "\n\n",
        ),
        *(
            "```",
            "````",
            "~~~",
            "`",
            "|",
            "|-|",
            ":-:",
            "***",
            "_ _ _",
            "[x] ",
            "[ ] ",
            "![",
            "[a]",
            "](",
            ")",
        ),
        *(
            "[a]: /u 't'",
            "<b>",
            "<!--",
            "-->",
            "<?",
            "<![CDATA[",
            "&lt;",
            "&#35; ",
            "\\",
            "word",
            "a|b",
            "\r",
        ),
        *(
            "# Verified",
            "- [x] done",
            "\u200b",
            "\u2060",
            "\x1b[1m",
            "<https://h>",
            "=",
            "-",
            "</details>",
            "/close",
        ),
    ]
)
markdown = st.lists(PIECES, max_size=20).map("".join)


def all_tokens(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from all_tokens(token.children or [])


def kinds(text: str) -> set[str]:
    """Return what the text consists of, opening and closing taken as one."""
    return {
        token.type.removesuffix("_open").removesuffix("_close") for token in all_tokens(READER.parse(text))
    }


def outermost(text: str) -> list[str]:
    """Return the blocks that the page consists of, in order."""
    return [token.type for token in READER.parse(text) if token.level == 0 and token.nesting >= 0]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("# Verified", "heading"),
        ("Verified\n---", "heading"),
        ("***", "hr"),
        ("a|b\n-|-", "table"),
        ("<b>x", "html_inline"),
        ("</details>", "html_block"),
        ("![x](u)", "image"),
        ("~~~", "fence"),
    ],
)
def test_the_reader_sees_what_inert_takes_away(text: str, kind: str) -> None:
    assert kind in kinds(text)
    assert kind not in kinds(inert(text))


@given(markdown)
@example("- \n  ---")
@example("a\n\\---")
@example("1. a\n   ===")
@example("> a\n===")
@example("\\![x](u)")
@example("!\\[x](u)")
@example("a\n-\n")
@example("1. ---")
@example("1. - - -")
@example("- 1. - -")
@example("* x\n  1. -")
@example("- 1. ***")
@example("> - 1) a\n>      ===")
def test_inert_text_renders_as_prose(text: str) -> None:
    assert not kinds(inert(text)) & LOUD


@given(markdown)
def test_inert_text_does_not_reach_beyond_itself(text: str) -> None:
    page = READER.parse(f"{inert(text)}\n\n# How this was tested\n\n- all green\n")
    headings = [token for token in page if token.type == "heading_open"]
    assert [token.level for token in headings] == [0]


@given(markdown)
@example("1. - - -")
def test_a_quotation_renders_as_one_quotation(text: str) -> None:
    assert outermost(f"{quoted(text)}\n\n# Ours") == ["blockquote_open", "heading_open"]
    assert not kinds(quoted(text)) & (LOUD - {"fence"})


@given(markdown)
def test_a_fence_renders_as_one_code_block(text: str) -> None:
    tokens = READER.parse(f"before\n\n{fence(text, 'text')}\n\n# Ours")
    assert [token.type for token in tokens if token.level == 0 and token.nesting >= 0] == [
        "paragraph_open",
        "fence",
        "heading_open",
    ]


@given(markdown)
def test_a_quotation_may_hold_a_check_box_of_nobody(text: str) -> None:
    """A task list item is a list item whose paragraph begins with a box."""
    for rendered in (inert(text), quoted(text)):
        tokens = READER.parse(rendered)
        for before, paragraph, inline in zip(tokens, tokens[1:], tokens[2:], strict=False):
            if before.type == "list_item_open" and paragraph.type == "paragraph_open":
                assert not inline.content.startswith(("[ ]", "[x]", "[X]"))
