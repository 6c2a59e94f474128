"""What a checked-out tree defines: by name, or by file and line; with who calls it, and its source."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.localize.corpus import Corpus, read_corpus
from harness.localize.facts import CALLED, FileFacts, Kind, Part
from harness.localize.kept_facts import FactsKeeper
from harness.localize.reading import Shelf, facts_of, read_source

MOST_CALLERS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol:
    """A definition. Lines count from 1; `callers` are "path:line Name" of what calls its name."""

    path: str
    name: str
    qualified: str
    kind: str
    first_line: int
    last_line: int
    head: str
    bases: tuple[str, ...] = ()
    callers: tuple[str, ...] = ()


def symbols_of_file(tree: Path, path: str, line: int = 0) -> tuple[Symbol, ...]:
    """Return a file's definitions in order; with a line, those around it, the innermost first."""
    text = read_source(tree, path)
    facts = facts_of(path, text)
    lines = text.split("\n")
    parts = [part for part in facts.parts if part.kind is not Kind.MODULE]
    if line:
        around = [part for part in parts if part.first_line <= line <= part.last_line]
        ordered = sorted(around, key=lambda part: (part.last_line - part.first_line, -part.first_line))
    else:
        ordered = sorted(parts, key=lambda part: (part.first_line, part.qualified))
    return tuple(_symbol(path, part, lines, facts) for part in ordered)


def symbols_named(tree: Path, name: str, keeper: FactsKeeper | None = None) -> tuple[Symbol, ...]:
    """Return every definition of a name, `name` or `Class.name`, in a tree."""
    last = name.rpartition(".")[2]
    corpus = read_corpus(tree, frozenset({CALLED + last}), Shelf(keeper))
    callers = _callers(corpus, CALLED + last)
    found = []
    for number, part in enumerate(corpus.parts):
        if part.kind is Kind.MODULE or not _is_called(part, name):
            continue
        file = corpus.files[corpus.file_of[number]]
        lines = read_source(tree, file.path).split("\n")
        facts = FileFacts(bases=dict(file.bases))
        found.append((file.aside, _symbol(file.path, part, lines, facts, callers)))
    found.sort(key=lambda item: (item[0], item[1].path, item[1].first_line))
    return tuple(symbol for _, symbol in found)


def source_of(tree: Path, symbol: Symbol, most_lines: int) -> str:
    """Return a definition's numbered source, cut off with a note after so many lines."""
    lines = read_source(tree, symbol.path).split("\n")[symbol.first_line - 1 : symbol.last_line]
    width = len(str(symbol.last_line))
    numbered = [f"{symbol.first_line + at:>{width}}  {line}" for at, line in enumerate(lines[:most_lines])]
    if len(lines) > most_lines:
        numbered.append(f"… {len(lines) - most_lines} more lines, to line {symbol.last_line}")
    return "\n".join(numbered)


def _is_called(part: Part, name: str) -> bool:
    return part.qualified == name or part.qualified.endswith(f".{name}")


def _callers(corpus: Corpus, term: str) -> tuple[str, ...]:
    numbers = [number for number, _ in corpus.hits.get(term, ())]
    numbers.sort(key=lambda number: (corpus.is_aside(number), number))
    said = []
    for number in numbers[:MOST_CALLERS]:
        part, file = corpus.parts[number], corpus.files[corpus.file_of[number]]
        said.append(f"{file.path}:{part.first_line} {part.qualified}".strip())
    return tuple(said)


def _symbol(
    path: str, part: Part, lines: list[str], facts: FileFacts, callers: tuple[str, ...] = ()
) -> Symbol:
    own = f"{path}:{part.first_line} {part.qualified}"
    return Symbol(
        path=path,
        name=part.name,
        qualified=part.qualified,
        kind=part.kind.value,
        first_line=part.first_line,
        last_line=part.last_line,
        head=_head(part, lines),
        bases=facts.bases.get(part.qualified, ()),
        callers=tuple(caller for caller in callers if caller != own),
    )


def _head(part: Part, lines: list[str]) -> str:
    """Return the line that names the definition: decorators stand before it."""
    shown = lines[part.first_line - 1 : part.last_line]
    named = next(
        (line for line in shown if part.name and part.name in line and not line.lstrip().startswith("@")), ""
    )
    return (named or (shown[0] if shown else "")).strip()[:300]
