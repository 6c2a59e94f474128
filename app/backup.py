"""The commands `backup` and `restore`: which files they mean, and what they say to the operator."""

from __future__ import annotations

import re
from pathlib import Path

from app.clock import SystemClock
from app.settings import CommonSettings, load_common_settings
from store.backup import Contents, back_up, restore

_TRANSCRIPT = re.compile(r"attempt-(\d{1,18})\.jsonl(\.gz)?")


def back_up_to(file: Path, *, replace: bool) -> str:
    """Write a copy of the service's database, and return what to tell. Raises FixwrightError."""
    settings = load_common_settings()
    contents = back_up(settings.database_path, file.absolute(), replace=replace)
    return (
        f"{file}: {_shown(contents)}\n"
        "Not in it: mirrors (they are fetched again), transcripts and unpublished work of attempts under way "
        "(such an attempt begins anew, with what is left of its budget), settings and secrets."
    )


def restore_from(file: Path) -> str:
    """Put a copy in place of the service's database, and return what to tell. Raises FixwrightError."""
    settings = load_common_settings()
    settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o711)
    moment = SystemClock().now()
    contents, aside = restore(file.absolute(), settings.database_path, moment)
    moved = _put_aside_transcripts(settings, contents.last_attempt, f"before-{moment:%Y%m%dT%H%M%SZ}")
    lines = [f"{settings.database_path}: {_shown(contents)}"]
    if aside is not None:
        lines.append(f"The old database is kept as {aside}.")
    if moved:
        lines.append(f"{moved} transcripts of attempts that the copy does not know were put aside.")
    lines.append(
        "Next: start the service. It fetches its mirrors again, and its sweep finds labels that were put on "
        "since, and issues and pull requests that were closed. What was spent since the copy was made is not "
        "in it: the daily budgets count from the copy."
    )
    return "\n".join(lines)


def _shown(contents: Contents) -> str:
    newest = f"{contents.newest:%Y-%m-%d %H:%M:%S} UTC" if contents.newest else "nothing yet"
    return (
        f"{contents.bytes} bytes, whole, schema {contents.schema}; {contents.tasks} tasks "
        f"({contents.live_tasks} live), {contents.attempts} attempts, {contents.deliveries} deliveries; "
        f"newest: {newest}."
    )


def _put_aside_transcripts(settings: CommonSettings, last_attempt: int, name: str) -> int:
    """Move transcripts of attempts that the copy does not know: their numbers will be given again."""
    directory = settings.data_dir / "transcripts"
    unknown = [
        path
        for path in (directory.iterdir() if directory.is_dir() else [])
        if (match := _TRANSCRIPT.fullmatch(path.name)) and int(match[1]) > last_attempt
    ]
    if unknown:
        (directory / name).mkdir(mode=0o700, exist_ok=True)
    for path in unknown:
        path.rename(directory / name / path.name)
    return len(unknown)
