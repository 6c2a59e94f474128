"""Runs cases through an agent or a single call of a model, one after another, each on record and paid for."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from app.evaluation import lines
from app.evaluation.case_files import EvalCase
from app.evaluation.judging import Verdict, judge
from app.evaluation.ledger import FileLedger
from domain.budget import Caps
from domain.claim import Restatement
from domain.errors import AgentFailure, GitError, PolicyRefusal, ProviderUnavailable
from domain.model import Actor, Attempt, Category, IssueRef, Localization, Price, Task
from domain.ports import Agent, AgentReport, Brief, Sandbox, SandboxPolicy
from domain.states import State
from domain.text import Redactor, one_line
from harness.git.patching import patched
from harness.localize import localizer_named
from harness.meter import AttemptMeter
from harness.transcript import Transcript
from harness.trial import Trial
from harness.workspace import Workspace, Workspaces

RESULTS, SPENT, TRANSCRIPTS = "results.jsonl", "spent.jsonl", "transcripts"
SLICE_TOKENS = 6000
ONE_SHOT, AGENT = "one shot", "agent"

_FENCE = re.compile(r"(`{3,})[^`]*")
_HEADER = re.compile(r"^(?:diff --git |--- )", re.MULTILINE)
_NUMBERED = re.compile(r"attempt-(\d{1,9})\.jsonl")
_SOMEBODY = Actor(id="0", login="evaluation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One run that is due: which case, by which means, with which strategy of localization."""

    case: EvalCase
    how: str
    strategy: str

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is known by in the results."""
        return self.how, self.strategy, self.case.id


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipment:
    """What all runs share: the model with its price and caps, the sandbox, and places on disk."""

    model: str
    price: Price
    caps: Caps
    agent: Agent
    sandbox: Sandbox
    limits: Callable[[Workspace], SandboxPolicy]
    workspaces: Workspaces
    trial: Trial
    out: Path
    redact: Redactor = field(default_factory=lambda: Redactor([]))


class Contest:
    """Runs entries, and writes each one's result as soon as it is there."""

    def __init__(self, equipment: Equipment) -> None:
        """Read what was spent before. Raises OSError."""
        self._kit = equipment
        self._ledger = FileLedger(equipment.out / SPENT)

    def run(self, entry: Entry) -> dict[str, object]:
        """Run one entry and return its result, as it was written.

        Raises ProviderUnavailable (nothing is written: worth another try), SandboxError, GitError.
        """
        kit, case = self._kit, entry.case
        began, number = time.monotonic(), self._next_number()
        workspace = kit.workspaces.open(number, 1)
        try:
            workspace.fill(
                kit.trial.mirror, case.base_commit, branch="main", url="https://forge.invalid/case"
            )
            localizer = localizer_named(entry.strategy, index=kit.out / "sources.sqlite")
            found = localizer.localize(workspace.tree, case.report, "", SLICE_TOKENS)
            ending, tree = self._work(entry, number, workspace, found)
        finally:
            workspace.remove()
        verdict = judge(kit.trial, case, tree) if tree else None
        seen = _Seen(number, found, ending, verdict, time.monotonic() - began)
        result = self._result(entry, seen)
        lines.append(kit.out / RESULTS, result)
        return result

    def _work(self, entry: Entry, number: int, workspace: Workspace, found: Localization) -> tuple[str, str]:
        """Return how the model ended, in words, and the tree that it left, "" where there is none."""
        kit = self._kit
        meter = AttemptMeter(
            self._ledger,
            _task(entry, number),
            _attempt(number),
            caps=kit.caps,
            price=kit.price,
            model=kit.model,
        )
        session = kit.sandbox.open(kit.limits(workspace))
        try:
            report = kit.agent.run(
                self._brief(entry, number, found), session, meter, self._observer(entry, number)
            )
        except ProviderUnavailable:
            raise
        except AgentFailure as error:
            return f"the agent failed: {one_line(str(error), 200)}", ""
        finally:
            session.close()
            kit.agent.close()
        if entry.how == ONE_SHOT:
            return self._patched(entry.case, report)
        try:
            base = kit.trial.mirror.tree_of(entry.case.base_commit)
            tree = kit.trial.mirror.snapshot(workspace.tree, base).tree
        except PolicyRefusal as refusal:
            return f"refused before any commit: {one_line(str(refusal), 200)}", ""
        return _ending(report), tree

    def _patched(self, case: EvalCase, report: AgentReport) -> tuple[str, str]:
        patch = patch_in(report.summary)
        if not patch:
            return (_ending(report) if report.stopped_by else "the answer has no patch"), ""
        base = self._kit.trial.mirror.tree_of(case.base_commit)
        try:
            return "answered", patched(self._kit.trial.mirror, patch.encode(), lambda _: base).tree
        except GitError as error:
            return f"the patch does not fit: {one_line(str(error), 200)}", ""

    def _observer(self, entry: Entry, number: int) -> _Recorder:
        folder = self._kit.out / TRANSCRIPTS
        folder.mkdir(exist_ok=True)
        known = folder / "categories.json"
        said = json.loads(known.read_bytes()) if known.exists() else {}
        known.write_text(json.dumps(said | {str(number): f"{entry.how}, {entry.strategy}"}))
        path = folder / f"attempt-{number}.jsonl"
        return _Recorder(Transcript(path, self._kit.redact))

    def _brief(self, entry: Entry, number: int, found: Localization) -> Brief:
        case, trial = entry.case, self._kit.trial
        base = trial.mirror.tree_of(case.base_commit)
        plan = trial.plan(base, trial.config(base))
        return Brief(
            category=Category.BUG,
            issue_number=number,
            title=case.title,
            body=case.body,
            repository="evaluation/case",
            test_command=plan.shown if plan else "",
            suspects="\n".join(
                f"{suspect.path}:{suspect.first_line} {suspect.symbol}".strip()
                for suspect in found.suspects[:10]
            ),
            slices=found.slices,
            one_shot=entry.how == ONE_SHOT,
        )

    def _next_number(self) -> int:
        """Return a number that no run had, whatever became of it: each has its own account and transcript."""
        folder = self._kit.out / TRANSCRIPTS
        taken = [int(match[1]) for path in folder.glob("*") if (match := _NUMBERED.match(path.name))]
        return 1 + max([self._ledger.last_attempt, *taken], default=0)

    def _result(self, entry: Entry, seen: _Seen) -> dict[str, object]:
        ranked, verdict = [suspect.path for suspect in seen.found.suspects], seen.verdict
        ranks = [ranked.index(path) + 1 if path in ranked else 0 for path in entry.case.gold_files]
        return {
            "how": entry.how,
            "strategy": entry.strategy,
            "case": entry.case.id,
            "attempt": seen.number,
            "model": self._kit.model,
            "resolved": verdict is not None and verdict.resolved and not verdict.refused,
            "refused": verdict is not None and verdict.refused,
            "ending": seen.ending,
            "why": verdict.why if verdict is not None else seen.ending,
            "files": list(verdict.files) if verdict is not None else [],
            "gold_ranks": ranks,
            "steps": self._ledger.calls_on_attempt(seen.number),
            "dollars": f"{self._ledger.spent_on_attempt(seen.number):f}",
            "seconds": round(seen.seconds, 1),
        }


@dataclass(frozen=True, slots=True)
class _Seen:
    """What one run came to."""

    number: int
    found: Localization
    ending: str
    verdict: Verdict | None
    seconds: float


@dataclass(frozen=True, slots=True)
class _Recorder:
    """Implements `domain.ports.Observer` over a transcript."""

    transcript: Transcript

    def restated(self, restatement: Restatement) -> None:
        """It is in the step's record."""

    def stepped(self, step: int, record: Mapping[str, object]) -> None:
        """Write the step down."""
        self.transcript.append({**record, "step": step})

    def listen(self) -> tuple[str, ...]:
        """Nobody says anything meanwhile."""
        return ()

    def should_stop(self) -> bool:
        """Go on; Ctrl-C ends the process."""
        return False


def due(cases: Sequence[EvalCase], ways: Sequence[tuple[str, str]], results: Path) -> list[Entry]:
    """Return the entries that have no result yet."""
    done = {(str(each["how"]), str(each["strategy"]), str(each["case"])) for each in lines.read(results)}
    entries = [Entry(case=case, how=how, strategy=strategy) for case in cases for how, strategy in ways]
    return [entry for entry in entries if entry.key not in done]


def patch_in(answer: str) -> str:
    """Return the diff in an answer, fenced or bare; "" where there is none."""
    blocks = [block for block in _blocks(answer) if _HEADER.search(block)]
    if blocks:
        return "".join(blocks)
    bare = _HEADER.search(answer)
    return answer[bare.start() :].rstrip("\n") + "\n" if bare else ""


def _blocks(answer: str) -> Iterator[str]:
    """Yield what stands in fences that are closed."""
    ticks, block = "", list[str]()
    for line in answer.split("\n"):
        fence = _FENCE.fullmatch(line.rstrip())
        if ticks and line.rstrip() == ticks:
            yield "".join(f"{each}\n" for each in block)
            ticks, block = "", []
        elif ticks:
            block.append(line)
        elif fence:
            ticks = fence[1]


def _ending(report: AgentReport) -> str:
    if report.claim is not None:
        return "handed in"
    stopped = f"{report.stopped_by}: " if report.stopped_by else ""
    return one_line(f"{stopped}{report.stop_detail or 'stopped'}", 200)


def _task(entry: Entry, number: int) -> Task:
    now = datetime.fromtimestamp(0, UTC)
    return Task(
        id=number,
        issue=IssueRef(forge="evaluation", repository_id="0", number=number),
        repository_name="evaluation/case",
        category=Category.BUG,
        title=entry.case.title,
        body=entry.case.body,
        requested_by=_SOMEBODY,
        state=State.RUNNING,
        created_at=now,
        updated_at=now,
    )


def _attempt(number: int) -> Attempt:
    started = datetime.fromtimestamp(0, UTC)
    return Attempt(id=number, task_id=number, number=1, started_at=started)
