"""How many tokens a request has at most: a bound that no tokenizer of bytes passes, without the network.

A tokenizer that knows every byte (byte-level BPE, or pieces with a fall-back to bytes) never makes more
tokens of a text than it has bytes. An estimate made with another provider's tokenizer may be passed, and with
it a cap; so the bytes are the bound. They are about three times the tokens of ordinary code, which would cost
room under the caps at every call. Therefore they stand in for the first request only: from then on the bound
is what the provider itself counted last, and the bytes of what has been added since. Chat formats part
messages by marks of their own, so that a message's tokens do not depend on its neighbours.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import litellm

OVERHEAD_TOKENS = 600
"""What a provider adds of its own accord, such as its description of tool use (up to about 530 tokens)."""

PER_MESSAGE_TOKENS = 8
"""Marks around a message. The JSON that we count holds the names of its fields, which cover the rest."""


@dataclass(frozen=True, slots=True)
class _Measure:
    """One message or tool as it is sent: counted by the bundled tokenizer, and its UTF-8 bytes as JSON."""

    key: str
    counted: int
    size: int


class TokenCounter:
    """Bounds requests, and learns from what the provider reports.

    One that reports fewer tokens than our own tokenizer counts is not believed: later bounds then rest on our
    count. One that reports more than the bound (it puts words of its own into each request) is.
    """

    def __init__(self) -> None:
        self._overhead = OVERHEAD_TOKENS
        self._known: dict[str, _Measure] = {}
        self._reported = 0
        self._covered: Counter[str] = Counter()
        litellm.disable_hf_tokenizer_download = True

    def tokens(self, message: Mapping[str, object]) -> int:
        """Count one message or tool as it is sent; an estimate."""
        return self._measure(message).counted

    def bound(self, messages: Sequence[Mapping[str, object]]) -> int:
        """Return the most tokens that these messages and tools can have."""
        measures = [self._measure(message) for message in messages]
        whole = self._overhead + _bytes(measures)
        if not self._reported:
            return whole
        new, left = [], self._covered.copy()
        for measure in measures:
            if left[measure.key]:
                left[measure.key] -= 1
            else:
                new.append(measure)
        return min(whole, self._reported + OVERHEAD_TOKENS + _bytes(new))

    def learn(self, messages: Sequence[Mapping[str, object]], reported: int) -> None:
        """Take note of the provider's own count of a request."""
        measures = [self._measure(message) for message in messages]
        self._overhead = max(self._overhead, reported - _bytes(measures))
        self._reported = max(reported, sum(measure.counted for measure in measures))
        self._covered = Counter(measure.key for measure in measures)

    def _measure(self, message: Mapping[str, object]) -> _Measure:
        """Measure a message once in its life, not once per call."""
        key = json.dumps(message, ensure_ascii=False, sort_keys=True)
        if key not in self._known:
            text = key.encode("utf-8", "replace").decode("utf-8")
            counted = int(litellm.token_counter(model="", text=text))
            self._known[key] = _Measure(key, counted, len(text.encode("utf-8")))
        return self._known[key]


def _bytes(measures: Sequence[_Measure]) -> int:
    return sum(measure.size + PER_MESSAGE_TOKENS for measure in measures)
