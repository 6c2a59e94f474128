"""Links in Markdown and reStructuredText: which of them lead to a file or a heading that is not there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import unquote

MARKDOWN = frozenset({".md", ".markdown", ".mdown"})
DOCUMENTS = MARKDOWN | {".rst"}
MAX_TEXT = 2 * 2**20
_BUILDERS = frozenset(
    {
        *("mkdocs.yml", "mkdocs.yaml", "conf.py", "_config.yml", "book.toml", "antora.yml", "hugo.toml"),
        *("docusaurus.config.js", "docusaurus.config.ts", "astro.config.mjs", "_quarto.yml", "config.toml"),
    }
)
"""Files of documentation builders: each has rules of its own for addresses and headings."""

_FENCE = re.compile(r"^[ ]{0,3}(`{3,}|~{3,})")
_CODE = re.compile(r"(`+)(?!`)[^\n]{0,2000}?(?<!`)\1(?!`)")
_INLINE = re.compile(
    r"\]\(\s{0,4}<?([^\s()<>]{1,1000}(?:\([^\s()]{0,200}\)[^\s()<>]{0,200})?)>?(?:\s{1,4}[\"'(][^\n]{0,300})?\s{0,4}\)"
)
_DEFINED = re.compile(r"^[ ]{0,3}\[[^\]\n]{1,300}\]:\s{0,4}<?([^\s<>]{1,1000})>?", re.MULTILINE)
_RST = re.compile(
    r"`[^`<\n]{0,300}<([^>\s]{1,1000})>`__?(?!\w)"
    r"|^[ \t]*\.\. (?:image|figure|include|literalinclude)::[ \t]+(\S{1,500})",
    re.MULTILINE,
)
_HEADING = re.compile(
    r"^[ ]{0,3}#{1,6}[ \t]+(.{1,500}?)[ \t]*#*[ \t]*$|^([^\n]{1,500})\n(?:=+|-+)[ \t]*$", re.MULTILINE
)
_NAMED = re.compile(
    r"""<\w{1,20}\s[^>]{0,500}?\b(?:id|name)\s{0,3}=\s{0,3}["']([^"'>]{1,200})["']|\{#([\w:.-]{1,200})\}"""
)
_OUTSIDE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//|/|[{$%<@]")


@dataclass(frozen=True, slots=True)
class Site:
    """A tree as links see it: which paths it has, and what a document says."""

    paths: frozenset[str]
    read: Callable[[str], str]

    @property
    def has_builder(self) -> bool:
        """Whether a documentation builder is configured: then only plain files are checked."""
        return any(path.rsplit("/", 1)[-1] in _BUILDERS for path in self.paths)

    def holds(self, path: str) -> bool:
        """Tell whether a file or a directory is there."""
        return path in self.paths or path == "" or any(known.startswith(path + "/") for known in self.paths)


def broken_links(document: str, site: Site) -> frozenset[str]:
    """Return the links of a document, as they are written, that lead nowhere in this tree."""
    text = site.read(document)[:MAX_TEXT]
    is_markdown = PurePosixPath(document).suffix in MARKDOWN
    strict = not site.has_builder
    links = _markdown_links(text) if is_markdown else _rst_links(text)
    return frozenset(link for link in links if not _leads(link, document, site, strict=strict))


def _markdown_links(text: str) -> Iterator[str]:
    prose = _CODE.sub("", _without_comments(_without_fences(text)))
    yield from _INLINE.findall(prose)
    yield from _DEFINED.findall(prose)


def _rst_links(text: str) -> Iterator[str]:
    for named, included in _RST.findall(text):
        yield named or included


def _without_comments(text: str) -> str:
    kept: list[str] = []
    position = 0
    while (start := text.find("<!--", position)) >= 0:
        kept.append(text[position:start])
        end = text.find("-->", start)
        if end < 0:
            return "".join(kept)
        position = end + 3
    return "".join(kept) + text[position:]


def _without_fences(text: str) -> str:
    kept: list[str] = []
    closing = ""
    for line in text.splitlines():
        match = _FENCE.match(line)
        if closing:
            if match and match[1].startswith(closing) and line.strip() == match[1]:
                closing = ""
            continue
        if match:
            closing = match[1]
            continue
        kept.append(line)
    return "\n".join(kept)


def _leads(link: str, document: str, site: Site, *, strict: bool) -> bool:
    if _OUTSIDE.match(link) or "{{" in link or link.endswith("_"):
        return True
    path, _, anchor = link.partition("#")
    path = unquote(path.partition("?")[0])
    target = _resolved(document, path) if path else document
    if target is None:
        return True  # it leaves the repository
    if not site.holds(target):
        return not _is_plain_file(target, strict=strict)
    is_checked = strict and anchor and PurePosixPath(target).suffix in MARKDOWN and target in site.paths
    return not is_checked or unquote(anchor).lower() in _anchors(site.read(target)[:MAX_TEXT])


def _is_plain_file(target: str, *, strict: bool) -> bool:
    """Tell whether a target surely means a file as it lies there; a builder makes pages of others."""
    suffix = PurePosixPath(target).suffix.lower()
    if not strict:
        return suffix in MARKDOWN
    return bool(suffix) and suffix not in {".html", ".htm"}


def _resolved(document: str, path: str) -> str | None:
    parts = list(PurePosixPath(document).parts[:-1])
    for part in path.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts)


def _anchors(text: str) -> set[str]:
    """Return the names that headings and marks of a document have, as the common renderers make them."""
    found: set[str] = set()
    seen: dict[str, int] = {}
    prose = _without_fences(text)
    for heading in _HEADING.findall(prose):
        title = re.sub(r"\[([^\]]{0,300})\]\([^)]{0,500}\)", r"\1", next(filter(None, heading)))
        title = re.sub(r"<[^>]{0,300}>|[`*~]", "", title).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        found |= {f"{slug}-{count}" if count else slug, re.sub(r"-{2,}", "-", slug).strip("-")}
    found |= {(by_tag or by_mark).lower() for by_tag, by_mark in _NAMED.findall(text)}
    return found | {"", "top"}
