"""Prices: the operator's first, the table's when whole, and never a zero that nobody meant."""

from __future__ import annotations

import json
import subprocess
import sys
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path

import pytest

from domain.errors import Unpriced
from domain.model import Money
from domain.pricing import read_price, read_prices
from harness.prices import PriceList, price_of

TABLE = {
    "sample_spec": {"litellm_provider": "one of many", "input_cost_per_token": 0.5},
    "maker-1": {
        "litellm_provider": "openai",
        "input_cost_per_token": 2.5e-06,
        "output_cost_per_token": 1e-05,
        "cache_read_input_token_cost": 1.25e-06,
        "cache_creation_input_token_cost": 3e-06,
    },
    "tiered": {
        "litellm_provider": "gemini",
        "input_cost_per_token": 1e-06,
        "input_cost_per_token_above_128k_tokens": 3e-06,
        "input_cost_per_token_above_200k_tokens": 9e-06,
        "input_cost_per_token_batches": 8e-06,
        "output_cost_per_token": 4e-06,
        "output_cost_per_reasoning_token": 6e-06,
    },
    "router/maker/model-2": {
        "litellm_provider": "router",
        "input_cost_per_token": 1e-06,
        "output_cost_per_token": 2e-06,
    },
    "local/llama": {
        "litellm_provider": "local",
        "input_cost_per_token": 0.0,
        "output_cost_per_token": 0.0,
    },
    "half": {"litellm_provider": "openai", "input_cost_per_token": 1e-06},
    "half-zero": {"litellm_provider": "openai", "input_cost_per_token": 1e-06, "output_cost_per_token": 0},
    "by-call": {
        "litellm_provider": "openai",
        "input_cost_per_token": 1e-06,
        "output_cost_per_token": 1e-06,
        "input_cost_per_request": 0.005,
    },
    'odd"name.*': {"litellm_provider": "x", "input_cost_per_token": 1, "output_cost_per_token": 1},
}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "prices.json"
    path.write_text(json.dumps(TABLE, indent=4))
    return path


@pytest.mark.parametrize("model", ["maker-1", "openai/maker-1"])
def test_a_model_is_found_with_and_without_its_own_provider(table: Path, model: str) -> None:
    price = PriceList(table=table)(model)
    assert (price.input, price.output) == (Money("0.0000025"), Money("0.00001"))
    assert (price.cache_read, price.cache_write) == (Money("0.00000125"), Money("0.000003"))
    assert not price.free


def test_a_router_has_its_own_entries(table: Path) -> None:
    assert PriceList(table=table)("router/maker/model-2").output == Money("0.000002")


def test_the_dearest_price_that_can_occur_is_taken(table: Path) -> None:
    price = PriceList(table=table)("gemini/tiered")
    assert (price.input, price.output) == (Money("0.000003"), Money("0.000006"))
    assert PriceList(table=table, longest_prompt=100_000)("tiered").input == Money("0.000001")


@pytest.mark.parametrize(
    "model",
    [
        "unknown",
        "anthropic/maker-1",
        "hosted_vllm/whatever",
        "maker/model-2",
        "local/llama",
        "half",
        "half-zero",
        "by-call",
        "sample_spec",
        "litellm_provider",
        "",
        "odd.name..",
    ],
)
def test_whatever_is_not_wholly_priced_is_unpriced_with_the_way_out(table: Path, model: str) -> None:
    with pytest.raises(Unpriced) as caught:
        PriceList(table=table)(model)
    lines = [line.strip() for line in str(caught.value).splitlines() if line.startswith("    ")]
    settings = [line.removeprefix("FIXWRIGHT_MODEL_PRICES=") for line in lines]
    if model:
        prices = [read_prices(setting)[model] for setting in settings]
        assert [(price.input, price.free) for price in prices] == [(Money("0.000003"), False), (0, True)]


def test_the_way_out_beside_other_prices_shows_none_of_them(table: Path) -> None:
    prices = PriceList(read_prices('{"secret/model": {"input": 7, "output": 9}}'), table=table)
    with pytest.raises(Unpriced) as caught:
        prices("house/large")
    assert "secret" not in str(caught.value)
    assert '    "house/large": {"input": 3.0, "output": 15.0}\n' in str(caught.value)
    assert "within the braces of FIXWRIGHT_MODEL_PRICES" in str(caught.value)


def test_the_operators_price_comes_first_and_is_for_its_model_alone(table: Path) -> None:
    own = read_prices(
        '{"maker-1": {"input": 3, "output": 15, "cache_read": 0}, "local/llama": {"free": true}}'
    )
    prices = PriceList(own, table=table)
    price = prices("maker-1")
    assert (price.input, price.output, price.cache_read) == (Money("0.000003"), Money("0.000015"), 0)
    assert (price.source, price.estimated) == ("FIXWRIGHT_MODEL_PRICES", False)
    assert prices("local/llama").free
    assert prices("router/maker/model-2").source == f"litellm {version('litellm')}"


@pytest.mark.parametrize("model", ["house/large", "local/llama", "half", "by-call"])
def test_an_estimate_is_for_what_has_no_price_and_says_so(table: Path, model: str) -> None:
    prices = PriceList(estimate=read_price('{"input": 20, "output": 100}'), table=table)
    price = prices(model)
    assert (price.input, price.output, price.estimated) == (Money("0.00002"), Money("0.0001"), True)
    assert "ESTIMATE" in price.source
    assert not prices("maker-1").estimated


@pytest.mark.long
def test_the_table_that_ships_with_litellm_is_read_without_importing_it() -> None:
    code = (
        "import sys; from pathlib import Path; from harness.prices import price_of;"
        "print(price_of('openai/gpt-4o').input, 'litellm' in sys.modules);"
        "print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])"
    )
    root = Path(__file__).parents[2]
    said = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    amount, imported, kilobytes = said.stdout.split()
    assert Decimal(amount) > 0
    assert imported == "False"
    assert int(kilobytes) < 40 * 1024


def test_the_short_form_reads_the_same_table() -> None:
    assert price_of("gpt-4o") == PriceList()("openai/gpt-4o")
