"""What the worker's settings become in the parts that it is put together from."""

from __future__ import annotations

from pathlib import Path

from app.setting_groups import WorkerSettings
from app.work import _agent


def test_the_time_of_a_model_s_call_reaches_the_agent(tmp_path: Path) -> None:
    agent = _agent(WorkerSettings(data_dir=tmp_path, model="openai/x", model_timeout_seconds=7))
    assert agent._model.call_seconds == 7
    assert _agent(WorkerSettings(data_dir=tmp_path, model="openai/x"))._model.call_seconds == 120
