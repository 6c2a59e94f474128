"""The files around the image: they parse, pin what they use, and agree with the code that they start."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from app.settings import inherited_environment
from harness.sandbox.capabilities import NEEDED

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
SCRIPTS = [
    *(ROOT / "deploy/image" / name for name in ("entrypoint", "fixwright-as", "toolchains")),
    *(
        ROOT / "deploy/install",
        ROOT / ".ci/image",
        ROOT / ".ci/run",
        ROOT / ".ci/steady",
        ROOT / ".ci/nightly",
    ),
]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_pins_what_it_uses_and_asks_for_few_rights(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    for used in filter(None, (step.get("uses") for step in steps)):
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", used), used
    for step in steps:
        assert "${{" not in step.get("run", ""), "what others may write never becomes part of a script"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_script_parses(path: Path) -> None:
    shell = "bash" if "bash" in path.read_text().splitlines()[0] else "sh"
    done = subprocess.run([shell, "-n", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert path.stat().st_mode & 0o111


def test_the_worker_is_given_what_it_needs_and_no_more() -> None:
    unit = (ROOT / "deploy/systemd/fixwright-worker.service").read_text()
    for name in ("AmbientCapabilities", "CapabilityBoundingSet"):
        assert re.search(rf"^{name}=(.*)$", unit, re.MULTILINE)[1].split() == list(NEEDED)  # type: ignore[index]
    script = (ROOT / "deploy/image/fixwright-as").read_text()
    rights = re.search(r'^worker\) rights="(.*)"', script, re.MULTILINE)[1]  # type: ignore[index]
    assert [f"CAP_{right.removeprefix('+').upper()}" for right in rights.split(",")] == list(NEEDED)


def test_fly_keeps_one_machine_of_one_gigabyte_that_never_stops() -> None:
    configuration = tomllib.loads((ROOT / "fly.toml").read_text())
    assert configuration["vm"] == [{"size": "shared-cpu-1x", "memory": "1gb"}]
    service = configuration["http_service"]
    assert service["auto_stop_machines"] == "off" and service["min_machines_running"] == 1
    assert service["checks"][0]["path"] == "/healthz" and configuration["kill_timeout"] >= 10


def test_compose_loosens_what_the_sandbox_needs_and_nothing_else() -> None:
    service = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())["services"]["fixwright"]
    assert "privileged" not in service and "cap_add" not in service
    assert service["ports"] == ["127.0.0.1:8400:8400"]


@pytest.mark.long
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    for name in ("web", "worker"):
        text = (ROOT / f"deploy/systemd/fixwright-{name}.service").read_text().replace("@AGENT_UID@", "59321")
        (tmp_path / f"fixwright-{name}.service").write_text(
            text.replace("/opt/fixwright/bin/fixwright", "/bin/true")
        )
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *map(str, tmp_path.glob("*.service"))],
        capture_output=True, text=True, check=False, env=dict(inherited_environment()),
    )  # fmt: skip
    ours = [line for line in done.stderr.splitlines() if "fixwright" in line]
    assert done.returncode == 0 and not ours, done.stderr
