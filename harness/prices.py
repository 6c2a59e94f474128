"""What a model costs: the operator's own price, else the table that ships with litellm, read as a file."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path

from domain.errors import ConfigurationError, Unpriced
from domain.model import Money, Price

TABLE_NAME = "model_prices_and_context_window_backup.json"
PER_MILLION = Decimal(1_000_000)
_TIER = re.compile(r"_above_(\d+)k_tokens")


class PriceList:
    """Looks prices up; implements `domain.ports.PriceList`.

    `input_per_million` and `output_per_million` are the operator's dollars per million tokens and must be
    given together; `free` says that calls cost nothing. The table's prices for prompts longer than
    `longest_prompt` tokens are left aside, because no such prompt is ever sent.
    """

    def __init__(
        self,
        *,
        input_per_million: Decimal | None = None,
        output_per_million: Decimal | None = None,
        free: bool = False,
        table: Path | None = None,
        longest_prompt: int = 200_000,
    ) -> None:
        self._input = input_per_million
        self._output = output_per_million
        self._free = free
        self._table = table
        self._longest_prompt = longest_prompt

    def __call__(self, model: str) -> Price:
        """Return the price of a model by its litellm name, such as `anthropic/claude-sonnet-4-5`.

        Raises:
            Unpriced: no price is known; the text names the settings to add.
            ConfigurationError: the operator's own price is not a price.
        """
        if self._free:
            return Price(input=Money(0), output=Money(0), free=True, source="FIXWRIGHT_MODEL_FREE")
        if self._input is not None or self._output is not None:
            return self._own_price(model)
        entry = _table_entry(self._table or _bundled_table(), model)
        if entry is None:
            raise _unpriced(model, "litellm's table does not list it")
        return _price_of(model, entry, self._longest_prompt)

    def _own_price(self, model: str) -> Price:
        if self._input is None or self._output is None:
            raise _unpriced(model, "only one half of its price is set")
        for name, value in (("INPUT", self._input), ("OUTPUT", self._output)):
            if not value.is_finite() or value < 0:
                raise ConfigurationError(
                    f"FIXWRIGHT_MODEL_PRICE_{name} must be US dollars per million tokens such as 3.00, "
                    f"not {value}"
                )
        if self._input == 0 or self._output == 0:
            raise _unpriced(model, "a price of 0 is taken to be unknown")
        return Price(
            input=self._input / PER_MILLION,
            output=self._output / PER_MILLION,
            source="FIXWRIGHT_MODEL_PRICE_INPUT, FIXWRIGHT_MODEL_PRICE_OUTPUT",
        )


def price_of(model: str) -> Price:
    """Return a model's price in the table that ships with litellm. Raises Unpriced, ConfigurationError."""
    return PriceList()(model)


def _unpriced(model: str, why: str) -> Unpriced:
    return Unpriced(
        f"no price is known for the model {model!r}: {why}. Set FIXWRIGHT_MODEL_PRICE_INPUT and "
        "FIXWRIGHT_MODEL_PRICE_OUTPUT (US dollars per million tokens), or FIXWRIGHT_MODEL_FREE=true "
        "if calls cost nothing"
    )


def _bundled_table() -> Path:
    """Find litellm's table without importing litellm, which would cost 200 MB and seconds."""
    spec = importlib.util.find_spec("litellm")
    if spec is None or spec.origin is None:
        raise ConfigurationError("litellm is not installed beside the worker; run `pip install litellm`")
    table = Path(spec.origin).parent / TABLE_NAME
    if not table.is_file():
        raise ConfigurationError(f"this litellm has no {TABLE_NAME}; install the version in constraints.txt")
    return table


def _table_entry(table: Path, model: str) -> Mapping[str, object] | None:
    """Return a model's entry: under its full name, or without its provider's prefix if that fits."""
    text = table.read_text("utf-8")
    entry = _decoded(text, model)
    if entry is not None:
        return entry
    provider, slash, bare = model.partition("/")
    entry = _decoded(text, bare) if slash else None
    listed = str(entry.get("litellm_provider", "")) if entry else ""
    return entry if listed == provider or listed.startswith(f"{provider}-") else None


def _decoded(text: str, name: str) -> Mapping[str, object] | None:
    """Decode one entry where it stands in the file; the whole table as objects would take 40 MB."""
    pattern = re.compile(rf"^ {{0,8}}{re.escape(json.dumps(name))}:\s*(?=\{{)", re.MULTILINE)
    decoder = json.JSONDecoder(parse_float=Decimal)
    for match in pattern.finditer(text):
        entry, _ = decoder.raw_decode(text, match.end())
        if isinstance(entry, dict) and "litellm_provider" in entry:
            return entry
    return None


def _price_of(model: str, entry: Mapping[str, object], longest_prompt: int) -> Price:
    if any(_amount(entry.get(key)) for key in ("input_cost_per_request", "input_cost_per_second")):
        raise _unpriced(model, "it is not priced by tokens alone")
    found = {
        key: _dearest(entry, key, longest_prompt)
        for key in (
            "input_cost_per_token",
            "output_cost_per_token",
            "cache_read_input_token_cost",
            "cache_creation_input_token_cost",
        )
    }
    fresh, answer = found["input_cost_per_token"], found["output_cost_per_token"]
    if not fresh or not answer:
        raise _unpriced(model, "litellm's table has only part of its price, or a price of 0")
    reasoning = _amount(entry.get("output_cost_per_reasoning_token")) or Money(0)
    return Price(
        input=fresh,
        output=max(answer, reasoning),
        cache_read=found["cache_read_input_token_cost"] or None,
        cache_write=found["cache_creation_input_token_cost"] or None,
        source="litellm's table",
    )


def _dearest(entry: Mapping[str, object], key: str, longest_prompt: int) -> Money | None:
    """Return the highest price under `key` among the prompt lengths that can occur."""
    amounts = [_amount(entry.get(key))]
    for name, value in entry.items():
        tier = _TIER.fullmatch(name.removeprefix(key)) if name.startswith(key) else None
        if tier and int(tier[1]) * 1000 < longest_prompt:
            amounts.append(_amount(value))
    return max((amount for amount in amounts if amount), default=None)


def _amount(value: object) -> Money | None:
    """Return a finite amount above 0, else None; in a table, 0 means that nobody entered a price."""
    if isinstance(value, bool) or not isinstance(value, int | str | Decimal):
        return None
    try:
        amount = Money(value)
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and amount > 0 else None
