"""The bound of a request: never below what a tokenizer of bytes makes, and close once the provider counts."""

from __future__ import annotations

import random

import pytest

from harness.agent.briefing import restate_text, system_text
from harness.agent.counting import TokenCounter
from harness.agent.tools import restate_tools
from harness.meter import SMALLEST_FIRST_CALL
from tests.harness.agent.world import a_brief

Text = dict[str, object]


def said(role: str, content: str) -> Text:
    return {"role": role, "content": content}


def size(*messages: Text) -> int:
    return sum(len(str(message["content"]).encode()) for message in messages)


@pytest.mark.parametrize(
    "text",
    ["def f(x):\n    return x\n" * 50, "\U0001f9ea\u0d9e" * 200, "\u00e9" * 400, "\x00\x01" * 90],
)
def test_a_first_request_is_bounded_by_its_bytes(text: str) -> None:
    message = said("user", text)
    assert TokenCounter().bound([message]) >= size(message)


def test_later_bounds_rest_on_the_provider_s_count_and_the_bytes_since() -> None:
    counter = TokenCounter()
    first = [said("system", "rules " * 500), said("user", "code " * 2000)]
    counter.learn(first, 2600)
    new = [said("assistant", "ls"), said("tool", "a " * 300)]
    bound = counter.bound([*first, *new])
    assert 2600 + size(*new) <= bound < 2600 + size(*new) + 1000 < size(*first)


def test_what_is_taken_out_frees_nothing_and_what_replaces_it_is_new() -> None:
    counter = TokenCounter()
    long, short = said("tool", "x" * 5000), said("tool", "[left out]")
    counter.learn([said("user", "go"), long, long], 2000)
    whole = counter.bound([said("user", "go"), long])
    assert whole >= 2000
    assert counter.bound([said("user", "go"), long, short]) >= whole + size(short)
    assert counter.bound([said("user", "go"), long, long, long]) >= 2000 + size(long)


def test_a_provider_that_counts_next_to_nothing_is_not_believed() -> None:
    counter = TokenCounter()
    first = [said("user", "some words of prose " * 300)]
    counter.learn(first, 1)
    assert counter.bound(first) >= sum(map(counter.tokens, first))


def test_a_provider_that_adds_words_of_its_own_is() -> None:
    counter = TokenCounter()
    counter.learn([said("user", "hello")], 20_000)
    assert counter.bound([said("user", "hello")]) >= 20_000
    assert counter.bound([said("user", "other")]) >= 20_000


def test_no_conversation_with_a_tokenizer_of_bytes_passes_its_bound() -> None:
    """The provider makes between a token per byte and one per eight, and lies about nothing."""
    chance = random.Random(7)
    for _ in range(20):
        counter, sent = TokenCounter(), list[Text]()
        for turn in range(12):
            sent.append(said("user" if turn % 2 else "assistant", f"{turn} " * chance.randint(1, 400)))
            if chance.random() < 0.3:
                sent[chance.randrange(len(sent))] = said("tool", "[left out]")
            real = sum(20 + size(message) // (1 + len(str(message)) % 8) for message in sent) + 500
            assert counter.bound(sent) >= real
            counter.learn(sent, real)


def test_the_smallest_first_call_that_is_looked_for_is_not_larger_than_a_real_one() -> None:
    brief = a_brief(title="x", body="", slices="", suspects="", test_command="")
    opening = [said("system", system_text("0" * 16)), said("user", restate_text(brief, "0" * 16))]
    bound = TokenCounter().bound([*opening, *restate_tools()])
    assert bound * 0.8 < SMALLEST_FIRST_CALL <= bound
