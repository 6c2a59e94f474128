"""Code blocks of documents, and whether each is written in the language that it names. Pure.

Only syntax is looked at: nothing of a document is ever run. A block that names no language, or one that is
not known here, or that is a template, is not checked, and that is counted.
"""

from __future__ import annotations

import ast
import doctest
import json
import re
import textwrap
import tomllib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from harness.document_links import MAX_TEXT

LONGEST_BLOCK = 20_000
"""Characters of a block that are read; a longer one is not checked."""

MOST_BLOCKS = 2_000
SHELL = "shell"
_LANGUAGES = {
    **dict.fromkeys(("python", "python3", "py", "py3", "pycon", "doctest", "python-console"), "python"),
    **dict.fromkeys(("bash", "sh", "shell"), SHELL),
    **dict.fromkeys(("console", "shell-session", "sh-session", "shellsession"), SHELL),
    "json": "json",
    "yaml": "yaml",
    "yml": "yaml",
    "toml": "toml",
}
_FENCE = re.compile(r"^([ \t]*(?:>[ \t]?)*)(`{3,}|~{3,})[ \t]*\{?\.?([\w+#.-]*)")
_DIRECTIVE = re.compile(r"^([ \t]*)\.\. (?:code-block|code|sourcecode)::[ \t]*([\w+#.-]*)[ \t]*$")
_OPTION = re.compile(r"[ \t]+:[\w-]+:")
_TEMPLATE = re.compile(r"\{\{|\{%|\{#|<%|\$\{\{")
_PLACEHOLDER = re.compile(r"<[A-Za-z][\w .:/-]{0,60}>|(?<!\.)\.\.\.(?!\.)|…")
_PROMPT = re.compile(r"^[ \t]*(?:[\w@~:/.-]{0,60}[$#]|\$) (.*)$")


@dataclass(frozen=True, slots=True)
class Block:
    """A code block: the language that it names in lower case, its text, and the line where this begins."""

    named: str
    text: str
    line: int

    @property
    def language(self) -> str:
        """One of python, shell, json, yaml, toml; "" for all others."""
        return _LANGUAGES.get(self.named, "")


def code_blocks(text: str, *, is_markdown: bool) -> list[Block]:
    """Return the code blocks of a document, in order."""
    lines = text[:MAX_TEXT].splitlines()
    found: list[Block] = []
    for block in _fenced(lines) if is_markdown else _directives(lines):
        found.append(block)
        if len(found) >= MOST_BLOCKS:
            break
    return found


def is_checkable(block: Block) -> bool:
    """Tell whether a block can be checked here: its language is known, and it is no template."""
    if not block.language or len(block.text) > LONGEST_BLOCK or _TEMPLATE.search(block.text):
        return False
    return block.language == "python" or _PLACEHOLDER.search(block.text) is None


def syntax_problem(block: Block) -> str:
    """Return what is wrong with a block, by its line in the document, or "". Shell is not known here."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _problem(block)
    except (RecursionError, MemoryError):
        return ""  # deeper than what people write: not ours to judge


def shell_text(block: Block) -> str:
    """Return what a person would type of a shell block: of a session, the lines behind its prompts."""
    typed, goes_on = [], False
    lines = block.text.splitlines()
    if not any(_PROMPT.match(line) for line in lines):
        return block.text if block.named in {"bash", "sh", "shell"} else ""
    for line in lines:
        match = _PROMPT.match(line)
        if match or goes_on:
            said = match[1] if match else line.removeprefix("> ")
            typed.append(said)
            goes_on = said.endswith("\\")
    return "\n".join(typed)


def _problem(block: Block) -> str:
    text = textwrap.dedent(block.text)
    try:
        if block.language == "python":
            for source, line in _sources(text):
                _parse(source, line)
        elif block.language == "json":
            json.loads(text) if text.strip() else None
        elif block.language == "yaml":
            for _ in yaml.compose_all(text, Loader=yaml.SafeLoader):
                pass
        elif block.language == "toml":
            tomllib.loads(text)
    except SyntaxError as error:
        return f"line {block.line + (error.lineno or 1) - 1}: {error.msg}"
    except json.JSONDecodeError as error:
        return f"line {block.line + error.lineno - 1}: {error.msg}"
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line if error.problem_mark else 0
        return f"line {block.line + line}: {error.problem or 'not YAML'}"
    except (yaml.YAMLError, tomllib.TOMLDecodeError, ValueError) as error:
        return f"line {block.line}: {str(error)[:200]}"
    return ""


def _sources(text: str) -> Iterator[tuple[str, int]]:
    """Yield the Python of a block, and the line in it where this begins: whole, or behind `>>>` each."""
    if not re.search(r"^[ \t]*>>>", text, re.MULTILINE):
        yield text, 0
        return
    for example in doctest.DocTestParser().get_examples(text):
        yield example.source, example.lineno


def _parse(source: str, line: int) -> None:
    try:
        ast.parse(source)
    except SyntaxError as error:
        if _is_signature(source):
            return
        raise SyntaxError(error.msg, ("", line + (error.lineno or 1), 0, "")) from None


def _is_signature(source: str) -> bool:
    """Tell whether this shows only how something is called: a head without a body, with a body it parses."""
    last = source.rstrip().splitlines()[-1:] or [""]
    if not re.match(r"[ \t]*(?:async[ \t]+def|def|class|with|for|if|while)\b", last[0]):
        return False
    depth = " " * (len(last[0]) - len(last[0].lstrip()) + 4)
    head = source.rstrip()
    try:
        ast.parse(f"{head}{'' if head.endswith(':') else ':'}\n{depth}...\n")
    except SyntaxError:
        return False
    return True


def _fenced(lines: list[str]) -> Iterator[Block]:
    at = 0
    while at < len(lines):
        opening = _FENCE.match(lines[at])
        at += 1
        if opening is None:
            continue
        quoted, fence, named = opening[1].count(">"), opening[2], opening[3].lower()
        start, taken = at, list[str]()
        while at < len(lines):
            line = _unquoted(lines[at], quoted)
            at += 1
            bare = line.strip()
            if bare.startswith(fence) and not bare.strip(fence[0]):
                yield Block(named, "\n".join(taken), start + 1)
                break
            taken.append(line)


def _unquoted(line: str, quoted: int) -> str:
    for _ in range(quoted):
        line = re.sub(r"^[ \t]*>[ \t]?", "", line, count=1)
    return line


def _directives(lines: list[str]) -> Iterator[Block]:
    at = 0
    while at < len(lines):
        opening = _DIRECTIVE.match(lines[at])
        is_session = lines[at].lstrip().startswith(">>> ")
        if opening is None and not is_session:
            at += 1
            continue
        if is_session:
            start = at
            while at < len(lines) and lines[at].strip():
                at += 1
            yield Block("pycon", "\n".join(lines[start:at]), start + 1)
            continue
        assert opening is not None
        depth, at = len(opening[1].expandtabs()), at + 1
        while at < len(lines) and _OPTION.match(lines[at]):
            at += 1
        start = at
        while at < len(lines) and (not lines[at].strip() or _depth(lines[at]) > depth):
            at += 1
        while start < at and not lines[start].strip():
            start += 1
        yield Block(opening[2].lower(), "\n".join(lines[start:at]), start + 1)


def _depth(line: str) -> int:
    return len(line.expandtabs()) - len(line.expandtabs().lstrip())
