"""RH001 and RH002 for languages other than Python: by text, and saying so."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from domain.model import Finding
from harness.guard.change import Delta
from harness.guard.context import Context, critical, warning
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
_JAVASCRIPT = _Language(
    "JavaScript or TypeScript",
    re.compile(rf"(?<![\w.])(?:it|test|specify)(?:\.(?:each|concurrent)(?:\([^)]*\))?)?\s*\(\s*({_STRING})"),
    re.compile(
        r"(?<![\w.])(?:x(?:it|test|describe|specify)\s*\(|(?:it|test|describe|suite)\.(?:skip|todo|failing|fixme)\b)"
        r"|\bthis\.skip\(\)|\b[tc]t?x?\.skip\(|\{\s*skip:\s*(?!false)"
    ),
    re.compile(
        r"(?<![\w.])(?:f(?:it|describe)\s*\(|(?:it|test|describe|suite|context)\.only\b)|\{\s*only:\s*true"
    ),
    re.compile(
        r"\bexpect\s*\(|\bassert(?:\.\w+)?\s*\(|\.should\b|\bt\.(?:is|deepEqual|equal|ok|same|throws)\("
    ),
    re.compile(
        r"expect\s*\(\s*(true|1)\s*\)\s*\.\s*(?:toBe|toEqual|toBeTruthy)\s*\(\s*(?:true|1)?\s*\)|assert\(true\)"
    ),
)
_LANGUAGES: dict[tuple[str, ...], _Language] = {
    (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts"): _JAVASCRIPT,
    (".go",): _Language(
        "Go",
        re.compile(r"^func ((?:Test|Example|Fuzz)\w*)\(", re.MULTILINE),
        re.compile(r"\b[tb]\.Skip(?:f|Now)?\(|^//go:build ignore", re.MULTILINE),
        _NEVER,
        re.compile(r"\bt\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(|\b(?:assert|require|is)\.\w+\("),
        re.compile(r"(?:assert|require)\.True\(t, true"),
    ),
    (".rs",): _Language(
        "Rust",
        re.compile(r"#\[(?:\w+::)*test[^\]]*\](?:\s*#\[[^\]]*\])*\s*(?:pub\s+)?(?:async\s+)?fn\s+(\w+)"),
        re.compile(r"#\[ignore\b|#\[cfg\(any\(\)\)\]"),
        _NEVER,
        re.compile(r"\b(?:debug_)?assert(?:_eq|_ne|_matches)?!\s*\(|\bpanic!\s*\(|#\[should_panic"),
        re.compile(r"assert!\(\s*true\s*[,)]"),
    ),
    (".rb",): _Language(
        "Ruby",
        re.compile(rf"(?:^[ \t]*def (test_\w+)|^[ \t]*(?:it|specify|test)\s+({_STRING}))", re.MULTILINE),
        re.compile(r"^[ \t]*(?:x(?:it|describe|context|specify)|skip|pending)\b|,\s*:?skip\b", re.MULTILINE),
        re.compile(r"^[ \t]*f(?:it|describe|context)\b|,\s*:?focus\b", re.MULTILINE),
        re.compile(r"\bassert\w*\b|\brefute\w*\b|\bexpect\s*[({]|\.must_|\.should\b"),
        re.compile(r"assert\s+true\b|expect\(true\)\.to"),
    ),
    (".java", ".kt", ".scala", ".groovy", ".cs"): _Language(
        "Java-like",
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
            yield critical("RH002", path, 0, "a recorded snapshot is rewritten", _WHY_LESS)
        if not is_source(path):
            continue
        read_as_text.append(path)
        language = _language(path)
        if language is not None and (is_test_file(path) or language.tests.search(delta.old_text)):
            yield from _tests(context, delta, language, moved_to)
    if read_as_text:
        what = f"not analysed by syntax: {len(read_as_text)} files that are not Python were read as text only"
        why = "Weakened tests or swallowed errors in them may have gone unnoticed; read them with care."
        yield warning(NOT_ANALYSED, read_as_text[0], 0, what, why)


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
