"""`fixwright eval ablation` and `baseline`: what a model makes of cases, bounded before it begins."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from rich.console import Console
from rich.table import Table

from app.evaluation import lines
from app.evaluation.building import REPOSITORY
from app.evaluation.case_files import EvalCase, read_cases
from app.evaluation.contest import AGENT, ONE_SHOT, RESULTS, SPENT, Contest, Entry, Equipment, due
from app.evaluation.ledger import FileLedger
from app.log import warnings_on_stderr
from app.settings import WorkerSettings, load_worker_settings, network_variables, provider_keys
from domain.budget import ZERO, Caps, cost_of, show_money
from domain.errors import ConfigurationError, Unpriced
from domain.model import Price, Usage
from domain.ports import SandboxPolicy
from domain.text import Redactor
from harness.agent.process import ChildAgent
from harness.agent.settings import AgentSettings, ModelSettings
from harness.git import GitRunner, Mirror
from harness.localize import STRATEGIES
from harness.prices import PriceList
from harness.trial import Trial
from harness.workspace import Workspace, Workspaces, remove_tree

WIDTH = 110
MOST_INPUT = 60_000
"""Tokens of a one-shot question: more than its parts have bytes."""

TRIES = 2
"""Calls that may be paid for in one shot: one that was lost on the way may be made again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is asked for: cases, ways (how, and the localizer's strategy), and where to write."""

    cases: Path
    out: Path
    ways: Sequence[tuple[str, str]]
    limit: int
    yes: bool


def ways_of(how: str, strategies: str) -> list[tuple[str, str]]:
    """Return the ways that a list of strategies means. Raises ConfigurationError."""
    names = [name.strip() for name in strategies.split(",") if name.strip()]
    unknown = [name for name in names if name not in STRATEGIES]
    if unknown or not names:
        said = f"there is no strategy {unknown[0][:60]!r}" if unknown else "names none"
        raise ConfigurationError(f"--strategies: {said}; there are {', '.join(STRATEGIES)}")
    return [(how, name) for name in dict.fromkeys(names)]


@warnings_on_stderr()
def compare(order: Order, *, as_json: bool) -> str:
    """Run what has no result yet, and return all results as text.

    Raises ConfigurationError before anything is spent, ProviderUnavailable, SandboxError, GitError.
    """
    settings = load_worker_settings()
    price = _price(settings)
    cases = read_cases(order.cases, order.limit)
    order.out.mkdir(parents=True, exist_ok=True)
    entries = due(cases, order.ways, order.out / RESULTS)
    if entries:
        caps = _caps_of_one(order, settings, price)
        bound = ZERO if price.free else len(entries) * caps.max_cost_per_task_usd
        _agree(order, entries, caps, f"{settings.model}: {show_money(bound)}")
        most = FileLedger(order.out / SPENT).spent + bound
        caps = replace(caps, max_daily_cost_usd=most, max_daily_cost_total_usd=most, max_attempts=1)
        with _equipped(order, settings, price, caps) as kit:
            _run(Contest(kit), entries)
    results = [each for each in lines.read(order.out / RESULTS) if _is_wanted(each, order.ways, cases)]
    return json.dumps(_summary(results, order.ways)) + "\n" if as_json else _table(results, order.ways)


def _price(settings: WorkerSettings) -> Price:
    """Return the model's price. Raises ConfigurationError where there is no model, key or price."""
    if not settings.model:
        raise ConfigurationError(
            "FIXWRIGHT_MODEL: is not set; for example FIXWRIGHT_MODEL=anthropic/claude-sonnet-4-5"
        )
    if not (settings.api_key.get_secret_value() or provider_keys() or settings.api_base):
        raise ConfigurationError(
            f"no key is set for {settings.model}: set the provider's own variable, such as ANTHROPIC_API_KEY"
            " or OPENAI_API_KEY, or FIXWRIGHT_API_KEY"
        )
    try:
        return PriceList(settings.model_prices, estimate=settings.estimate_price)(settings.model)
    except Unpriced as error:
        raise ConfigurationError(str(error)) from None


def _caps_of_one(order: Order, settings: WorkerSettings, price: Price) -> Caps:
    """Return the caps of one run: the service's own, or for a single call what that can cost at most."""
    caps = settings.caps
    if any(how == AGENT for how, _ in order.ways):
        return caps
    one = cost_of(Usage(input_tokens=MOST_INPUT, output_tokens=settings.max_output_tokens), price)
    most = min(caps.max_cost_per_task_usd, TRIES * one)
    return replace(caps, max_cost_per_task_usd=most, max_iterations=TRIES)


def _agree(order: Order, entries: Sequence[Entry], caps: Caps, bound: str) -> None:
    """Say what it may cost, and go on only with a yes. Raises ConfigurationError."""
    model, _, most = bound.rpartition(": ")
    sys.stderr.write(
        f"{len(entries)} runs of {model} are due. They cost at most {most} together: at most "
        f"{show_money(caps.max_cost_per_task_usd)} and {caps.max_iterations} calls each.\n"
    )
    if order.yes:
        return
    if not sys.stdin.isatty():
        raise ConfigurationError(f"nothing was spent: say --yes to spend up to {most}")
    sys.stderr.write("Go on? [y/N] ")
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise ConfigurationError("nothing was spent")


@contextmanager
def _equipped(order: Order, settings: WorkerSettings, price: Price, caps: Caps) -> Iterator[Equipment]:
    """Yield what runs need, in places that are gone afterwards."""
    from app.work import sandbox_for

    sandbox = sandbox_for(settings)
    sandbox.self_test()
    owner = (settings.sandbox_uid, settings.sandbox_uid) if os.geteuid() == 0 else None
    place = Path(tempfile.mkdtemp(prefix="fixwright-contest-"))
    place.chmod(0o711)
    runner = GitRunner(place / "git-home")
    mirror = Mirror(order.cases.resolve() / REPOSITORY, runner)
    workspaces = Workspaces(place / "ground", owner, runner)
    try:
        yield Equipment(
            model=settings.model,
            price=price,
            caps=caps,
            agent=_agent(settings, place / "agent-home"),
            sandbox=sandbox,
            limits=lambda workspace: _limits(settings, workspace),
            workspaces=workspaces,
            trial=Trial(sandbox, workspaces, mirror),
            out=order.out.resolve(),
            redact=Redactor([settings.api_key.get_secret_value(), *provider_keys().values()]),
        )
    finally:
        remove_tree(place)


def _agent(settings: WorkerSettings, home: Path) -> ChildAgent:
    return ChildAgent(
        python=sys.executable,
        home=home,
        model=ModelSettings(
            name=settings.model,
            api_key=settings.api_key.get_secret_value(),
            api_base=settings.api_base,
            keys=provider_keys(),
            max_output_tokens=settings.max_output_tokens,
            call_seconds=settings.model_timeout_seconds,
        ),
        settings=AgentSettings(
            max_steps=settings.max_iterations,
            wall_seconds=settings.max_minutes * 60,
            command_seconds=settings.command_timeout_seconds,
        ),
        network=network_variables(),
    )


def _limits(settings: WorkerSettings, workspace: Workspace) -> SandboxPolicy:
    return SandboxPolicy(
        writable=workspace.tree,
        scratch=workspace.scratch,
        memory_bytes=settings.sandbox_memory_mb * 2**20,
        disk_bytes=settings.sandbox_disk_mb * 2**20,
    )


def _run(contest: Contest, entries: Sequence[Entry]) -> None:
    for count, entry in enumerate(entries, 1):
        result = contest.run(entry)
        sys.stderr.write(
            f"{count} of {len(entries)}: {entry.case.id}, {entry.how}, {entry.strategy}: {result['why']} "
            f"(${result['dollars']})\n"
        )


def _is_wanted(result: dict[str, object], ways: Sequence[tuple[str, str]], cases: Sequence[EvalCase]) -> bool:
    way = (str(result["how"]), str(result["strategy"]))
    return way in ways and any(case.id == result["case"] for case in cases)


def _summary(results: Sequence[dict[str, object]], ways: Sequence[tuple[str, str]]) -> dict[str, object]:
    rows = []
    for how, strategy in ways:
        own = [each for each in results if (each["how"], each["strategy"]) == (how, strategy)]
        dollars = sum((Decimal(str(each["dollars"])) for each in own), ZERO)
        resolved = sum(bool(each["resolved"]) for each in own)
        rows.append(
            {
                "how": how,
                "strategy": strategy,
                "runs": len(own),
                "resolved": resolved,
                "refused": sum(bool(each["refused"]) for each in own),
                "dollars": f"{dollars:f}",
                "dollars_per_resolved": f"{dollars / resolved:.4f}" if resolved else None,
                "steps": sum(int(str(each["steps"])) for each in own),
                "seconds": round(sum(float(str(each["seconds"])) for each in own), 1),
                **{f"acc{k}": _within(own, k) for k in (1, 3, 5)},
            }
        )
    return {"rows": rows, "results": len(results)}


def _within(results: Sequence[dict[str, object]], k: int) -> float:
    """Return the share of cases all of whose files are among the first k."""
    ranks = [each["gold_ranks"] for each in results]
    hits = [all(0 < rank <= k for rank in found) for found in ranks if isinstance(found, list) and found]
    return round(sum(hits) / len(hits), 3) if hits else 0.0


def _table(results: Sequence[dict[str, object]], ways: Sequence[tuple[str, str]]) -> str:
    table = Table(title="resolved: the fix's own tests pass, none breaks, and the guard lets it pass")
    for heading in (
        "by",
        "localizer",
        "runs",
        "resolved",
        "refused",
        "dollars",
        "per resolved",
        "calls",
        "acc@1/3/5",
    ):
        table.add_column(heading, justify="left" if heading in {"by", "localizer"} else "right", no_wrap=True)
    rows = _summary(results, ways)["rows"]
    for row in rows if isinstance(rows, list) else ():
        share = f"{100 * row['resolved'] / row['runs']:.0f} %" if row["runs"] else "–"
        acc = "/".join(f"{100 * row[f'acc{k}']:.0f}" for k in (1, 3, 5))
        table.add_row(
            row["how"],
            row["strategy"],
            str(row["runs"]),
            f"{row['resolved']} ({share})",
            str(row["refused"]),
            row["dollars"],
            row["dollars_per_resolved"] or "–",
            str(row["steps"]),
            acc,
        )
    console = Console(width=WIDTH, highlight=False)
    with console.capture() as captured:
        console.print(table)
    return captured.get()


__all__ = ["AGENT", "ONE_SHOT", "Order", "compare", "ways_of"]
