"""One call to the model's provider, with a hard deadline."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

import litellm

from domain.model import Usage
from domain.text import Redactor
from harness.agent.protocol import Message
from harness.agent.settings import ModelSettings
from harness.agent.trouble import Kind, Trouble, trouble_of

KEPT_FIELDS = ("content", "tool_calls", "thinking_blocks")
"""Of an answer, what a provider wants to see again. Its reasoning in plain text is not among it."""

GRACE_SECONDS = 1.0
OTHER_KEY_NAMES = {"gemini": ("GOOGLE_API_KEY",), "huggingface": ("HF_TOKEN",)}
"""Providers whose usual variable is not their name followed by _API_KEY."""

T = TypeVar("T")


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
        self._redact = Redactor(settings.secrets)
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
            **({"tools": list(tools)} if tools else {}),
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
            raise trouble_of(error, self._redact) from error


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
    declined = whole.get("refusal")  # OpenAI's place for a model's words when it will not
    message: Message = {"role": "assistant"} | {key: whole[key] for key in KEPT_FIELDS if whole.get(key)}
    if declined:
        message["content"] = str(declined)
    usage = response.model_dump().get("usage")
    return Completion(
        message=message,
        finish_reason="refusal" if declined else str(choice.finish_reason or ""),
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
