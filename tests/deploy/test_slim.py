"""What the image leaves out: only what nothing of the service needs."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_SPEC = importlib.util.spec_from_file_location("slim", ROOT / "deploy" / "image" / "slim.py")
assert _SPEC is not None and _SPEC.loader is not None
slim = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(slim)

LEFT_OUT = (
    "datasets",
    "pyarrow",
    "pandas",
    "numpy",
    "dill",
    "multiprocess",
    "textual",
    "prompt_toolkit",
    "hf_xet",
    "pip",
)

IMPORTS = f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {LEFT_OUT!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
import app.cli, app.serve, app.work, harness.agent.child, harness.agent.conversation
"""


def test_what_only_a_left_out_requirement_needs_goes() -> None:
    installed = {
        "fixwright": ["Mini_SWE.agent", "httpx"],
        "mini-swe-agent": ["datasets", "httpx"],
        "datasets": ["pandas", "httpx"],
        "pandas": ["numpy"],
        "numpy": [],
        "httpx": ["not-installed-here"],
        "left-behind": [],
    }
    assert slim.not_needed(installed) == ["datasets", "left-behind", "numpy", "pandas"]


def test_what_something_else_needs_too_stays() -> None:
    installed = {
        "fixwright": ["mini-swe-agent", "plots"],
        "mini-swe-agent": ["datasets"],
        "datasets": ["numpy"],
        "plots": ["numpy"],
        "numpy": [],
    }
    assert slim.not_needed(installed) == ["datasets"]


def test_circles_end() -> None:
    assert slim.not_needed({"fixwright": ["a"], "a": ["b"], "b": ["a"], "c": ["d"], "d": ["c"]}) == ["c", "d"]


@pytest.mark.long
def test_no_package_that_the_service_needs_is_left_out_by_name() -> None:
    """The list of what is installed here, as the image's build reads it."""
    listed = subprocess.run(
        [sys.executable, "-c", slim._LIST], check=True, capture_output=True, text=True
    ).stdout
    gone = set(slim.not_needed(slim.json.loads(listed)))
    assert {"datasets", "pandas", "pyarrow"} <= gone
    assert not gone & {
        "litellm",
        "mini-swe-agent",
        "fastapi",
        "huggingface-hub",
        "h2",
        "cryptography",
        "pygithub",
    }


@pytest.mark.long
def test_both_processes_and_the_agent_load_without_what_is_left_out() -> None:
    subprocess.run(
        [sys.executable, "-c", IMPORTS], check=True, cwd=ROOT, env={"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    )
