"""Prices as people write them: right ones typed, wrong ones one line each, zero never free by chance."""

from __future__ import annotations

from decimal import Decimal

import pytest

from domain.model import Money, Price
from domain.pricing import read_price, read_prices, write_prices


def test_all_four_prices_per_million_tokens_become_dollars_per_token() -> None:
    text = '{"m": {"input": 3, "output": 15.5, "cache_read": 0.30, "cache_write": 3.75}}'
    assert read_prices(text) == {
        "m": Price(
            input=Money("0.000003"),
            output=Money("0.0000155"),
            cache_read=Money("0.0000003"),
            cache_write=Money("0.00000375"),
        )
    }


@pytest.mark.parametrize("text", ['{"m": {"free": true}}', """ '{"m": {"free": true}}' """])
def test_free_is_said_in_so_many_words(text: str) -> None:
    assert read_prices(text)["m"].free


def test_what_is_written_is_read_again() -> None:
    prices = read_prices('{"a": {"input": 0.1, "output": 15, "cache_write": 0}, "b": {"free": true}}')
    assert read_prices(write_prices(prices)) == prices


def test_a_decimal_is_exact() -> None:
    assert read_price('{"input": 0.1, "output": 0.2}').input == Decimal("0.1") / 1_000_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not JSON"),
        ("free", "is not JSON"),
        ("[]", "is not a JSON object"),
        ("[" * 10_000, "is not JSON"),
        ('{"m": {"input": NaN, "output": 1}}', "NaN is not a number"),
        ('{"m": {"input": Infinity, "output": 1}}', "Infinity is not a number"),
        ('{"m": {}, "m": {}}', "'m' is there twice"),
        ('{" ": {"free": true}}', "name of the model is empty"),
        ('{"m": 3}', "'m': must be an object"),
        ('{"m": {"input": 3}}', "'m': output is missing"),
        ('{"m": {"input": 3, "output": "15"}}', "'m': output must be a number"),
        ('{"m": {"input": true, "output": 15}}', "'m': input must be a number"),
        ('{"m": {"input": -1, "output": 15}}', "'m': input must be from 0"),
        ('{"m": {"input": 1e309, "output": 15}}', "'m': input must be from 0"),
        ('{"m": {"input": 0, "output": 15}}', """'m': input is 0, which is taken to be unknown"""),
        ('{"m": {"input": 0, "output": 15}}', '{"free": true}'),
        ('{"m": {"input": 1, "output": 2, "cach_read": 1}}', "'cach_read' is not known here"),
        ('{"m": {"free": false}}', "free must be true"),
        ('{"m": {"free": true, "input": 3}}', "is free and has a price as well"),
    ],
)
def test_what_is_wrong_is_said(text: str, words: str) -> None:
    with pytest.raises(ValueError) as caught:
        read_prices(text)
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_every_problem_has_its_line() -> None:
    with pytest.raises(ValueError, match="input is missing") as caught:
        read_prices('{"a": {"output": 0}, "b": {"free": 1}, "c": {"free": true}}')
    assert len(str(caught.value).splitlines()) == 3


def test_an_upper_price_cannot_be_free() -> None:
    with pytest.raises(ValueError, match="cannot be free"):
        read_price('{"free": true}')
