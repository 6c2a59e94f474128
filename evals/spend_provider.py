"""A provider that answers, lies, falls silent and overcharges, by the throw of a seeded die."""

from __future__ import annotations

import random
from dataclasses import dataclass

from domain.budget import ZERO
from domain.model import Money, Price, Usage

PER_TOKEN = Money("0.000000001")

BEHAVIOURS = {
    "honest": 30,
    "honest, with its own figure": 15,
    "bills less than the list": 6,
    "bills more than the list": 6,
    "reports too much": 8,
    "reports too little, bills the truth": 8,
    "reports too little, hides the rest": 2,
    "reports counts below zero": 4,
    "reports an answer to nothing": 3,
    "reports nothing": 6,
    "times out after billing": 8,
    "bills beyond the worst case": 2,
    "fails unbilled": 2,
}
"""What a provider does, and how often."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a call came to. `usage` and `stated` are the provider's words; `real` is on its invoice.

    `hidden` is on no answer and in no usage: what nobody can know before the invoice.
    """

    behaviour: str
    real: Money
    usage: Usage | None = None
    stated: Money | None = None
    hidden: Money = ZERO

    @property
    def is_lost(self) -> bool:
        """Whether no answer came."""
        return self.behaviour == "times out after billing"


def random_price(chance: random.Random) -> Price:
    """Return a price as they are: from $0.05 to $75 per million tokens, now and then free."""
    if chance.random() < 0.03:
        return Price(input=ZERO, output=ZERO, free=True)
    fresh = PER_TOKEN * int(10 ** chance.uniform(1.7, 4.2))
    return Price(
        input=fresh,
        output=fresh * chance.randint(2, 5),
        cache_read=chance.choice([None, ZERO, fresh / 10]),
        cache_write=chance.choice([None, fresh * 5 / 4]),
    )


def worst(price: Price, tokens: int, answer: int) -> Money:
    """Return the most that a call of at most so many tokens can cost at list price."""
    dearest = max(price.input, price.cache_write or ZERO, price.cache_read or ZERO)
    return tokens * dearest + answer * price.output


def list_cost(price: Price, usage: Usage) -> Money:
    """Return the cost at list price, unrounded."""
    read = price.input if price.cache_read is None else price.cache_read
    write = price.input if price.cache_write is None else price.cache_write
    return (
        usage.input_tokens * price.input
        + usage.output_tokens * price.output
        + usage.cache_read_tokens * read
        + usage.cache_write_tokens * write
    )


def reply(chance: random.Random, price: Price, tokens: int, granted: int) -> Reply:
    """Answer a call of at most `tokens` in and `granted` out."""
    (behaviour,) = chance.choices(list(BEHAVIOURS), list(BEHAVIOURS.values()))
    used = _used(chance, tokens, granted)
    cost = list_cost(price, used)
    most = worst(price, tokens, granted)
    less = Usage(input_tokens=used.input_tokens // 3 + 1, output_tokens=used.output_tokens // 4)
    if behaviour == "honest":
        return Reply(behaviour, cost, used)
    if behaviour == "honest, with its own figure":
        return Reply(behaviour, cost, used, cost)
    if behaviour == "bills less than the list":
        return Reply(behaviour, cost / 2, used, cost / 2)
    if behaviour == "bills more than the list":
        dearer = cost + (most - cost) * chance.randint(0, 100) / 100
        return Reply(behaviour, dearer, used, dearer)
    if behaviour == "reports too much":
        return Reply(behaviour, cost, Usage(input_tokens=tokens * 2, output_tokens=granted * 2))
    if behaviour == "reports too little, bills the truth":
        return Reply(behaviour, cost, less, cost)
    if behaviour == "reports too little, hides the rest":
        said = min(cost, list_cost(price, less))
        return Reply(behaviour, said, less, hidden=cost - said)
    if behaviour == "reports counts below zero":
        return Reply(behaviour, cost, Usage(input_tokens=-used.input_tokens, output_tokens=-1))
    if behaviour == "reports an answer to nothing":
        return Reply(behaviour, cost, Usage(output_tokens=1))
    if behaviour == "bills beyond the worst case":
        beyond = most * chance.randint(11, 40) / 10
        return Reply(behaviour, beyond, used, beyond)
    if behaviour == "fails unbilled":
        return Reply(behaviour, ZERO, Usage())
    return Reply(behaviour, cost)


def _used(chance: random.Random, tokens: int, granted: int) -> Usage:
    """Return what a call really uses: anything up to all that was reserved, often all of it."""
    whole = tokens if chance.random() < 0.4 else chance.randint(1, tokens)
    cached = chance.randint(0, whole) if chance.random() < 0.5 else 0
    written = chance.randint(0, whole - cached) if chance.random() < 0.3 else 0
    return Usage(
        input_tokens=whole - cached - written,
        output_tokens=granted if chance.random() < 0.4 else chance.randint(0, granted),
        cache_read_tokens=cached,
        cache_write_tokens=written,
    )
