"""Baselines that were run before: used again where nothing that they depend on has changed."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog
from pydantic import TypeAdapter, ValidationError

from domain.model import TestRun
from harness.testing.cases import Case, Observed
from harness.testing.plan import TestPlan

MOST_KEPT = 20
LARGEST = 16 * 2**20
"""Bytes of one baseline before it is compressed; a larger one is run again."""
OLDEST = timedelta(hours=24)
"""What a suite depends on beside the repository and its tools, such as the date, changes sooner or later."""

_FORM = "2"
"""Of what is kept, and of how runs are read. Whoever changes either changes this."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """All that a run depends on: the tree, the plan, the time it has, the sandbox, and the tools in it.

    `toolkit` is "" where it could not be found out; then nothing is kept.
    """

    tree: str
    plan: TestPlan
    timeout_seconds: int
    isolation: str
    limits: str
    toolkit: str

    @property
    def key(self) -> str:
        """Return their fingerprint, "" where they are not known well enough."""
        if not self.toolkit:
            return ""
        plan = self.plan
        facts = [
            *(_FORM, self.tree, str(self.timeout_seconds), self.isolation, self.limits, self.toolkit),
            *(plan.command, plan.runner, plan.reach, plan.directory, plan.place, plan.doubt, *plan.arguments),
            *(f"{name}={value}" for name, value in sorted(plan.env.items())),
        ]
        return hashlib.sha256(json.dumps(facts).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class _Kept:
    """The form in which one is written."""

    run: TestRun
    cases: dict[str, Case]
    output: str


@dataclass(frozen=True, slots=True)
class KeptBaselines:
    """A directory of baselines, at most `MOST_KEPT`. Losing it costs time, nothing else."""

    directory: Path
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    def find(self, circumstances: Circumstances) -> Observed | None:
        """Return what was seen under the very same circumstances not too long ago, or None."""
        key = circumstances.key
        if not key:
            return None
        kept = self._read(self.directory / key)
        if kept is None or kept.run.tree != circumstances.tree or kept.run.at is None:
            return None
        age = self.now() - kept.run.at
        if not timedelta(0) <= age <= OLDEST:
            return None
        _log.info("baseline used again", tree=circumstances.tree, age_seconds=round(age.total_seconds()))
        return Observed(run=replace(kept.run, reused=True), cases=kept.cases, output=kept.output)

    def keep(self, circumstances: Circumstances, observed: Observed) -> None:
        """Write a baseline down; what cannot be written is run again another time."""
        key = circumstances.key
        data = TypeAdapter(_Kept).dump_json(_Kept(observed.run, dict(observed.cases), observed.output))
        if not key or len(data) > LARGEST:
            return
        try:
            self.directory.mkdir(mode=0o700, exist_ok=True)
            self._write(key, zlib.compress(data, 1))
            self._forget_oldest()
        except OSError as error:
            _log.warning("a baseline could not be kept", problem=str(error))

    def _write(self, key: str, data: bytes) -> None:
        descriptor, name = tempfile.mkstemp(prefix=".new-", dir=self.directory)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            Path(name).replace(self.directory / key)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise

    def _read(self, path: Path) -> _Kept | None:
        try:
            with path.open("rb") as file:
                data = file.read(LARGEST + 1)
            unpacked = zlib.decompressobj().decompress(data, LARGEST)
            return TypeAdapter(_Kept).validate_json(unpacked)
        except FileNotFoundError:
            return None
        except (OSError, zlib.error, ValidationError) as error:
            _log.warning("a kept baseline cannot be read", problem=type(error).__name__)
            return None

    def _forget_oldest(self) -> None:
        entries = sorted(self.directory.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        for path in entries[: max(0, len(entries) - MOST_KEPT)]:
            path.unlink(missing_ok=True)
