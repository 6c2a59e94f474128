"""Splits a command into words as a shell would, and refuses what only a shell could do. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

SEPARATE = "send one program with its arguments, and the next one after it; every command starts in /work"
_INNER_FIRST = "run the inner command first, and write what it printed into the next one"
_SEE_ALL = "the whole output is shown to you anyway; `search` and `view` show parts of files"
_WRITE = "write files with `edit PATH`, whose OLD part may be empty for a new file"
_OPERATORS = {
    "|": _SEE_ALL,
    ">": _WRITE,
    "<": "name the file as an argument, or give text after <<'EOF' at the end of the first line",
    "&": SEPARATE,
    ";": SEPARATE,
    "(": _INNER_FIRST,
    ")": _INNER_FIRST,
    "`": _INNER_FIRST,
}
_LONGER = ("$((", "$(", "${", "<<<", "<<", "<(", ">(", ">>", "&>", "|&", "||", "&&", ";;")
_EXPANSION = re.compile(r"\$[A-Za-z0-9_@*#?!({-]")
_QUOTED_BY_DOLLAR = re.compile(r"\$['\"]")
_HERE_TEXT = re.compile(r"""[ \t]*(?<!<)<<(-?)[ \t]*(['"]?)([A-Za-z_][A-Za-z0-9_]*)\2[ \t]*\Z""")


class Unusable(Exception):
    """The command cannot be run as it is; the message says why and what to send instead."""


@dataclass(frozen=True, slots=True)
class Words:
    """A program with its arguments, and the text for its standard input if there is one."""

    words: tuple[str, ...]
    text: str | None = None


def split_command(command: str) -> Words:
    """Return the words. Raises Unusable.

    One program may be followed by a here-text: `edit PATH <<'EOF'`, the text, `EOF`; it is left as it is.
    """
    if "\0" in command:
        raise Unusable("a command cannot contain a NUL character")
    line, text = _without_here_text(command.strip(" \t\r\n"))
    _require_plain(line)
    try:
        words = tuple(shlex.split(_without_shell_escapes(line)))
    except ValueError as error:
        raise Unusable(f"the quotes do not match ({error}): quote each argument by itself") from None
    if not words:
        raise Unusable(f"the command is empty: {SEPARATE}")
    return Words(words, text)


def _without_here_text(command: str) -> tuple[str, str | None]:
    """Part a command from its here-text, if its first line announces one."""
    first, broken, rest = command.partition("\n")
    found = _HERE_TEXT.search(first.rstrip("\r"))
    if found is None or _quoted_at(first, found.start()):
        return command, None
    strip_tabs, delimiter = bool(found[1]), found[3]
    lines = rest.split("\n") if broken else []
    for number, line in enumerate(lines):
        if (line.lstrip("\t") if strip_tabs else line).rstrip("\r") == delimiter:
            if any(after.strip() for after in lines[number + 1 :]):
                raise Unusable(f"there is more after the line {delimiter}: {SEPARATE}")
            kept = [each.lstrip("\t") if strip_tabs else each for each in lines[:number]]
            return first[: found.start()], "".join(f"{each}\n" for each in kept)
    raise Unusable(f"the text has no end: its last line must be {delimiter} alone")


def _require_plain(line: str) -> None:
    """Refuse, outside of quotes, all that a shell would act on. Raises Unusable."""
    for at, character, quote in _scanned(line):
        if quote == "'" or len(character) > 1:
            continue
        if character == "`" or (character == "$" and _EXPANSION.match(line, at)):
            _refuse(line, at)
        if quote:
            continue
        if _QUOTED_BY_DOLLAR.match(line, at):
            _refuse(line, at)
        if character == "\n":
            raise Unusable(f"a command is one line: {SEPARATE}")
        if character in _OPERATORS:
            _refuse(line, at)
        if character == "#" and (at == 0 or line[at - 1] in " \t"):
            raise Unusable("comments are not understood: leave out what stands after #")


def _refuse(line: str, at: int) -> None:
    shown = next((sign for sign in _LONGER if line.startswith(sign, at)), line[at])
    if line[at] == "$" and not shown.startswith("$("):
        raise Unusable("nothing is expanded: write the value itself, or put a literal $ in single quotes")
    hint = _INNER_FIRST if shown.startswith("$(") else _OPERATORS[line[at]]
    raise Unusable(f"`{shown}` is for a shell, and no shell runs your commands here: {hint}")


def _quoted_at(line: str, at: int) -> bool:
    return any(bool(quote) for position, _, quote in _scanned(line + " ") if position == at)


def _without_shell_escapes(line: str) -> str:
    """Take away the escapes that only a shell knows: before $ and ` in double quotes, and of a line's end."""
    kept = []
    for _, character, quote in _scanned(line):
        if character == "\\\n" and quote != "'":
            continue
        kept.append(character[1] if quote == '"' and character in ("\\$", "\\`") else character)
    return "".join(kept)


def _scanned(line: str) -> Iterator[tuple[int, str, str]]:
    """Yield each character, or escaped pair, with its place and the quote it stands in ("" for none).

    A quote that opens or closes is not inside of itself.
    """
    quote, at = "", 0
    while at < len(line):
        pair = line[at : at + 2]
        if pair[0] == "\\" and (not quote or (quote == '"' and pair[1:] in tuple('$`"\\\n'))):
            yield at, pair, quote
            at += 2
            continue
        if pair[0] in "'\"" and quote in ("", pair[0]):
            yield at, pair[0], ""
            quote = "" if quote else pair[0]
        else:
            yield at, pair[0], quote
        at += 1
