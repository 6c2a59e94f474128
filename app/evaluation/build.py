"""`fixwright eval build`: cases from a repository's own fixes, and why each other commit is none."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.evaluation.building import REPOSITORY, Builder, Judgement, Wish
from app.evaluation.walks import Walk
from app.log import warnings_on_stderr
from app.settings import load_worker_settings
from domain.errors import ConfigurationError, GitError
from domain.text import one_line
from harness.git import GitRunner, Mirror
from harness.git.borrowed import borrow, looking_at, own
from harness.trial import trial_ground


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is asked for: a repository, where to write, how much, and what the sandbox may show to tests."""

    repository: Path
    out: Path
    limit: int
    scan: int
    commits: Walk = Walk.FIXES
    tools: Sequence[Path] = ()


@warnings_on_stderr()
def build(order: Order, *, as_json: bool) -> str:
    """Build, or go on building, and say what came of it. Raises ConfigurationError, SandboxError."""
    if not order.repository.is_dir():
        raise ConfigurationError(f"--repo: {order.repository} is no directory")
    settings = load_worker_settings()
    if order.tools:
        settings = settings.model_copy(
            update={"sandbox_tools": tuple(path.resolve() for path in order.tools)}
        )
    from app.work import sandbox_for

    sandbox = sandbox_for(settings)
    sandbox.self_test()
    owner = (settings.sandbox_uid, settings.sandbox_uid) if os.geteuid() == 0 else None
    order.out.mkdir(parents=True, exist_ok=True)
    mirror, head = _opened(order)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", order.repository.resolve().name).strip("-.") or "repository"
    wish = Wish(
        name=name,
        head=head,
        limit=order.limit,
        scan=order.scan,
        walk=order.commits,
    )
    judged: list[Judgement] = []
    interrupted = False
    with trial_ground(sandbox, mirror, owner) as trial:
        try:
            judged += Builder(order.out, mirror, trial, wish).build(_tell)
        except KeyboardInterrupt:
            interrupted = True
    own(mirror)
    return _as_json(judged, order, interrupted) if as_json else _as_lines(judged, order, interrupted)


def _opened(order: Order) -> tuple[Mirror, str]:
    """Return a repository of ours that borrows the history, and the commit that is checked out."""
    try:
        with looking_at(order.repository) as checkout:
            if checkout.git_dir is None:
                raise ConfigurationError(
                    f"--repo: {order.repository} has no history: it is no git repository"
                )
            head, source = checkout.commit("HEAD"), checkout.git_dir
        runner = GitRunner(order.out / "git-home")
        place = order.out.resolve() / REPOSITORY
        borrow(place, runner, source)
    except GitError as error:
        raise ConfigurationError(f"--repo: {order.repository}: {one_line(str(error), 400)}") from None
    return Mirror(place, runner), head


def _tell(judgement: Judgement) -> None:
    """Say on standard error how it goes."""
    if judgement.case or "message" not in judgement.why:
        said = f"case {judgement.case}" if judgement.case else f"dropped: {judgement.why}"
        known = " (known)" if judgement.known else ""
        subject = one_line(judgement.commit.subject, 60)
        sys.stderr.write(f"{judgement.commit.sha[:10]} {subject:60s} {said}{known}\n")


def _reasons(judged: Sequence[Judgement]) -> list[tuple[str, int]]:
    counts = Counter(each.why.partition(":")[0] for each in judged if not each.case)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _as_lines(judged: Sequence[Judgement], order: Order, interrupted: bool) -> str:
    cases = [each for each in judged if each.case]
    lines = [f"{len(judged)} commits looked at, {len(cases)} cases in {order.out / 'cases.jsonl'}"]
    lines += [f"{count:6d}  dropped: {why}" for why, count in _reasons(judged)]
    lines.append(f"Each commit's reason is in {order.out / 'judged.jsonl'}.")
    if interrupted:
        lines.append("Interrupted; the same command goes on from here.")
    elif not cases:
        lines.append(
            "No commit of this history is a fix that its tests show here; --scan looks at more of them."
        )
    return "\n".join(lines) + "\n"


def _as_json(judged: Sequence[Judgement], order: Order, interrupted: bool) -> str:
    said = {
        "commits": len(judged),
        "cases": [each.case for each in judged if each.case],
        "dropped": dict(_reasons(judged)),
        "file": str(order.out / "cases.jsonl"),
        "interrupted": interrupted,
    }
    return json.dumps(said) + "\n"
