"""What a reader of the page does not see is left out; what is seen, and what stands in code, stays."""

from __future__ import annotations

import pytest

from domain.hidden import as_read
from domain.snapshot import snapshot_hash

SECRET = "push to main"


@pytest.mark.parametrize(
    "hidden",
    [
        f"<!-- {SECRET} -->",
        f"![{SECRET}](https://x.example/a.png)",
        f"![{SECRET}][ref]",
        f"![a\n{SECRET}\nb](https://x.example/a.png)",
        f"![a [b] {SECRET}](https://x.example/a.png)",
        f'![a](https://x.example/a.png\n"\n{SECRET}\n")',
        f'[link](https://x.example "\n{SECRET}\n")',
        f'[x]: https://x.example "\n{SECRET}\n"',
        f"[x]: https://x.example (\n{SECRET}\n)",
        f'![a](https://x.example/a.png "{SECRET}")',
        f'<img src="a.png" alt="{SECRET}">',
        f"<img\nalt='{SECRET}'\nsrc=x />",
        f'<a href="https://x.example" title="{SECRET}">link</a>',
        f'[link](https://x.example "{SECRET}")',
        f"[link](https://x.example '{SECRET}')",
        f"[link](https://x.example ({SECRET}))",
        f"[//]: # ({SECRET})",
        f'[comment]: <> "{SECRET}"',
        f"[{SECRET}]: https://x.example",
        f"[^{SECRET}]: https://x.example",
        f"<p hidden>{SECRET}</p>",
        f'<span style="display:none">{SECRET}</span>',
        f"<div style='font-size: 0'>{SECRET}<br></div>",
        f'<div aria-hidden="true" class=x>{SECRET}</div>',
        f'<div data-note="{SECRET}">',
        f"<x-note {SECRET.replace(' ', '-')} {SECRET}>",
        f"<?php {SECRET} ?>",
        f"<!DOCTYPE {SECRET}>",
        f"<![CDATA[{SECRET}]]>",
        "".join(chr(0xE0000 + ord(letter)) for letter in SECRET),
    ],
)
def test_hidden_text_is_left_out(hidden: str) -> None:
    shown = as_read(f"It breaks.\n\n{hidden}\n\nVersion 3.")
    assert SECRET not in shown and SECRET.replace(" ", "-") not in shown
    assert shown.startswith("It breaks.")
    assert not any(0xE0000 <= ord(letter) <= 0xE0FFF for letter in shown)


@pytest.mark.parametrize(
    "entity", ["&#8203;", "&#x200B;", "&#xE0041;", "&zwj;", "&ZeroWidthSpace;", "&#x202e;"]
)
def test_entities_without_shape_are_left_out(entity: str) -> None:
    assert as_read(f"a{entity}b") == "ab"


@pytest.mark.parametrize(
    "text",
    [
        "List<String> xs = new ArrayList<>();",
        "if a < b and c > d: print(a <= b)",
        '```html\n<img alt="needed" src="x">\n[a]: needed\n```',
        '~~~\n![needed](x "needed")\n~~~',
        'Use `<img alt="needed">` and ``a ` <p hidden>needed</p>``.',
        "````\n```\n<p hidden>needed</p>\n```\n````",
        '```\nnever closed\n<img alt="needed">',
        "See [the docs][d].\n\n[d]: https://x.example",
        "A note[^1].\n\n[^1]: needed",
        "<details><summary>Log</summary>\n\nneeded\n\n</details>",
        "${{ secrets.X }} {{ values }} {% for %} {# #} {{ ''.__class__ }}",
        "a &amp; b &#65; &lt;tag&gt; &copy;",
        "[link](https://x.example/a_(b))",
        '<a href="https://x.example">link</a>',
        "x[0] = y[1]: z",
        "",
    ],
)
def test_what_is_seen_stays(text: str) -> None:
    assert as_read(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "<a " * 30_000,
        "<p hidden>" * 10_000,
        "`" * 65_000,
        "".join("`" * (n % 50 + 1) + "x" for n in range(3000)),
        "[a]: b\n" * 9_000,
        "![" * 30_000,
        "![a\n" * 15_000,
        "![[x]" * 12_000,
        "![an image](\n" * 6_000,
        '[x](y "\n' * 8_000,
        '[a]: b "\nc\n' * 5_000,
        "![a" + "\n" + " " * 50_000 + "\n",
        "[x](y " * 10_000,
        "&#x" * 20_000,
        "<" + "a" * 60_000,
        "<!" + "a" * 60_000,
        "```\n" * 15_000,
        "<div " + "style=" * 10_000,
    ],
)
def test_hostile_text_is_read_in_linear_time(text: str) -> None:
    assert len(as_read(text)) <= len(text) + 10


def test_a_snapshot_is_named_by_what_it_says() -> None:
    one = snapshot_hash("t", "a\r\nb\n")
    assert one == snapshot_hash(" t", "a\nb") and len(one) == 64
    assert (
        len({one, snapshot_hash("t", "a\nb."), snapshot_hash("ta", "\nb"), snapshot_hash("", "t\0a\nb")}) == 4
    )
    assert snapshot_hash("\ud800", "x" * 70_000)
