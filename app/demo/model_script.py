"""What a scripted model says, as data: turns, tool calls, faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

Json = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A call of one of the offered tools. `raw_arguments` is sent as it is, in place of `arguments`.

    `call_id` takes the place of an id of the endpoint's making.
    """

    name: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    raw_arguments: str | None = None
    call_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Something that goes wrong instead of an answer, the first `times` times that the turn is due.

    With `kind` "status" an HTTP error is sent; "stall" accepts and never answers; "trickle" sends a byte now
    and then; "drop" closes the connection; "headers" sends headers and nothing more.
    """

    kind: str = "status"
    status: int = 500
    body: Mapping[str, object] | str = field(default_factory=lambda: {"error": {"message": "scripted fault"}})
    headers: Mapping[str, str] = field(default_factory=dict)
    times: int = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One answer of the model. `usage` replaces fields of the counted usage; None leaves usage out."""

    text: str | None = None
    calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    delay_seconds: float = 0.0
    fault: Fault | None = None
    usage: Mapping[str, object] | None = field(default_factory=dict)


Play = Turn | Callable[[Json], Turn]
"""A turn, or a function that makes one from the request (for a model that obeys what it reads)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What a model says. `restatement` answers requests that offer the tool `restate`, `turns` all others.

    The turn is chosen by the number of assistant messages in the request, so a restarted or resumed
    conversation goes on where it stood. `then` is played when the turns are used up.
    """

    restatement: tuple[Play, ...] = ()
    turns: tuple[Play, ...] = ()
    then: Play = Turn(text="I have nothing more to do.")


def bash(command: str, text: str = "", **changes: object) -> Turn:
    """Return a turn that runs one command."""
    turn = Turn(text=text or None, calls=(ToolCall(name="bash", arguments={"command": command}),))
    return replace(turn, **changes)  # type: ignore[arg-type]  # the caller names fields of Turn


def submit(**claim: object) -> Turn:
    """Return a turn that hands in a report with these fields."""
    return Turn(calls=(ToolCall(name="submit", arguments=claim),))


def restate(**restatement: object) -> Turn:
    """Return a turn that restates the issue with these fields."""
    return Turn(calls=(ToolCall(name="restate", arguments=restatement),))
