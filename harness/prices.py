"""What a model costs: the operator's own price, else the table that ships with litellm, read as a file."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from pathlib import Path

from domain.errors import ConfigurationError, Unpriced
from domain.model import Money, Price
from domain.pricing import PER_MILLION, write_prices

TABLE_NAME = "model_prices_and_context_window_backup.json"
SETTING = "FIXWRIGHT_MODEL_PRICES"
_TIER = re.compile(r"_above_(\d+)k_tokens")


class PriceList:
    """Looks prices up; implements `domain.ports.PriceList`.

    `own` are the operator's prices by the model's name; they come first. `estimate`, where there is one, is
    taken for a model that has no price otherwise, and says of itself that it is an estimate. The table's
    prices for prompts longer than `longest_prompt` tokens are left aside: no such prompt is ever sent.
    """

    def __init__(
        self,
        own: Mapping[str, Price] | None = None,
        *,
        estimate: Price | None = None,
        table: Path | None = None,
        longest_prompt: int = 200_000,
    ) -> None:
        self._own = dict(own or {})
        self._estimate = estimate
        self._table = table
        self._longest_prompt = longest_prompt

    def __call__(self, model: str) -> Price:
        """Return the price of a model by its litellm name, such as `anthropic/claude-sonnet-4-5`.

        Raises:
            Unpriced: no price is known; the text holds the setting's line to add.
            ConfigurationError: litellm's table is not where it should be.
        """
        if model in self._own:
            return replace(self._own[model], source=SETTING)
        entry = _table_entry(self._table or _bundled_table(), model)
        found = _price_of(entry, self._longest_prompt) if entry else "litellm's table does not list it"
        if isinstance(found, Price):
            return replace(found, source=_table_name())
        if self._estimate is not None:
            return replace(self._estimate, estimated=True, source="FIXWRIGHT_ESTIMATE_PRICE")
        raise Unpriced(self._unpriced(model, found))

    def _unpriced(self, model: str, why: str) -> str:
        """Say what to set, ready to be pasted; other models' prices are nobody's business on an issue."""
        begin, end = ("", "") if self._own else (f"{SETTING}='{{", "}'")
        where = f" within the braces of {SETTING}" if self._own else ""
        priced, free = (
            f"    {begin}{write_prices({model: price})[1:-1]}{end}"
            for price in (
                Price(input=3 / PER_MILLION, output=15 / PER_MILLION),
                Price(input=Money(0), output=Money(0), free=True),
            )
        )
        return (
            f"No price is known for the model {model!r}: {why}. Set it for the worker{where}, with your "
            f"provider's figures in US dollars per million tokens:\n\n{priced}\n\n"
            f"or, if calls cost nothing because it runs on a machine of your own:\n\n{free}"
        )


def price_of(model: str) -> Price:
    """Return a model's price in the table that ships with litellm. Raises Unpriced, ConfigurationError."""
    return PriceList()(model)


def _table_name() -> str:
    """Name the table with its version: two of them may price the same model differently."""
    return f"litellm {importlib.metadata.version('litellm')}"


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


def _price_of(entry: Mapping[str, object], longest_prompt: int) -> Price | str:
    """Return the price that an entry states, or why it states none."""
    if any(_amount(entry.get(key)) for key in ("input_cost_per_request", "input_cost_per_second")):
        return "it is not priced by tokens alone"
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
        return "litellm's table has only part of its price, or a price of 0"
    reasoning = _amount(entry.get("output_cost_per_reasoning_token")) or Money(0)
    return Price(
        input=fresh,
        output=max(answer, reasoning),
        cache_read=found["cache_read_input_token_cost"] or None,
        cache_write=found["cache_creation_input_token_cost"] or None,
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
