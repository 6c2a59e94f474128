"""Reading a shell command line: which commands it starts, how they hang together, where each one stands.

Only what a test command needs is read; the rest (loops, functions, substitutions) is refused with a reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_LENGTH = 20_000
MAX_DEPTH = 12

_KEYWORDS = frozenset(
    {"if", "then", "else", "elif", "fi", "for", "while", "until", "case", "esac", "do", "done", "select"}
)
_LOOP = "a shell loop or condition reports only its last command; use one plain command"
_SUBSTITUTION = "what a command substitution does cannot be judged; write the command out"
_NOT_ONE = "the command cannot be read as one shell command line"
_HARMLESS_SUBSTITUTION = re.compile(r"\$\((?:nproc|pwd)\)")
_DELIMITERS = frozenset(" \t\r\n;&|()<>")
_OPERATOR = re.compile(r"&&|\|\||\|&|;;|[;&|()\n]")
_REDIRECTION = re.compile(r"(?:&>>|&>|<<<|<<|<>|>>|>\||>&|<&|<|>)")


class Unreadable(ValueError):
    """A command line whose exit status cannot be judged; the message says why."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word, without its quotes. `dynamic` says that a variable takes part in it."""

    text: str
    start: int
    end: int
    dynamic: bool = False


@dataclass(frozen=True, slots=True)
class Simple:
    """One program with its words."""

    words: tuple[Word, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """The words as text."""
        return tuple(word.text for word in self.words)

    @property
    def shown(self) -> str:
        """The command for a message."""
        return " ".join(self.texts)[:60]


@dataclass(frozen=True, slots=True)
class Group:
    """A list in parentheses (a shell of its own) or in braces."""

    body: Script
    subshell: bool

    @property
    def shown(self) -> str:
        """The group for a message."""
        return "(…)" if self.subshell else "{ … }"


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands joined by pipes; `negated` by a leading `!`."""

    parts: tuple[Simple | Group, ...]
    negated: bool

    @property
    def shown(self) -> str:
        """The pipeline for a message."""
        return " | ".join(part.shown for part in self.parts)[:60]


@dataclass(frozen=True, slots=True)
class Chain:
    """Pipelines joined by `&&` and `||`; each operator stands before its pipeline, "" before the first."""

    links: tuple[tuple[str, Pipeline], ...]
    background: bool


Script = tuple[Chain, ...]
"""A list of chains, one after the other."""


def parse(text: str) -> Script:
    """Return what a command line does. Raises Unreadable."""
    if len(text) > MAX_LENGTH:
        raise Unreadable("the command is too long to be judged")
    return _Parser(_tokens(text)).script("")


def simple_commands(script: Script) -> list[Simple]:
    """Return all simple commands, in order."""
    found: list[Simple] = []
    for chain in script:
        for _, pipeline in chain.links:
            for part in pipeline.parts:
                found += [part] if isinstance(part, Simple) else simple_commands(part.body)
    return found


# -- words ----------------------------------------------------------------------------------------


def _tokens(text: str) -> list[Word | str]:
    """Return words, and operators as plain strings; redirections are left out with their targets."""
    tokens: list[Word | str] = []
    position, skip_next = 0, False
    while position < len(text):
        if text.startswith("\\\n", position):
            position += 2
        elif text[position] in " \t\r":
            position += 1
        elif text[position] == "#":
            end = text.find("\n", position)
            position = len(text) if end < 0 else end
        elif match := _redirection(text, position):
            if match[0].startswith("<<") and match[0] != "<<<":
                raise Unreadable("a here-document cannot be judged; use one plain command")
            position, skip_next = match.end(), True
            if text[position : position + 1] == "(":
                raise Unreadable(_SUBSTITUTION)
        elif match := _OPERATOR.match(text, position):
            if match[0] == ";;":
                raise Unreadable(_LOOP)
            tokens.append(match[0])
            position = match.end()
        else:
            word = _word(text, position)
            position = word.end
            is_number_of_stream = word.text.isdigit() and text[position : position + 1] in {"<", ">"}
            if not is_number_of_stream and not skip_next:
                tokens.append(word)
            skip_next = skip_next and is_number_of_stream
    return tokens


def _redirection(text: str, position: int) -> re.Match[str] | None:
    return _REDIRECTION.match(text, position)


def _word(text: str, start: int) -> Word:
    parts: list[str] = []
    position, dynamic = start, False
    while position < len(text) and text[position] not in _DELIMITERS:
        sign = text[position]
        if sign == "'":
            end = text.find("'", position + 1)
            if end < 0:
                raise Unreadable(_NOT_ONE)
            parts.append(text[position + 1 : end])
            position = end + 1
        elif sign == '"':
            piece, position, varies = _double_quoted(text, position + 1)
            parts.append(piece)
            dynamic = dynamic or varies
        elif sign == "\\":
            parts.append(text[position + 1 : position + 2].replace("\n", ""))
            position += 2
        elif sign == "$":
            piece, position = _variable(text, position)
            parts.append(piece)
            dynamic = True
        elif sign == "`":
            raise Unreadable(_SUBSTITUTION)
        else:
            parts.append(sign)
            position += 1
    return Word("".join(parts), start, min(position, len(text)), dynamic)


def _double_quoted(text: str, position: int) -> tuple[str, int, bool]:
    parts: list[str] = []
    dynamic = False
    while position < len(text):
        sign = text[position]
        if sign == '"':
            return "".join(parts), position + 1, dynamic
        if sign == "\\" and text[position + 1 : position + 2] in set('$`"\\\n'):
            parts.append(text[position + 1].replace("\n", ""))
            position += 2
        elif sign == "$":
            piece, position = _variable(text, position)
            parts.append(piece)
            dynamic = True
        elif sign == "`":
            raise Unreadable(_SUBSTITUTION)
        else:
            parts.append(sign)
            position += 1
    raise Unreadable(_NOT_ONE)


def _variable(text: str, position: int) -> tuple[str, int]:
    if match := _HARMLESS_SUBSTITUTION.match(text, position):
        return match[0], match.end()
    if text.startswith("$(", position):
        raise Unreadable(_SUBSTITUTION)
    if text.startswith("${", position):
        end = text.find("}", position)
        if end < 0 or "`" in text[position:end] or "$(" in text[position:end]:
            raise Unreadable(_SUBSTITUTION if end >= 0 else _NOT_ONE)
        return text[position : end + 1], end + 1
    match = re.compile(r"\$(?:\w+|[?$!#*@-])?").match(text, position)
    return (match[0], match.end()) if match else ("$", position + 1)


# -- structure ------------------------------------------------------------------------------------


class _Parser:
    """Takes tokens apart by the shell's grammar, as far as it is allowed here."""

    def __init__(self, tokens: list[Word | str]) -> None:
        self._tokens = tokens
        self._position = 0
        self._depth = 0

    def script(self, closing: str) -> Script:
        """Read chains up to a closing sign ("" for the end of the text)."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise Unreadable(_NOT_ONE)
        chains: list[Chain] = []
        while True:
            while self._peek() in {";", "\n"}:
                self._position += 1
            if self._at(closing):
                break
            chain = self._chain(closing)
            chains.append(chain)
        self._depth -= 1
        return tuple(chains)

    def _at(self, closing: str) -> bool:
        token = self._peek()
        if token is None:
            if closing:
                raise Unreadable(_NOT_ONE)
            return True
        if closing and (token == closing or (isinstance(token, Word) and token.text == closing == "}")):
            self._position += 1
            return True
        return False

    def _chain(self, closing: str) -> Chain:
        links = [("", self._pipeline())]
        while True:
            token = self._peek()
            if token in {"&&", "||"}:
                self._position += 1
                while self._peek() == "\n":
                    self._position += 1
                links.append((str(token), self._pipeline()))
            elif token == "&":
                self._position += 1
                return Chain(tuple(links), True)
            elif token is None or token in {";", "\n"} or token == closing:
                return Chain(tuple(links), False)
            else:
                raise Unreadable(_NOT_ONE)

    def _pipeline(self) -> Pipeline:
        negated = False
        while isinstance(token := self._peek(), Word) and token.text == "!":
            negated = not negated
            self._position += 1
        parts = [self._part()]
        while self._peek() in {"|", "|&"}:
            self._position += 1
            parts.append(self._part())
        return Pipeline(tuple(parts), negated)

    def _part(self) -> Simple | Group:
        token = self._peek()
        if token == "(":
            self._position += 1
            return Group(self.script(")"), True)
        if isinstance(token, Word) and token.text == "{" and token.end - token.start == 1:
            self._position += 1
            return Group(self.script("}"), False)
        words: list[Word] = []
        while isinstance(token := self._peek(), Word):
            words.append(token)
            self._position += 1
        if token == "(":
            raise Unreadable("a shell function cannot be judged; use one plain command")
        if not words:
            raise Unreadable(_NOT_ONE)
        if words[0].text in _KEYWORDS:
            raise Unreadable(_LOOP)
        return Simple(tuple(words))

    def _peek(self) -> Word | str | None:
        return self._tokens[self._position] if self._position < len(self._tokens) else None
