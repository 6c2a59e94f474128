"""Why the door does not take a request."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

Headers = Sequence[tuple[bytes, bytes]]


class Refused(Exception):
    """A delivery is not taken. `why` goes to the log; the sender learns the status alone."""

    def __init__(self, status: HTTPStatus, why: str, headers: Headers = ()) -> None:
        super().__init__(why)
        self.status = status
        self.why = why
        self.headers = headers


class SenderGone(Exception):
    """The connection ended before the request's body did."""
