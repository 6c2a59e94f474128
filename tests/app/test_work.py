"""What the worker's settings become in the parts that it is put together from."""

from __future__ import annotations

from pathlib import Path

from structlog.testing import capture_logs

from app.setting_groups import WorkerSettings
from app.work import _agent, tell_price
from domain.pricing import read_prices
from harness.prices import PriceList


def test_the_time_of_a_model_s_call_reaches_the_agent(tmp_path: Path) -> None:
    agent = _agent(WorkerSettings(data_dir=tmp_path, model="openai/x", model_timeout_seconds=7))
    assert agent._model.call_seconds == 7
    assert _agent(WorkerSettings(data_dir=tmp_path, model="openai/x"))._model.call_seconds == 120


def test_what_calls_are_reckoned_at_is_logged_at_the_start() -> None:
    with capture_logs() as logs:
        tell_price(PriceList(read_prices('{"house/m": {"input": 3, "output": 15}}')), "house/m")
        tell_price(PriceList(), "house/unheard-of")
    assert (logs[0]["source"], logs[0]["estimated"]) == ("FIXWRIGHT_MODEL_PRICES", False)
    assert (float(logs[0]["input_per_million"]), float(logs[0]["output_per_million"])) == (3, 15)
    assert logs[1]["log_level"] == "error"
    assert "FIXWRIGHT_MODEL_PRICES" in logs[1]["problem"]
