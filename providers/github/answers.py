"""What a refusal by GitHub means: worth a retry, how long to wait, or for good and why. Pure."""

from __future__ import annotations

import email.utils
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

from domain.text import clip

Headers = Mapping[str, str]
"""Names in lower case."""

_LIMIT_WORDS = re.compile(
    r"rate limit|abuse detection|wait a few minutes|retry your request again later|submitted too quickly",
    re.IGNORECASE,
)
_NOT_GRANTED = re.compile(r"not accessible by|not granted to this installation", re.IGNORECASE)


class Kind(Enum):
    """The kinds of refusal, by what is to be done about them."""

    UNAUTHORIZED = auto()
    """The token or key was not taken: a new one, once."""
    LIMITED = auto()
    """Too many requests: wait as long as it says."""
    TRANSIENT = auto()
    """GitHub is in trouble: try again soon, if trying twice does no harm."""
    MISSING = auto()
    """Not there, or not to be seen by us."""
    FORBIDDEN = auto()
    """A permission is lacking, or the repository is read-only."""
    INVALID = auto()
    """GitHub understood, and refuses the content: 422 and its kin."""
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal judged. `wait` are seconds, None where GitHub does not say; `message` is fit for people."""

    kind: Kind
    status: int
    message: str
    wait: float | None = None
    codes: tuple[str, ...] = ()


def judge(status: int, headers: Headers, data: object, now: float) -> Refusal:
    """Say what an answer of 400 and above means. `now` is our clock, in seconds since 1970."""
    message = said(data) or f"status {status}"
    if status in {403, 429} and _is_limit(status, headers, message):
        return Refusal(Kind.LIMITED, status, message, seconds_to_wait(headers, now))
    if status == 401:
        return Refusal(Kind.UNAUTHORIZED, status, message)
    if status in {404, 410, 451}:
        return Refusal(Kind.MISSING, status, message)
    if status == 403:
        needed = headers.get("x-accepted-github-permissions", "")
        return Refusal(Kind.FORBIDDEN, status, f"{message} (it needs {needed})" if needed else message)
    if status in {408, 425} or (status >= 500 and status != 501):
        return Refusal(Kind.TRANSIENT, status, message, _retry_after(headers, now))
    if status in {400, 409, 413, 422}:
        return Refusal(Kind.INVALID, status, message, codes=_codes(data))
    return Refusal(Kind.OTHER, status, message)


def _is_limit(status: int, headers: Headers, message: str) -> bool:
    """Tell a limit from a lacking permission: both come as 403, and the last request allowed says 0 left."""
    if status == 429 or _LIMIT_WORDS.search(message):
        return True
    if _NOT_GRANTED.search(message):
        return False
    return "retry-after" in headers or headers.get("x-ratelimit-remaining") == "0"


def seconds_to_wait(headers: Headers, now: float) -> float | None:
    """Return how long GitHub asks us to wait, reckoned by its own clock where it tells it, or None."""
    asked = _retry_after(headers, now)
    if asked is not None:
        return asked
    if headers.get("x-ratelimit-remaining") != "0":
        return None
    try:
        reset = float(headers.get("x-ratelimit-reset", ""))
    except ValueError:
        return None
    there = their_clock(headers)
    return max(1.0, reset - (now if there is None else there) + 1.0)


def _retry_after(headers: Headers, now: float) -> float | None:
    text = headers.get("retry-after", "").strip()
    if re.fullmatch(r"\d{1,7}(\.\d+)?", text, re.ASCII):
        return float(text)
    moment = _moment(text)
    return None if moment is None else max(0.0, moment - (their_clock(headers) or now))


def their_clock(headers: Headers) -> float | None:
    """Return GitHub's clock as the answer's date tells it, in seconds since 1970, or None."""
    return _moment(headers.get("date", ""))


def _moment(text: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None


def said(data: object) -> str:
    """Return GitHub's words: its message and what it says of single fields. At most 600 characters."""
    if not isinstance(data, Mapping):
        return ""
    message = data.get("message") or data.get("data") or ""
    details = [detail for detail in (_detail(error) for error in _errors(data)) if detail]
    text = ": ".join(part for part in (str(message).strip(), "; ".join(details)) if part)
    return clip(" ".join(text.split()), 600)


def _errors(data: Mapping[object, object]) -> list[object]:
    errors = data.get("errors")
    if isinstance(errors, str):
        return [errors]
    return list(errors) if isinstance(errors, list) else []


def _detail(error: object) -> str:
    if isinstance(error, str):
        return error
    if not isinstance(error, Mapping):
        return ""
    if error.get("message"):
        return str(error["message"])
    return " ".join(str(error[key]) for key in ("resource", "field", "code") if error.get(key))


def _codes(data: object) -> tuple[str, ...]:
    """Return `field:code` of each error, such as "head:invalid"."""
    if not isinstance(data, Mapping):
        return ()
    found = (error for error in _errors(data) if isinstance(error, Mapping))
    return tuple(f"{error.get('field', '')}:{error.get('code', '')}" for error in found)
