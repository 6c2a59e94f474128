"""Keeps the difference that an attempt came to beside its transcript, for the operator to read."""

from __future__ import annotations

from pathlib import Path

import structlog

from domain.errors import GitError
from domain.model import Attempt, Verdict
from domain.text import Redactor
from harness.git import Mirror
from worker.gate import write_for_owner
from worker.retention import DIFFERENCE

log = structlog.get_logger(__name__)


def keep_difference(
    mirror: Mirror, attempt: Attempt, verdict: Verdict | None, to: Path, redact: Redactor
) -> None:
    """Write what was judged, live secrets taken out. Where that fails, a page shows less, and no more."""
    if verdict is None or not verdict.tree or not verdict.base_sha:
        return
    try:
        patch = mirror.patch(mirror.tree_of(verdict.base_sha), verdict.tree)
        write_for_owner(to.with_suffix(DIFFERENCE), redact(patch))
    except (GitError, OSError) as error:
        log.warning("difference not kept", attempt=attempt.id, error=str(error))
