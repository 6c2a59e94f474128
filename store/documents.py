"""Values kept whole as JSON text: events that wait for the worker, and the harness' verdicts."""

from __future__ import annotations

import json
import zlib
from typing import TypeVar

from pydantic import TypeAdapter

from domain.events import (
    CommandGiven,
    Event,
    IssueClosed,
    IssueLabelled,
    IssueUnlabelled,
    PullClosed,
    Uninteresting,
)
from domain.model import Verdict
from domain.noted import (
    CheckAsked,
    InstallationChanged,
    IssueChanged,
    IssueCommented,
    PullCommented,
    RepositoryChanged,
    ReviewCommented,
    ReviewGiven,
)

_Value = TypeVar("_Value")

_EVENT_KINDS: dict[str, type[Event]] = {
    kind.__name__: kind
    for kind in (
        *(IssueLabelled, IssueUnlabelled, IssueClosed, CommandGiven, PullClosed, Uninteresting),
        *(CheckAsked, InstallationChanged, IssueChanged, IssueCommented, RepositoryChanged),
        *(ReviewGiven, ReviewCommented, PullCommented),
    )
}


def event_text(event: Event) -> str:
    """Write an event as JSON; its kind is kept beside it."""
    return _dump(event, TypeAdapter(type(event)))


def event_from(kind: str, text: str) -> Event:
    """Read what `event_text` wrote. Raises KeyError for a kind that is not known."""
    event: Event = TypeAdapter(_EVENT_KINDS[kind]).validate_json(text)
    return event


def verdict_blob(verdict: Verdict) -> bytes:
    """Write a verdict as compressed JSON: the names of passed tests alone can be megabytes."""
    return zlib.compress(_dump(verdict, TypeAdapter(Verdict)).encode(), 1)


def verdict_from(blob: bytes) -> Verdict:
    """Read what `verdict_blob` wrote."""
    return TypeAdapter(Verdict).validate_json(zlib.decompress(blob))


def _dump(value: _Value, adapter: TypeAdapter[_Value]) -> str:
    text = json.dumps(adapter.dump_python(value, mode="json"), ensure_ascii=False)
    return text.encode("utf-8", "replace").decode("utf-8")
