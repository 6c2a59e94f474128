"""The command `fixwright doctor`: all looks in order, as lines or JSON; status 0 only without a fail."""

from __future__ import annotations

import io
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, replace

from app.doctor import machine
from app.doctor.forges import forges
from app.doctor.given import Given, look_at_settings
from app.doctor.lines import Lines, looked
from app.doctor.model import model
from app.doctor.service import processes, public_address
from app.log import configure_logging
from app.settings import data_directory_alone, provider_keys, secret_values
from domain.ports import Examination, Standing
from domain.text import Redactor, plain

AGAIN = "the message tells; try again"


def check_up(*, as_json: bool) -> int:
    """Look at everything, print it, and return the exit status."""
    given = look_at_settings()
    redact = Redactor([*given.secrets, *secret_values(provider_keys())])
    configure_logging("json", redact=redact, stream=io.StringIO())  # the lines say it all
    counts: Counter[Standing] = Counter()
    told: list[dict[str, str]] = []
    for line in _clean(_looks(given, redact), redact):
        counts[line.standing] += 1
        if as_json:
            told.append({key: str(value) for key, value in asdict(line).items()})
        else:
            _print(line)
    summary = {standing.value: counts[standing] for standing in Standing}
    if as_json:
        sys.stdout.write(json.dumps({**summary, "lines": told}) + "\n")
    else:
        sys.stdout.write(f"\n{', '.join(f'{count} {name}' for name, count in summary.items())}\n")
    return 1 if counts[Standing.FAIL] else 0


def _looks(given: Given, redact: Redactor) -> Lines:
    yield from given.lines
    web, worker = given.web, given.worker
    either = worker or web
    data = either.data_dir if either else data_directory_alone()
    least = worker.min_free_mb if worker else machine.LEAST_FREE_MB
    yield from looked("data directory", lambda: machine.data_directory(data, least), AGAIN)
    yield from looked("database", lambda: machine.database(data / "fixwright.sqlite3"), AGAIN)
    yield from looked("git", machine.git, AGAIN)
    if worker is not None:
        yield from looked("sandbox", lambda: machine.sandbox(worker), "docs/how-to/sandbox.md")
        yield from looked("tools", lambda: machine.tools(worker), AGAIN)
        yield from looked("model", lambda: model(worker), AGAIN)
    if web is not None:
        yield from looked("service", lambda: processes(web), AGAIN)
        yield from looked("public address", lambda: public_address(web), AGAIN)
    if worker is not None and not worker.awaits_app:
        yield from forges(worker, redact.lend)


def _clean(lines: Lines, redact: Redactor) -> Iterator[Examination]:
    """Take secrets and whatever a terminal would obey out of every line."""
    for line in lines:
        words, fix = (" ".join(plain(redact(text)).split()) for text in (line.words, line.fix))
        yield replace(line, words=words, fix=fix)


def _print(line: Examination) -> None:
    sys.stdout.write(f"{line.standing.value:<5} {line.subject}: {line.words}\n")
    if line.fix and line.standing is not Standing.OK:
        sys.stdout.write(f"      → {line.fix}\n")
    sys.stdout.flush()
