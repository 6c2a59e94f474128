"""Prices as operators write them: JSON in dollars per million tokens, into typed prices and back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal

from domain.model import Money, Price

PER_MILLION = Decimal(1_000_000)

DEAREST = Decimal(100_000)
"""Dollars per million tokens; more is a slip of the pen."""

_AMOUNTS = ("input", "output", "cache_read", "cache_write")
_FREE = Price(input=Money(0), output=Money(0), free=True)
_EXAMPLE = '{"input": 3.00, "output": 15.00}'


def read_prices(text: str) -> dict[str, Price]:
    """Return prices by the model's name, from `{"NAME": {"input": 3.00, "output": 15.00}, …}`.

    `cache_read` and `cache_write` may be given as well; `{"free": true}` says that calls cost nothing.

    Raises:
        ValueError: one line per problem, each naming the model.
    """
    whole = _object(text, f'{{"openai/my-model": {_EXAMPLE}}}')
    prices: dict[str, Price] = {}
    problems: list[str] = []
    for name, entry in whole.items():
        found = list(_problems(entry)) if name.strip() else ["the name of the model is empty"]
        problems += [f"{_shown(name)}: {problem}" for problem in found]
        if not found:
            prices[name.strip()] = _price(entry)
    if problems:
        raise ValueError("\n".join(problems))
    return prices


def read_price(text: str) -> Price:
    """Return one price, from `{"input": 3.00, "output": 15.00}`; it cannot be free.

    Raises:
        ValueError: one line per problem.
    """
    entry = _object(text, _EXAMPLE)
    problems = list(_problems(entry))
    if "free" in entry:
        problems.append("an upper price cannot be free")
    if problems:
        raise ValueError("\n".join(problems))
    return _price(entry)


def write_prices(prices: Mapping[str, Price]) -> str:
    """Return what `read_prices` reads."""
    return json.dumps({name: _written(price) for name, price in prices.items()}, default=float)


def _written(price: Price) -> dict[str, object]:
    if price.free:
        return {"free": True}
    amounts = {name: getattr(price, name) for name in _AMOUNTS}
    return {name: amount * PER_MILLION for name, amount in amounts.items() if amount is not None}


def _object(text: str, example: str) -> dict[str, object]:
    """Decode one JSON object; quotes around it, which some env files keep, are taken off."""
    bare = text.strip()
    if len(bare) > 1 and bare[0] == bare[-1] == "'":
        bare = bare[1:-1]
    try:
        value = json.loads(
            bare, parse_float=Decimal, parse_constant=_no_constant, object_pairs_hook=_without_repetition
        )
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is not JSON ({error}); write an object such as {example}") from None
    if not isinstance(value, dict):
        raise ValueError(f"is not a JSON object; write one such as {example}")
    return value


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _without_repetition(pairs: list[tuple[str, object]]) -> dict[str, object]:
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{_shown(twice)} is there twice")
    return dict(pairs)


def _problems(entry: object) -> Iterator[str]:
    if not isinstance(entry, dict):
        yield f"must be an object such as {_EXAMPLE}"
        return
    for name in entry.keys() - {*_AMOUNTS, "free"}:
        yield f"{_shown(name)} is not known here; known are {', '.join(_AMOUNTS)} and free"
    if "free" in entry:
        if entry["free"] is not True:
            yield "free must be true, or be left out"
        elif len(entry) > 1:
            yield "is free and has a price as well"
        return
    for name in _AMOUNTS:
        problem = _amount_problem(name, entry)
        if problem:
            yield problem


def _amount_problem(name: str, entry: Mapping[str, object]) -> str:
    needed = name in {"input", "output"}
    if name not in entry:
        return f"{name} is missing" if needed else ""
    value = entry[name]
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return f"{name} must be a number of dollars per million tokens, not {_shown(value)}"
    if not 0 <= value <= DEAREST:
        return f"{name} must be from 0 to {DEAREST} dollars per million tokens, not {_shown(value)}"
    if needed and value == 0:
        return f'{name} is 0, which is taken to be unknown; a model that costs nothing is {{"free": true}}'
    return ""


def _price(entry: object) -> Price:
    if not isinstance(entry, dict) or "free" in entry:
        return _FREE
    amounts = {name: Decimal(entry[name]) / PER_MILLION for name in _AMOUNTS if name in entry}
    return Price(
        input=amounts["input"],
        output=amounts["output"],
        cache_read=amounts.get("cache_read"),
        cache_write=amounts.get("cache_write"),
    )


def _shown(value: object) -> str:
    text = str(value) if isinstance(value, Decimal) else ascii(value)
    return text if len(text) <= 60 else text[:57] + "..."
