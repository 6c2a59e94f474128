"""A request to the GitHub on loopback, its answer, and who may judge the two."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from app.demo.github.state import Token


@dataclass
class Answer:
    """What is sent back: data become JSON, bytes stay as they are."""

    status: int
    data: Any = None
    headers: dict[str, str] = field(default_factory=dict)


class Refused(Exception):
    """An error answer, raised from wherever it is found out."""

    def __init__(self, status: int, message: str, errors: list[Any] | None = None, **headers: str) -> None:
        super().__init__(message)
        data: dict[str, Any] = {"message": message, "documentation_url": "https://docs.github.com/rest"}
        if errors is not None:
            data["errors"] = errors
        self.answer = Answer(status, data, {k.replace("_", "-"): v for k, v in headers.items()})


class Moved(Refused):
    """What was asked for is somewhere else."""

    def __init__(self, status: int, location: str) -> None:
        super().__init__(status, "Moved Permanently", Location=location)


@dataclass
class Request:
    """A request as the routes see it: decoded, and with who sent it."""

    method: str
    path: str
    raw_path: str
    query: dict[str, str]
    body: Any
    headers: dict[str, str]
    token: Token | None = None
    is_app: bool = False


@dataclass(frozen=True)
class Exchange:
    """A request to the API and its answer, for whoever judges them; `path` is by name, as it is described."""

    path: str
    request: Request
    answer: Answer | None
    """None where a planned fault stands for it."""


Judge = Callable[[Exchange], Iterable[str]]
"""Tells what is wrong with an exchange."""


def approve(exchange: Exchange) -> Iterable[str]:
    """Find nothing wrong with any exchange."""
    return ()
