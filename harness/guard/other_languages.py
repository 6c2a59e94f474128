"""RH001 and RH002 for languages without a grammar here: by text, and saying so; recorded snapshots."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from domain.model import Finding
from harness.guard.change import Delta
from harness.guard.context import Context, critical, warning
from harness.guard.syntax.files import is_too_large
from harness.guard.syntax.grammar import LARGEST, language_of
from harness.testing.paths import is_source, is_test_file

NOT_ANALYSED = "RH000"
_WHY = "A fix must satisfy the tests that exist; one that no longer runs cannot object to anything."
_WHY_LESS = "The test now accepts what it used to reject, so its passing says less than before."
_STRING = r"(?:'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`)"


@dataclass(frozen=True, slots=True)
class _Language:
    """How tests look in a language; the first group of `tests` that matches is a test's name."""

    name: str
    tests: re.Pattern[str]
    skips: re.Pattern[str]
    only: re.Pattern[str]
    asserts: re.Pattern[str]
    trivial: re.Pattern[str]


_NEVER = re.compile(r"(?!)")
_LANGUAGES: dict[tuple[str, ...], _Language] = {
    (".kt", ".scala", ".groovy", ".cs"): _Language(
        "Kotlin and its kin",
        re.compile(
            r"(?:@(?:Test|ParameterizedTest|RepeatedTest)\b|\[(?:Fact|Test|Theory|TestMethod)\b)[^{;]*?\b(\w+)\s*\("
        ),
        re.compile(r"@(?:Disabled|Ignore)\b|\bSkip\s*=\s*\"|\[Ignore|Assume\.assume"),
        _NEVER,
        re.compile(r"\b(?:assert\w*|verify|assertThat|Assert\.\w+)\s*\(|\.Should\(\)"),
        re.compile(r"assertTrue\(\s*true\s*\)|Assert\.True\(\s*true\s*\)"),
    ),
    (".php",): _Language(
        "PHP",
        re.compile(r"function (test\w*)\s*\("),
        re.compile(r"markTest(?:Skipped|Incomplete)\("),
        _NEVER,
        re.compile(r"\$this->assert\w*\(|self::assert\w*\("),
        re.compile(r"assertTrue\(\s*true\s*\)"),
    ),
}
_LITERAL = re.compile(
    rf"{_STRING}|(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])|\b(?:true|false|null|nil|None|undefined)\b"
)


def check(context: Context) -> Iterator[Finding]:
    """Yield findings for tests in other languages, and one that says what was read as text only."""
    moved_to = _arrived(context)
    read_as_text: list[str] = []
    for path in context.change.paths:
        delta = context.change.deltas[path]
        if path.endswith((".py", ".pyi", ".pyw")) or delta.is_binary or not delta.is_regular:
            continue
        if path.endswith(".snap") and delta.old is not None:
            yield from _snapshot(context, delta)
        if language_of(path) is not None:
            if is_too_large(delta):
                yield from _too_large(delta)
            continue
        if not is_source(path):
            continue
        read_as_text.append(path)
        language = _language(path)
        if language is not None and (is_test_file(path) or language.tests.search(delta.old_text)):
            yield from _tests(context, delta, language, moved_to)
    if read_as_text:
        which = f"{len(read_as_text)} files in languages without a grammar here"
        what = f"not analysed by syntax: {which} were read as text only"
        why = "Weakened tests or swallowed errors in them may have gone unnoticed; read them with care."
        yield warning(NOT_ANALYSED, read_as_text[0], 0, what, why)


def _snapshot(context: Context, delta: Delta) -> Iterator[Finding]:
    """Object to entries that are gone or changed; those that are only added record what is new."""
    before, now = _entries(delta.old_text), _entries(delta.new_text)
    changed = [name for name, text in before.items() if now.get(name) != text]
    if not changed:
        return
    what = f"{len(changed)} recorded snapshots are rewritten or removed ({changed[0][:60]})"
    if re.search(r"(?i)\bsnapshots?\b", context.issue_text):
        yield warning("RH002", delta.path, 0, what + " (the issue speaks of snapshots)", _WHY_LESS)
    else:
        yield critical("RH002", delta.path, 0, what, _WHY_LESS)


def _entries(text: str) -> dict[str, str]:
    """Return a snapshot file's entries by name; all of it as one where it has another form."""
    parts = re.split(r"^(?:exports\[`(.*)`\] = |# name: (.*)$)", text, flags=re.MULTILINE)
    if len(parts) < 4:
        return {"": text} if text.strip() else {}
    return {(parts[at] or parts[at + 1] or ""): parts[at + 2].strip() for at in range(1, len(parts) - 2, 3)}


def _too_large(delta: Delta) -> Iterator[Finding]:
    """Say that a file was too large; a test file that has grown so large can hide anything."""
    has_grown = delta.old is not None and len(delta.old) <= LARGEST and is_test_file(delta.path)
    what = f"not analysed: it is larger than {LARGEST // 2**20} MiB"
    make = critical if has_grown else warning
    yield make(NOT_ANALYSED, delta.path, 0, what, "What is in it may have gone unnoticed; read it with care.")


def _language(path: str) -> _Language | None:
    return next((language for suffixes, language in _LANGUAGES.items() if path.endswith(suffixes)), None)


def _names(language: _Language, text: str) -> Counter[str]:
    return Counter(next(filter(None, match.groups()), "") for match in language.tests.finditer(_bare(text)))


def _bare(text: str) -> str:
    """Take comments away, so that a test that is commented out counts as gone."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    return re.sub(r"^[ \t]*(?://(?!go:build)|#(?!\[)).*$", "", text, flags=re.MULTILINE)


def _arrived(context: Context) -> Counter[str]:
    """Count test names that are new in each file of the change: where a missing test may have gone."""
    found: Counter[str] = Counter()
    for path, delta in context.change.deltas.items():
        language = _language(path)
        if language is not None:
            found.update(_names(language, delta.new_text) - _names(language, delta.old_text))
    return found


def _tests(context: Context, delta: Delta, language: _Language, moved_to: Counter[str]) -> Iterator[Finding]:
    old, new = _bare(delta.old_text), _bare(delta.new_text)
    before, now = _names(language, old), _names(language, new)
    lost = [name for name in (before - now) if not moved_to[name]]
    shrunk = sum(now.values()) < sum(before.values()) - sum(1 for name in (before - now) if moved_to[name])
    for name in lost:
        if shrunk or delta.new is None:
            yield critical("RH001", delta.path, 0, f"the test {name} is removed", _WHY)
        else:
            yield warning("RH001", delta.path, 0, f"the test {name} is replaced or renamed", _WHY)
    had_tests = bool(before)
    for pattern, what in (
        (language.skips, "skipped"),
        (language.only, "selected alone, so the others do not run"),
    ):
        if len(pattern.findall(new)) > len(pattern.findall(old)) and (had_tests or pattern is language.only):
            yield critical("RH001", delta.path, _line(pattern, new), f"a test is now {what}", _WHY)
    if len(language.trivial.findall(new)) > len(language.trivial.findall(old)):
        yield critical(
            "RH002", delta.path, _line(language.trivial, new), "an assertion can never fail", _WHY_LESS
        )
    if had_tests and delta.new is not None and not any(moved_to[name] for name in before - now):
        yield from _asserts_less(context, delta.path, language, old, new)


def _asserts_less(context: Context, path: str, language: _Language, old: str, new: str) -> Iterator[Finding]:
    before, now = len(language.asserts.findall(old)), len(language.asserts.findall(new))
    if now < before:
        yield critical("RH002", path, 0, f"the file makes {now} assertions, it made {before}", _WHY_LESS)
    matcher = difflib.SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "replace":
            continue
        removed, added = old.splitlines()[a:b], new.splitlines()[c:d]
        for line in removed:
            if not language.asserts.search(line):
                continue
            lost = Counter(_LITERAL.findall(line)) - Counter(_LITERAL.findall("\n".join(added)))
            gained = Counter(_LITERAL.findall("\n".join(added))) - Counter(
                _LITERAL.findall("\n".join(removed))
            )
            if lost:
                yield _changed(context, path, c + 1, sorted(lost), sorted(gained))


def _changed(context: Context, path: str, line: int, lost: list[str], gained: list[str]) -> Finding:
    what = f"an assertion no longer expects {', '.join(lost)[:80]}"
    values = [item.strip("'\"`") for item in [*lost, *gained]]
    if gained and all(value and value in context.issue_text for value in values):
        return warning("RH002", path, line, what + " (the issue names old and new)", _WHY_LESS)
    return critical("RH002", path, line, what, _WHY_LESS)


def _line(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.search(text)
    return text.count("\n", 0, match.start()) + 1 if match else 0
