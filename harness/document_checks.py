"""Judges changed documents: their links, their code blocks, and the build of the whole documentation.

What was broken on the base is not held against the change; what could not be checked is said.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import PurePosixPath

from domain.model import Check, RunStatus
from domain.repo_config import DocsSection
from harness.document_builds import as_build, build_plan
from harness.document_code import SHELL, Block, code_blocks, is_checkable, shell_text, syntax_problem
from harness.document_links import DOCUMENTS, MARKDOWN, Site, broken_links
from harness.guard.change import Change
from harness.runs import Runs
from harness.testing.plan import Runner, TestPlan

MOST_DOCUMENTS = 200
SHELL_SECONDS = 60.0
MOST_SHELL = 60_000
"""Characters of all shell blocks together, as they are handed over; what is more is not checked."""

_AT = re.compile(r"^@@ (\d+|end)$", re.MULTILINE)


class DocumentChecks:
    """The checks of one change's documents. `made` tells what was checked, and what was not."""

    def __init__(self, runs: Runs, change: Change, section: DocsSection, place: str = "") -> None:
        """Take the maker of runs, the change, how the documentation is built, and where."""
        self._runs, self._change = runs, change
        self._section, self._place = section, place
        self.made: list[Check] = []

    def refusal(self) -> str:
        """Check all, and return why the change is not to be taken, or "". Raises SandboxError, GitError."""
        documents = [
            path
            for path in self._change.paths
            if PurePosixPath(path).suffix in DOCUMENTS and self._change.deltas[path].new is not None
        ][:MOST_DOCUMENTS]
        before = self._runs.site(self._change.base_tree)
        now = self._runs.site(self._change.tree)
        return self._links(documents, before, now) or self._code(documents) or self._build(now)

    def _links(self, documents: list[str], before: Site, now: Site) -> str:
        """Name the links in changed documents that lead nowhere now, and were not there, or led somewhere."""
        listed = []
        for path in documents:
            known = broken_links(path, before) if self._change.deltas[path].old is not None else frozenset()
            listed += [f"`{path}`: `{link[:200]}`" for link in sorted(broken_links(path, now) - known)]
        if documents:
            what = (
                f"of {_number(len(documents), 'changed document')}, to files and headings of this repository"
            )
            self.made.append(Check(name="links", status=_status(listed), what=what))
        return f"Links that lead nowhere: {_listed(listed)}." if listed else ""

    def _code(self, documents: list[str]) -> str:
        """Name the code blocks that were added or edited and are not in the language that they name."""
        fresh: list[tuple[str, Block]] = []
        gone: dict[str, list[Block]] = {}
        for path in documents:
            delta, is_markdown = self._change.deltas[path], PurePosixPath(path).suffix in MARKDOWN
            old = code_blocks(delta.old_text, is_markdown=is_markdown)
            new = code_blocks(delta.new_text, is_markdown=is_markdown)
            fresh += [(path, block) for block in _without(new, old)]
            gone[path] = _without(old, new)
        able = [(path, block) for path, block in fresh if is_checkable(block)]
        problems = self._shell_problems(able, gone)
        checked: Counter[str] = Counter()
        listed = []
        for path, block in able:
            problem = problems.get((path, block)) if block.language == SHELL else syntax_problem(block)
            if problem is None:
                continue
            checked[block.language] += 1
            if problem and not _was_broken(block, gone[path], problems, path):
                listed.append(f"`{path}` {problem} ({block.named})")
        self._tell_code(fresh, checked, listed)
        return f"Code blocks that are not what they say: {_listed(listed)}." if listed else ""

    def _tell_code(self, fresh: list[tuple[str, Block]], checked: Counter[str], listed: list[str]) -> None:
        left = len(fresh) - checked.total()
        parts = [f"{count} {language}" for language, count in sorted(checked.items())]
        parts += [f"{left} of other languages, templates or sketches not checked"] if left else []
        if fresh:
            status = _status(listed) if checked else RunStatus.COULD_NOT_TELL
            what = f"syntax of those added or edited: {', '.join(parts)}"
            self.made.append(Check(name="code blocks", status=status, what=what))

    def _shell_problems(
        self, able: Iterable[tuple[str, Block]], gone: dict[str, list[Block]]
    ) -> dict[tuple[str, Block], str]:
        """Return what `bash -n` says of each shell block, by one run in the sandbox; {} if it cannot."""
        new = [(path, block) for path, block in able if block.language == SHELL]
        if not new:
            return {}
        old = [(path, block) for path, blocks in gone.items() for block in blocks if block.language == SHELL]
        asked: list[tuple[str, Block]] = []
        lines = ["command -v bash > /dev/null && command -v base64 > /dev/null || exit 127"]
        size = 0
        for path, block in dict.fromkeys(new + old):
            packed = base64.b64encode(shell_text(block).encode("utf-8", "replace")).decode()
            size += len(packed)
            if size <= MOST_SHELL and packed:
                lines.append(
                    f"echo {packed} | base64 -d > /tmp/block && bash -n /tmp/block > /tmp/said 2>&1 || "
                    f"{{ echo '@@ {len(asked)}'; head -c 300 /tmp/said | tr '\\n' ' '; echo; }}"
                )
                asked.append((path, block))
        plan = TestPlan(
            command="\n".join([*lines, "echo '@@ end'"]), runner=Runner.OUTPUT, why="shell blocks"
        )
        return _read(self._runs.unrecorded(plan, SHELL_SECONDS), asked)

    def _build(self, now: Site) -> str:
        """Build the documentation; where that fails, build the base's, too, to tell whose fault it is."""
        plan = build_plan(self._section, now.paths, self._place)
        name = "documentation build"
        if plan is None:
            what = "no builder is set up here: no mkdocs.yml, no conf.py of Sphinx, no `docs.command`"
            self.made.append(Check(name=name, status=RunStatus.COULD_NOT_RUN, what=what))
            return ""
        seconds = float(self._section.timeout_seconds)
        after = as_build(self._runs.built(plan, seconds))
        self._runs.records.append(after)
        if after.status is RunStatus.PASSED:
            self.made.append(Check(name=name, status=after.status, what=plan.why))
            return ""
        before = as_build(self._runs.built_on_base(plan, seconds))
        self._runs.records.insert(len(self._runs.records) - 1, before)
        if before.status is RunStatus.PASSED:
            what = f"{plan.why}; the base is built without a fault"
            self.made.append(Check(name=name, status=after.status, what=what))
            return f"The documentation cannot be built any more ({after.status}); on the base it can."
        why = f"{plan.why}; the base cannot be built here either ({before.note or before.status}): not held "
        self.made.append(Check(name=name, status=RunStatus.COULD_NOT_TELL, what=f"{why}against the change"))
        return ""


def _read(output: str, asked: list[tuple[str, Block]]) -> dict[tuple[str, Block], str]:
    parts = _AT.split(output)
    if len(parts) < 3 or parts[-2] != "end":
        return {}
    found = dict.fromkeys(asked, "")
    for number, said in zip(parts[1:-2:2], parts[2:-2:2], strict=True):
        path, block = asked[int(number)]
        found[path, block] = _located(said.strip(), block) or "is not shell"
    return found


def _located(said: str, block: Block) -> str:
    """Return bash's words with the line of the document in place of that of the block."""
    match = re.match(r"\S+: line (\d+): (.{0,200})", said)
    return f"line {block.line + int(match[1]) - 1}: {match[2]}" if match else said[:200]


def _was_broken(block: Block, gone: list[Block], problems: dict[tuple[str, Block], str], path: str) -> bool:
    """Tell whether a block of this language, broken already, went with the change: take it as edited."""
    for at, old in enumerate(gone):
        if old.named != block.named or not is_checkable(old):
            continue
        if problems.get((path, old)) if old.language == SHELL else syntax_problem(old):
            del gone[at]
            return True
    return False


def _without(blocks: list[Block], others: list[Block]) -> list[Block]:
    left = Counter((block.named, block.text) for block in others)
    kept = []
    for block in blocks:
        if left[block.named, block.text] > 0:
            left[block.named, block.text] -= 1
        else:
            kept.append(block)
    return kept


def _status(listed: list[str]) -> RunStatus:
    return RunStatus.FAILED if listed else RunStatus.PASSED


def _listed(entries: list[str]) -> str:
    more = f" and {len(entries) - 5} more" if len(entries) > 5 else ""
    return ", ".join(entries[:5]) + more


def _number(count: int, name: str) -> str:
    return f"{count} {name}{'s' if count != 1 else ''}"
