"""What a failed model call means: wait and try again, shorten the conversation, or stop with a reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from enum import Enum

import httpx
import litellm

from domain.text import one_line
from harness.agent.retry_after import seconds_asked_for

LONGEST_SAYING = 400
"""Characters of what a provider said that are passed on."""

_NO_CREDIT = re.compile(
    r"insufficient[_ ](quota|credit|fund|balance)|credit balance|out of credit|no credit|billing_hard_limit"
    r"|payment required|billing_not_active|spending limit",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"context[_ ]?(length|window|size|limit)|maximum context|prompt is too long|too many (input )?tokens"
    r"|input is too long|exceeds? .{0,40}(context|token limit|maximum number of tokens)|reduce the length"
    r"|maximum (prompt|model) length|request_too_large|tokens \+ .max_new_tokens. must be",
    re.IGNORECASE,
)
"""How OpenAI, Anthropic, Gemini, vLLM, llama.cpp, Ollama, Bedrock, xAI, TGI and OpenRouter say it."""

_TOO_LARGE_FOR_THE_RATE = re.compile(r"request too large for .{0,80}(token|tpm)", re.IGNORECASE)
"""A single request above the tokens allowed per minute: no waiting will let it through."""

_BAD_KEY = re.compile(r"api[_ ]?key[_ ](not[_ ]valid|invalid|expired)|invalid[_ ]api[_ ]key", re.IGNORECASE)
_WORTH_ANOTHER_TRY = {408, 409, 425, 429}
_CHECK_KEY = "check FIXWRIGHT_API_KEY, or the key under the provider's own name such as OPENAI_API_KEY"
_CHECK_MODEL = "check FIXWRIGHT_MODEL and FIXWRIGHT_API_BASE"
_NO_CREDIT_LEFT = "the account at the model's provider has no credit left"
_CHECK_ACCOUNT = "top up the account, or set another key"


class Kind(Enum):
    """What can be done about a failed call."""

    TRANSIENT = "transient"
    PERMANENT = "permanent"
    REFUSED = "refused"
    """The service's key or account: the same for every task, until somebody puts it right."""
    OVERFLOW = "overflow"


class Trouble(Exception):
    """A call that failed.

    `may_be_billed` says that the provider may have worked for it all the same; `retry_after` are the seconds
    for which the provider asked to be left alone.
    """

    def __init__(
        self, kind: Kind, message: str, *, may_be_billed: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.may_be_billed = may_be_billed
        self.retry_after = retry_after


def trouble_of(error: Exception, redact: Callable[[str], str] = str) -> Trouble:
    """Say what a failed call means: by litellm's class, then the status, then the words.

    `redact` sees the provider's words whole, before they are cut.
    """
    status = getattr(error, "status_code", None)
    words = _words(error)
    said = one_line(redact(str(error)), LONGEST_SAYING)
    asked = seconds_asked_for(_headers(error), words, datetime.now(UTC))
    if isinstance(error, litellm.exceptions.Timeout):
        text = f"the model's provider did not answer in time: {said}"
        return Trouble(Kind.TRANSIENT, text, may_be_billed=True, retry_after=asked)
    if _never_sent(error):
        text = f"the model's provider cannot be reached ({_CHECK_MODEL} if this stays): {said}"
        return Trouble(Kind.TRANSIENT, text)
    if _is_too_long(error, status, words):
        return Trouble(Kind.OVERFLOW, f"the conversation does not fit the model's context: {said}")
    lasting = _lasting(status, words)
    if lasting:
        is_ours = status == 401 or lasting.startswith(_NO_CREDIT_LEFT)
        return Trouble(Kind.REFUSED if is_ours else Kind.PERMANENT, f"{lasting}: {said}")
    if _answer_lost(error):
        text = f"the answer of the model's provider was lost or cannot be read: {said}"
        return Trouble(Kind.TRANSIENT, text, may_be_billed=True, retry_after=asked)
    what = "limits the rate" if status == 429 else "failed"
    text = f"the model's provider {what} ({status or type(error).__name__}): {said}"
    return Trouble(Kind.TRANSIENT, text, retry_after=asked)


def _lasting(status: object, words: str) -> str:
    """Say what somebody has to put right before another call makes sense, or return ""."""
    if status == 402 or (status in {400, 403, 429} and _NO_CREDIT.search(words)):
        return f"{_NO_CREDIT_LEFT} ({_CHECK_ACCOUNT})"
    if status in {401, 403} or (status == 400 and _BAD_KEY.search(words)):
        return f"the model's provider refuses the key ({status}; {_CHECK_KEY})"
    if status == 404:
        return f"the model's provider does not know the model (404; {_CHECK_MODEL})"
    if isinstance(status, int) and 400 <= status < 500 and status not in _WORTH_ANOTHER_TRY:
        return f"the model's provider rejects the request ({status})"
    return ""


def _is_too_long(error: Exception, status: object, words: str) -> bool:
    """Tell whether a shorter conversation may pass. Servers of one's own say so with a 500 as well."""
    if isinstance(error, litellm.exceptions.ContextWindowExceededError):
        return True
    if status == 429:
        return bool(_TOO_LARGE_FOR_THE_RATE.search(words))
    return status in {400, 413, 422, 500} and bool(_TOO_LONG.search(words))


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in seen:
        seen.append(at)
        yield at
        at = at.__cause__ or at.__context__


def _never_sent(error: Exception) -> bool:
    return any(isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout) for cause in _causes(error))


def _answer_lost(error: Exception) -> bool:
    """Tell whether the request went out and neither an answer nor a refusal could be read."""
    return not any(isinstance(cause, httpx.HTTPStatusError) for cause in _causes(error))


def _words(error: Exception) -> str:
    """Return all that the provider said, with the error's code, which litellm leaves out of its message."""
    said = [f"{cause} {getattr(cause, 'code', '')} {getattr(cause, 'body', '')}" for cause in _causes(error)]
    return " ".join(said)


def _headers(error: Exception) -> Mapping[str, str]:
    """Return the headers of the answer that the failure came with, if any."""
    for cause in _causes(error):
        response = getattr(cause, "response", None)
        for headers in (getattr(response, "headers", None), getattr(cause, "litellm_response_headers", None)):
            if isinstance(headers, Mapping) and headers:
                return {str(name): str(value) for name, value in headers.items()}
    return {}
