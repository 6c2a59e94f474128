"""One call to the model's provider, with a hard deadline, and what its failure means."""

from __future__ import annotations

import queue
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar, cast

import httpx
import litellm

from domain.model import Usage
from domain.text import one_line
from harness.agent.protocol import Message
from harness.agent.settings import ModelSettings

KEPT_FIELDS = ("content", "tool_calls", "thinking_blocks")
GRACE_SECONDS = 1.0
OTHER_KEY_NAMES = {"gemini": ("GOOGLE_API_KEY",), "huggingface": ("HF_TOKEN",)}
"""Providers whose usual variable is not their name followed by _API_KEY."""

_NO_CREDIT = re.compile(
    r"insufficient[_ ](quota|credit|fund|balance)|credit balance|out of credit|no credit|billing_hard_limit"
    r"|payment required|billing_not_active|spending limit",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"context[_ ]?(length|window)|maximum context|prompt is too long|too many (input )?tokens"
    r"|input is too long|exceeds? .{0,40}(context|token limit)|reduce the length",
    re.IGNORECASE,
)

T = TypeVar("T")


class Kind(Enum):
    """What can be done about a failed call."""

    TRANSIENT = "transient"
    PERMANENT = "permanent"
    OVERFLOW = "overflow"


class Trouble(Exception):
    """A call that failed. `may_be_billed` says that the provider may have worked for it all the same."""

    def __init__(
        self, kind: Kind, message: str, *, may_be_billed: bool = False, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.may_be_billed = may_be_billed
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What came back. `usage` is None when the provider did not count; `billed` is its own figure."""

    message: Message
    finish_reason: str
    usage: Usage | None
    billed: str | None


class Provider:
    """Calls one model. The key is given with each call and kept nowhere else."""

    def __init__(self, settings: ModelSettings) -> None:
        self._settings = settings
        self._key = key_of(settings)
        litellm.telemetry = False
        litellm.suppress_debug_info = True

    @property
    def wants_cache_marks(self) -> bool:
        """Tell whether this provider caches only what is marked for it."""
        name = self._settings.name.lower()
        return "claude" in name or name.startswith("anthropic/")

    def complete(self, messages: Sequence[Message], tools: Sequence[Message], max_tokens: int) -> Completion:
        """Make one call, no more. Raises Trouble."""
        settings = self._settings
        request: Message = {
            **settings.options,
            "model": settings.name,
            "messages": cache_marked(messages) if self.wants_cache_marks else list(messages),
            "tools": list(tools),
            "max_tokens": max_tokens,
            "timeout": settings.call_seconds,
            "num_retries": 0,
            "max_retries": 0,
            "stream": False,
            "api_key": self._key,
        }
        if settings.api_base:
            request["api_base"] = settings.api_base
        try:
            response = _within(settings.call_seconds + GRACE_SECONDS, lambda: litellm.completion(**request))
            return _completion_of(response)
        except Trouble:
            raise
        except Exception as error:
            raise trouble_of(error) from error


def key_of(settings: ModelSettings) -> str | None:
    """Return the key to call with: the one that is set, else the one under the provider's usual name."""
    if settings.api_key:
        return settings.api_key
    try:
        _, provider, _, _ = litellm.get_llm_provider(settings.name)
    except litellm.exceptions.BadRequestError:
        provider = settings.name.partition("/")[0]
    usual = f"{provider.upper()}_API_KEY"
    for name in (usual, usual.replace("_AI_", "AI_"), *OTHER_KEY_NAMES.get(provider, ())):
        if settings.keys.get(name):
            return settings.keys[name]
    # A server of one's own often wants no key, but the client library insists on one.
    return "none" if settings.api_base else None


def _within(seconds: float, work: Callable[[], T]) -> T:
    """Return what `work` returns, or give up on it: a trickling socket outlives every read time-out."""
    outcome: queue.SimpleQueue[tuple[T | None, Exception | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            outcome.put((work(), None))
        except Exception as error:  # noqa: BLE001  # raised again below, in the thread that waits
            outcome.put((None, error))

    threading.Thread(target=run, name="model-call", daemon=True).start()
    try:
        value, error = outcome.get(timeout=seconds)
    except queue.Empty:
        raise Trouble(
            Kind.TRANSIENT, f"the model's provider did not answer within {seconds:.0f} s", may_be_billed=True
        ) from None
    if error is not None:
        raise error
    return cast("T", value)


def _completion_of(response: litellm.ModelResponse) -> Completion:
    if not response.choices:
        raise Trouble(Kind.TRANSIENT, "the provider's answer holds no choice", may_be_billed=True)
    choice = response.choices[0]
    whole = choice.message.model_dump(exclude_none=True)
    message: Message = {"role": "assistant"} | {key: whole[key] for key in KEPT_FIELDS if whole.get(key)}
    usage = response.model_dump().get("usage")
    return Completion(
        message=message,
        finish_reason=str(choice.finish_reason or ""),
        usage=_usage_of(usage),
        billed=_billed(usage),
    )


def _usage_of(usage: Message | None) -> Usage | None:
    """Return the provider's counts, or None. Cached tokens are part of `prompt_tokens`, as litellm has it."""
    if not usage:
        return None
    details = cast("Message", usage.get("prompt_tokens_details") or {})
    prompt = _count(usage.get("prompt_tokens"))
    cached = min(
        prompt, max(_count(details.get("cached_tokens")), _count(usage.get("cache_read_input_tokens")))
    )
    written = min(
        prompt - cached,
        max(_count(details.get("cache_creation_tokens")), _count(usage.get("cache_creation_input_tokens"))),
    )
    answered = max(_count(usage.get("completion_tokens")), _count(usage.get("total_tokens")) - prompt)
    if not prompt and not answered:
        return None
    return Usage(
        input_tokens=prompt - cached - written,
        output_tokens=answered,
        cache_read_tokens=cached,
        cache_write_tokens=written,
    )


def _count(value: object) -> int:
    return max(0, int(value)) if isinstance(value, int | float) else 0


def _billed(usage: Message | None) -> str | None:
    cost = (usage or {}).get("cost")
    return str(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None


def cache_marked(messages: Sequence[Message]) -> list[Message]:
    """Mark the end of the fixed part and of the conversation as places up to which to cache."""
    marked = [dict(message) for message in messages]
    mark = {"type": "ephemeral"}
    for place in sorted({min(1, len(marked) - 1), len(marked) - 1}):
        content = marked[place].get("content")
        if marked[place]["role"] == "tool":
            # The mark belongs to the tool's result as a whole; on the text within, the provider rejects it.
            marked[place]["cache_control"] = mark
        elif isinstance(content, str) and content:
            marked[place]["content"] = [{"type": "text", "text": content, "cache_control": mark}]
    return marked


def trouble_of(error: Exception) -> Trouble:
    """Say what a failed call means: litellm's exception classes, then the status, then the words."""
    status = getattr(error, "status_code", None)
    said = one_line(str(error), 400)
    words = _words(error)
    if isinstance(error, litellm.exceptions.Timeout):
        return Trouble(
            Kind.TRANSIENT, f"the model's provider did not answer in time: {said}", may_be_billed=True
        )
    if _never_sent(error):
        return Trouble(Kind.TRANSIENT, f"the model's provider cannot be reached: {said}")
    if isinstance(error, litellm.exceptions.ContextWindowExceededError) or (
        status in {400, 413, 422} and _TOO_LONG.search(words)
    ):
        return Trouble(Kind.OVERFLOW, f"the conversation does not fit the model's context: {said}")
    if status == 402 or (status in {400, 403, 429} and _NO_CREDIT.search(words)):
        return Trouble(Kind.PERMANENT, f"the account at the model's provider has no credit left: {said}")
    if status in {401, 403}:
        return Trouble(Kind.PERMANENT, f"the model's provider refuses the key ({status}): {said}")
    if status == 404:
        return Trouble(Kind.PERMANENT, f"the model's provider does not know the model (404): {said}")
    if status == 429:
        return Trouble(
            Kind.TRANSIENT, f"the model's provider limits the rate (429): {said}", retry_after=_wait(error)
        )
    if isinstance(status, int) and 400 <= status < 500 and status not in {408, 409, 425}:
        return Trouble(Kind.PERMANENT, f"the model's provider rejects the request ({status}): {said}")
    return Trouble(
        Kind.TRANSIENT,
        f"the model's provider failed ({status or type(error).__name__}): {said}",
        may_be_billed=_answer_lost(error),
        retry_after=_wait(error),
    )


def _causes(error: BaseException) -> list[BaseException]:
    found: list[BaseException] = []
    at: BaseException | None = error
    while at is not None and at not in found:
        found.append(at)
        at = at.__cause__ or at.__context__
    return found


def _never_sent(error: Exception) -> bool:
    return any(isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout) for cause in _causes(error))


def _answer_lost(error: Exception) -> bool:
    """Tell whether the request went out and neither an answer nor a refusal could be read."""
    return not any(isinstance(cause, httpx.HTTPStatusError) for cause in _causes(error))


def _words(error: Exception) -> str:
    """Return all that the provider said, with the error's code, which litellm leaves out of its message."""
    said = [f"{cause} {getattr(cause, 'code', '')} {getattr(cause, 'body', '')}" for cause in _causes(error)]
    return " ".join(said)


def _wait(error: Exception) -> float | None:
    """Return the seconds of a Retry-After header, if there is one in seconds."""
    response = getattr(error, "response", None)
    for headers in (getattr(error, "litellm_response_headers", None), getattr(response, "headers", None)):
        value = headers.get("retry-after") if headers else None
        if value and re.fullmatch(r"\d+(\.\d+)?", str(value).strip()):
            return float(value)
    return None
