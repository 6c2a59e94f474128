"""Links in documents: which lead somewhere, and which do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from domain.model import Category
from harness.document_links import Site, broken_links
from tests.harness.test_verify import BASE, Bench

FILES = {
    "README.md": "# Lamp\n\n## How it works\n\n## How it works\n\n### `on()` & off\n\n<a id='mark'></a>\n",
    "docs/guide.md": "Guide\n=====\n\ntext\n\n## Set-up, quickly!\n",
    "docs/img/a b.png": "",
    "docs/deep/index.md": "",
    "LICENSE": "",
}


def broken(text: str, path: str = "docs/page.md", **more: str) -> set[str]:
    files = {**FILES, path: text, **more}
    return set(broken_links(path, Site(frozenset(files), lambda name: files[name])))


@pytest.mark.parametrize(
    "text",
    [
        "[a](guide.md) [b](./guide.md) [c](../README.md) [d](../LICENSE) [e](deep/) [f](deep)",
        "[a](guide.md#set-up-quickly) [b](guide.md#guide)",
        "[a](../README.md#how-it-works) [b](../README.md#how-it-works-1) [c](../README.md#on--off)",
        "[a](../README.md#mark) [t](#top) [m](../README.md#MARK)",
        "![i](img/a%20b.png) ![i](<img/a%20b.png>) [t](guide.md 'Title')",
        "[x]: guide.md\n\n[x]",
        "[a](https://example.org/nowhere.md) [b](mailto:a@b.c) [c](//host/x.md) [d](/rooted/x.md)",
        "[a]({{ site.url }}/x.md) [b](<% x %>) [c](${x}.md)",
        "`[a](nowhere.md)` ``[a](nowhere.md)``\n```\n[a](nowhere.md)\n```\n<!-- [a](nowhere.md) -->\n",
        "~~~md\n[a](nowhere.md)\n```\n[b](nowhere.md)\n~~~\n",
        "[a](page.html) [b](install) [c](../../outside.md)",
        "[a](guide.md?plain=1)",
        "[call](fn) and a[0](x)",
        "",
    ],
)
def test_links_that_lead_somewhere_or_elsewhere(text: str) -> None:
    assert broken(text) == set()


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("[a](nowhere.md)", "nowhere.md"),
        ("![a](img/none.png)", "img/none.png"),
        ("[a](README.md)", "README.md"),
        ("[a](guide.md#nowhere)", "guide.md#nowhere"),
        ("[a](#nowhere)", "#nowhere"),
        ("[x]: nowhere.md", "nowhere.md"),
        ("```\ncode\n```\n[a](nowhere.md)", "nowhere.md"),
        ("[a](deep/nowhere.md 'Title')", "deep/nowhere.md"),
    ],
)
def test_links_that_lead_nowhere(text: str, link: str) -> None:
    assert broken(text) == {link}


def test_a_builder_has_its_own_rules_for_headings() -> None:
    text = "[a](guide.md#its-own) [b](img/generated.png) [c](nowhere.md)"

    assert broken(text, **{"mkdocs.yml": ""}) == {"nowhere.md"}


def test_restructured_text() -> None:
    text = ".. image:: img/none.png\n\n`a <nowhere.rst>`_ `b <guide.md>`__ `c <https://example.org>`_\n"

    assert broken(text, "docs/page.rst") == {"img/none.png", "nowhere.rst"}


@pytest.mark.parametrize(
    "piece", ["[", "](", "[a](", "`", "``` \n", "#", "<!--", "[a]: ", "a\n=", "(((", "](<", "{#"]
)
def test_a_hostile_document_is_read_at_once(piece: str) -> None:
    broken(piece * (100_000 // len(piece)))


@pytest.mark.long
def test_documentation_with_a_new_broken_link_is_not_verified(tmp_path: Path) -> None:
    base = {**BASE, "README.md": "# Lamp\n\n[old](gone.md)\n", "guide.md": "# Guide\n"}
    bench = Bench(tmp_path, base)
    verdict = bench.refused({"README.md": base["README.md"] + "[new](nowhere.md)\n"}, Category.DOCS)
    assert "`README.md`: `nowhere.md`" in verdict.summary and "gone.md" not in verdict.summary

    bench.verified({"README.md": base["README.md"] + "[new](guide.md#guide)\n"}, Category.DOCS)
