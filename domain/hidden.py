"""Leaves out what a page's markup hides from its reader: alternative texts, titles, attributes, definitions.

What stands in code is shown as it is, and stays. Every pass is linear.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

from domain.text import visible

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_DEFINITION = re.compile(r" {0,3}\[([^\[\]\n]{1,999})\]:")
_LABEL = re.compile(r"\[([^\[\]\n]{1,999}+)\]")
_ON = r"\n(?![ \t]*+\n)"
"""A line break inside of a paragraph: an alternative text and a title go on over it."""

_IMAGE = re.compile(
    rf"!\[(?:[^\[\]\n]|{_ON}|\[[^\[\]\n]*+\])*+\](?:\((?:[^()\n]|{_ON})*+\)|\[[^\[\]\n]*+\])?"
)
_TITLED = re.compile(
    rf"\]\(([^\s()]*+)[ \t\n]++(?:\"(?:[^\"\n]|{_ON})*+\"|'(?:[^'\n]|{_ON})*+'|\((?:[^()\n]|{_ON})*+\))\s*+\)"
)
_OPENED_TITLE = re.compile(r"\s([\"'(])[^\"'()]*$")
_UNSEEN_MARKUP = re.compile(r"<\?[^>]*+>|<!\[CDATA\[[^>]*+>|<![A-Za-z][^>]*+>")
_TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9-]*+)(\s[^<>]*+)?/?>")
_HIDING = re.compile(
    r"(?:^|\s)hidden(?:\s|=|$)|aria-hidden\s*=\s*[\"']?true|display\s*:\s*none|visibility\s*:\s*hidden"
    r"|font-size\s*:\s*0|opacity\s*:\s*0(?![.\d])",
    re.IGNORECASE,
)
_TARGET = re.compile(r"(?:^|\s)(href|src)\s*=\s*(\"[^\"\s]*+\"|'[^'\s]*+'|[^\s\"'>]++)", re.IGNORECASE)
_ENTITY = re.compile(
    r"&(?:#(\d{1,7})|#[xX]([0-9A-Fa-f]{1,6})|(zwj|zwnj|lrm|rlm|shy|ZeroWidthSpace|NoBreak));?"
)
_BACKTICKS = re.compile(r"(`++)")
_VOID = frozenset({"img", "br", "hr", "input", "source", "wbr", "meta", "link"})


def as_read(text: str) -> str:
    """Return Markdown as a reader of its page sees it, as near as can be told without drawing the page.

    What only looks like code to us may be hidden there, and stays: this takes temptations away, and is no
    wall. Whoever reads the result reads it as data all the same.
    """
    chunks = _chunks(visible(text).split("\n"))
    used = Counter(label.casefold() for _, chunk in chunks for label in _LABEL.findall(chunk))
    return "\n".join(chunk if is_code else _prose(chunk, used) for is_code, chunk in chunks)


def _chunks(lines: list[str]) -> list[tuple[bool, str]]:
    """Cut lines into (is code, text): code blocks with their fences, and the rest."""
    chunks: list[tuple[bool, list[str]]] = [(False, [])]
    closing = ""
    for line in lines:
        found = _FENCE.match(line)
        if closing:
            chunks[-1][1].append(line)
            if found and found[1].startswith(closing) and not line[found.end() :].strip(" \t" + closing[0]):
                closing = ""
                chunks.append((False, []))
        elif found and not (found[1][0] == "`" and "`" in line[found.end() :]):
            closing = found[1]
            chunks.append((True, [line]))
        else:
            chunks[-1][1].append(line)
    return [(is_code, "\n".join(held)) for is_code, held in chunks if held]


def _prose(text: str, used: Counter[str]) -> str:
    return _outside_spans("\n".join(_shown_lines(text.split("\n"), used)), _unhidden)


def _shown_lines(lines: list[str], used: Counter[str]) -> Iterator[str]:
    """Leave out unused definitions, with titles that go on over the lines that follow."""
    closing = ""
    for line in lines:
        if closing and line.strip():
            closing = "" if closing in line else closing
            continue
        closing = ""
        if not _is_unused_definition(line, used):
            yield line
        elif opened := _OPENED_TITLE.search(line):
            closing = ")" if opened[1] == "(" else opened[1]


def _is_unused_definition(line: str, used: Counter[str]) -> bool:
    """Tell whether a line defines a link or a footnote that nothing refers to: such a line shows nothing."""
    found = _DEFINITION.match(line)
    return found is not None and used[found[1].casefold()] < 2


def _outside_spans(text: str, change: Callable[[str], str]) -> str:
    """Change what stands outside of code spans: between runs of as many backticks as opened them."""
    parts = _BACKTICKS.split(text)
    closes: dict[str, list[int]] = {}
    for place in range(len(parts) - 2, 0, -2):
        closes.setdefault(parts[place], []).append(place)
    changed: list[str] = []
    prose_from = place = 0
    while place < len(parts):
        ends = closes.get(parts[place], []) if place % 2 else []
        while ends and ends[-1] <= place:
            ends.pop()
        if not ends:
            place += 1
            continue
        changed += [change("".join(parts[prose_from:place])), *parts[place : ends[-1] + 1]]
        prose_from = place = ends[-1] + 1
    return "".join([*changed, change("".join(parts[prose_from:]))])


def _unhidden(text: str) -> str:
    text = _ENTITY.sub(_without_shape, text)
    text = _TITLED.sub(r"](\1)", _IMAGE.sub("[image]", _UNSEEN_MARKUP.sub("", text)))
    return _without_attributes(text)


def _without_shape(entity: re.Match[str]) -> str:
    code = int(entity[1]) if entity[1] else int(entity[2], 16) if entity[2] else 0x200B
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        return entity[0]
    return entity[0] if visible(f"a{chr(code)}b") != "ab" else ""


def _without_attributes(text: str) -> str:
    """Return text with bare tags, and without the elements that their attributes hide."""
    kept: list[str] = []
    place = 0
    unclosed: set[str] = set()
    lowered = text.lower()
    for tag in _TAG.finditer(text):
        if tag.start() < place:
            continue
        kept.append(text[place : tag.start()])
        place = tag.end()
        name, attributes = tag[2].lower(), tag[3] or ""
        if not tag[1] and _HIDING.search(attributes) and name not in _VOID and name not in unclosed:
            end = lowered.find(f"</{name}", place)
            if end >= 0:
                place = (lowered.find(">", end) + 1) or len(text)
                continue
            unclosed.add(name)
        kept.append(_bare(tag, name, attributes))
    return "".join([*kept, text[place:]])


def _bare(tag: re.Match[str], name: str, attributes: str) -> str:
    if name == "img":
        return "[image]"
    if not attributes.strip(" \t\n/"):
        return tag[0]
    target = _TARGET.search(attributes) if name == "a" else None
    return f"<{tag[1]}{tag[2]}{f' {target[1]}={target[2]}' if target else ''}>"
