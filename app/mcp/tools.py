"""The tools themselves: each takes checked arguments and returns a bounded JSON object for one repository."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from app.guard_check import finding_as_json
from app.localize import relative_scores
from app.mcp.arguments import (
    ApplyTransactionalPatch,
    Arguments,
    InspectAstSymbols,
    Judging,
    LocalizeFault,
    VerifyPatchIntegrity,
)
from app.mcp.suite import SuiteCheck
from domain.errors import ConfigurationError
from domain.model import Finding
from domain.text import clip, plain
from harness.git.borrowed import looking_at
from harness.integrity import WORKING_COPY, Judged, Purpose, judge_patch, judge_range, judge_trees
from harness.localize import FaultLocalizer
from harness.localize.inspecting import Symbol, source_of, symbols_named, symbols_of_file
from harness.localize.kept_facts import FactsKeeper
from harness.testing.files import read_file
from harness.workspace import TransactionalWorkspace

Result = dict[str, object]

MOST_SYMBOLS = 50
MOST_FINDINGS = 60
MOST_FILES = 300
SOURCE_BYTES = 60_000
LINES_OF_ONE = 200


class Tool(NamedTuple):
    """A tool: its arguments, what it is for, and whether it changes anything."""

    arguments: type[Arguments]
    description: str
    changes: bool = False


class Desk:
    """One repository, and what is known of its sources while the server runs."""

    def __init__(self, root: Path, index: Path) -> None:
        """Take the repository's top directory, and a file for what was read of its sources."""
        self.root = root.resolve()
        self._called = root.absolute()
        self._index = index

    def call(self, asked: Arguments) -> Result:
        """Do what the arguments are for. Raises FixwrightError, OSError."""
        match asked:
            case LocalizeFault():
                return self.localize_fault(asked)
            case VerifyPatchIntegrity():
                return self.verify_patch_integrity(asked)
            case ApplyTransactionalPatch():
                return self.apply_transactional_patch(asked)
            case InspectAstSymbols():
                return self.inspect_ast_symbols(asked)
        raise TypeError(f"no tool takes {type(asked).__name__}")

    def localize_fault(self, asked: LocalizeFault) -> Result:
        """Rank files and definitions."""
        localizer = FaultLocalizer(index=self._index, most=asked.top)
        found = localizer.localize(self.root, asked.issue, asked.failing_output, asked.budget)
        return {
            "strategy": found.strategy,
            "seconds": round(found.seconds, 3),
            "suspects": [
                {**asdict(suspect), "relative": ratio}
                for suspect, ratio in zip(found.suspects, relative_scores(found), strict=True)
            ],
            "slices": clip(plain(found.slices), SOURCE_BYTES + 40_000),
        }

    def verify_patch_integrity(self, asked: VerifyPatchIntegrity) -> Result:
        """Judge a patch or commits by every rule that needs no run."""
        with looking_at(self.root, upwards=False) as checkout:
            if asked.commits:
                judged = judge_range(checkout, asked.commits, _purpose(asked))
            else:
                judged = judge_patch(checkout, asked.patch.encode("utf-8", "replace"), _purpose(asked))
        return _judgement(judged)

    def apply_transactional_patch(self, asked: ApplyTransactionalPatch) -> Result:
        """Apply a patch as a whole or not at all."""
        patch = asked.patch.encode("utf-8", "replace")
        if asked.dry_run:
            with looking_at(self.root, upwards=False) as checkout:
                judged = judge_trees(checkout, checkout.fitted(patch), WORKING_COPY, _purpose(asked))
            return {"applied": False, "dry_run": True, **_judgement(judged)}
        workspace = TransactionalWorkspace(self.root, purpose=_purpose(asked))
        check = SuiteCheck.before(self.root) if asked.run_tests else None
        receipt = workspace.apply(patch, check)
        return {
            "applied": receipt.kept,
            "ending": str(receipt.ending),
            "reason": receipt.reason,
            "tests": receipt.check or "not asked for",
            "files": list(receipt.attempted[:MOST_FILES]),
            "findings": _findings(receipt.findings),
            "receipt": {"id": receipt.id, "before": receipt.before, "after": receipt.after},
        }

    def inspect_ast_symbols(self, asked: InspectAstSymbols) -> Result:
        """Return definitions by name, or by file and line."""
        if asked.name:
            found = symbols_named(self.root, asked.name.strip(), FactsKeeper(self._index))
        else:
            found = symbols_of_file(self.root, self._path(asked.file), asked.line)
        room = SOURCE_BYTES
        symbols = []
        for symbol in found[:MOST_SYMBOLS]:
            said: Result = asdict(symbol)
            if asked.source and room > 0:
                text = clip(plain(source_of(self.root, symbol, LINES_OF_ONE)), room)
                room -= len(text)
                said["source"] = text
            symbols.append(said)
        return {"symbols": symbols, "left_out": len(found) - len(symbols), "around": _around(asked, found)}

    def _path(self, given: str) -> str:
        """Return a path of a file in the repository. Raises ConfigurationError for every other."""
        pure = PurePosixPath(given)
        for top in (self.root, self._called) if pure.is_absolute() else ():
            with suppress(ValueError):
                pure = pure.relative_to(top)
        if pure.is_absolute() or not pure.parts or {"..", ".git"} & set(pure.parts) or "\0" in given:
            raise ConfigurationError(
                f"file: {given[:200]!r} is not in the repository; give a path from its root"
            )
        if read_file(self.root, str(pure), 1) is None:
            raise ConfigurationError(
                f"file: there is no file {str(pure)[:200]!r} in the repository, or a symlink leads to it; "
                "give a path from its root, or ask by `name`"
            )
        return str(pure)


def _around(asked: InspectAstSymbols, found: tuple[Symbol, ...]) -> str:
    if found:
        return ""
    if asked.name:
        return f"nothing is called {asked.name!r} here; ask for the last part of the name, or by `file`"
    return "no definition is around that line" if asked.line else "the file defines no function or class"


def _purpose(asked: Judging) -> Purpose:
    return Purpose(category=asked.category, issue_text=asked.issue)


def _judgement(judged: Judged) -> Result:
    return {
        "ok": not judged.refused,
        "compared_with": judged.base,
        "files": list(judged.change.paths[:MOST_FILES]),
        "findings": _findings(judged.findings),
    }


def _findings(findings: tuple[Finding, ...]) -> list[Result]:
    said = [finding_as_json(finding) for finding in findings[:MOST_FINDINGS]]
    return [
        {key: clip(str(value), 600) if key != "line" else value for key, value in each.items()}
        for each in said
    ]


TOOLS: Mapping[str, Tool] = {
    "localize_fault": Tool(
        LocalizeFault,
        "Name the files and definitions that a fix of a reported bug will most likely touch, best first, with"
        " reasons and source. Reads the whole repository; asks no model, sends nothing, changes nothing.",
    ),
    "verify_patch_integrity": Tool(
        VerifyPatchIntegrity,
        "Judge a patch before it is proposed: tests deleted, skipped or weakened, errors swallowed, code that"
        " knows it is tested, protected paths, secrets, links and modes. Runs nothing, changes nothing. `ok`"
        " is false where a finding is critical.",
    ),
    "apply_transactional_patch": Tool(
        ApplyTransactionalPatch,
        "Apply a unified diff to the working copy as a whole or not at all. What the guard refuses is not"
        " applied; with `run_tests`, a patch that breaks a test is taken back, to the byte.",
        changes=True,
    ),
    "inspect_ast_symbols": Tool(
        InspectAstSymbols,
        "Look definitions up by name in the whole repository, with who calls them, or list those of a file,"
        " or those around a line. By the syntax of Python, JavaScript, TypeScript, Go, Java, Ruby, Rust, C,"
        " C++, C# and PHP; other languages by patterns.",
    ),
}
