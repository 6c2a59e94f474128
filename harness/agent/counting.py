"""How many tokens a request may have at most, counted without the network."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence

import litellm

CAUTION = 1.4
"""Our tokenizer is not the provider's. Other providers count up to a third more on source code."""

MARGIN = 1.1
"""What is added to the provider's own counts once they are known."""

OVERHEAD_TOKENS = 200
"""What a provider adds to a request of its own accord, such as its description of tool use."""

BYTES_PER_TOKEN_AT_MOST = 6


class TokenCounter:
    """Counts with the bundled tokenizer, then with caution, and learns from what the provider reports.

    The bound is `counted * caution + 200`, where caution begins at 1.4 and rises to 1.1 times the highest
    ratio that the provider's own counts have shown; never less than one token per six bytes. It is an
    estimate: a provider that suddenly counts more than caution allows exceeds one reservation by the
    difference, and the next one takes it into account.
    """

    def __init__(self) -> None:
        self._caution = CAUTION
        self._known: dict[int, tuple[int, int]] = {}
        litellm.disable_hf_tokenizer_download = True

    def tokens(self, message: Mapping[str, object]) -> int:
        """Count one message or tool as it is sent."""
        return self._measure(message)[0]

    def bound(self, messages: Sequence[Mapping[str, object]]) -> int:
        """Return the most tokens that these messages and tools are taken to have."""
        counted, size = self._sums(messages)
        return max(
            math.ceil(counted * self._caution) + OVERHEAD_TOKENS, math.ceil(size / BYTES_PER_TOKEN_AT_MOST)
        )

    def learn(self, messages: Sequence[Mapping[str, object]], reported: int) -> None:
        """Take note of the provider's own count of a request."""
        counted, _ = self._sums(messages)
        self._caution = max(self._caution, MARGIN * (reported - OVERHEAD_TOKENS) / max(1, counted))

    def _sums(self, messages: Sequence[Mapping[str, object]]) -> tuple[int, int]:
        measures = [self._measure(message) for message in messages]
        return sum(counted for counted, _ in measures), sum(size for _, size in measures)

    def _measure(self, message: Mapping[str, object]) -> tuple[int, int]:
        """Return (tokens, bytes). A message is counted once in its life, not once per call."""
        text = json.dumps(message, ensure_ascii=False, sort_keys=True)
        key = hash(text)
        if key not in self._known:
            text = text.encode("utf-8", "replace").decode("utf-8")
            counted = int(litellm.token_counter(model="", text=text))
            self._known[key] = (counted, len(text.encode("utf-8")))
        return self._known[key]
