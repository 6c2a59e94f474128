from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.demo.scripted_model import Play, Script, ScriptedModel
from harness.agent.settings import ModelSettings
from tests.harness.agent.inline import InlineAgent
from tests.harness.agent.world import PRICE, ShellSession

KEY = "sk-canary-4f1d0c7be2"


@pytest.fixture(scope="session", autouse=True)
def quiet_litellm() -> None:
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("MSWEA_SILENT_STARTUP", "1")


@pytest.fixture
def endpoint() -> Iterator[ScriptedModel]:
    with ScriptedModel({}, price=PRICE, api_key=KEY) as model:
        yield model


@pytest.fixture
def session(tmp_path: Path) -> ShellSession:
    work = tmp_path / "work"
    work.mkdir()
    (work / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    return ShellSession(work)


def model_settings(endpoint: ScriptedModel, **changes: object) -> ModelSettings:
    values: dict[str, object] = {
        "name": "openai/scripted",
        "api_key": KEY,
        "api_base": endpoint.base_url,
        "call_seconds": 20.0,
        "patience_seconds": 20.0,
        "first_wait_seconds": 0.01,
    }
    return ModelSettings(**(values | changes))  # type: ignore[arg-type]


@pytest.fixture
def play(endpoint: ScriptedModel) -> Callable[..., InlineAgent]:
    """Return a function that makes an agent whose model plays these turns."""

    def make(*turns: Play, model: dict[str, object] | None = None, **settings: object) -> InlineAgent:
        endpoint.set_script("scripted", Script(turns=turns))
        return InlineAgent(model_settings(endpoint, **(model or {})), **settings)

    return make


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of this directory in one process: the model stack takes seconds to import."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("model stack"))
