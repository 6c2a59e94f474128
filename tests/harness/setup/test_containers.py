"""Set-ups in containers: through the same proxy, kept the same way, used offline in a container again."""

# ruff: noqa: F811 - fixtures of another file are imported by name

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.sandbox.container import ContainerSandbox
from harness.setup.clients import ClientConfiguration
from harness.setup.phase import SetupPhase
from tests.harness.git_world import reachable_directory
from tests.harness.sandbox.engine_world import EngineWorld, NoEngine, prepare_engine
from tests.harness.setup.setup_world import SetupWorld
from tests.harness.setup.test_live import Machine, found, machine, offline, require  # noqa: F401 - fixtures

pytestmark = pytest.mark.long


@pytest.fixture(scope="session")
def engine() -> EngineWorld:
    try:
        return prepare_engine()
    except NoEngine as reason:
        pytest.skip(f"no containers here: {reason}")


@pytest.fixture
def root() -> Iterator[Path]:
    with reachable_directory() as root:
        yield root


@pytest.fixture
def kit(root: Path) -> Path:
    """A tool directory with pip, which the small image has not."""
    pip = importlib.util.find_spec("pip")
    if pip is None or pip.origin is None:
        pytest.skip("these tests run in an environment without pip, so there is none to show")
    shutil.copytree(Path(pip.origin).parent, root / "kit/lib/pip")
    (root / "kit/bin").mkdir()
    (root / "kit/bin/pip").write_text(f'#!/bin/sh\nPYTHONPATH={root}/kit/lib exec python3 -m pip "$@"\n')
    (root / "kit/bin/pip").chmod(0o755)
    return root / "kit"


@pytest.fixture
def contained(
    engine: EngineWorld,
    root: Path,
    uid: int | None,
    machine: Machine,
    kit: Path,
) -> SetupWorld:
    """A world whose set-ups, and all later commands, run in containers."""
    world = SetupWorld(root, uid, machine.rules, lambda: machine.clients)
    world.sandbox = ContainerSandbox(
        state=root / "state", image=engine.image, uid=uid, engine=str(engine.program),
        service=root.name, tools=(kit,), nice=False,
    )  # fmt: skip
    return world


def test_a_python_dependency_is_installed_in_one_container_and_used_offline_in_another(
    contained: SetupWorld,
    machine: Machine,
    found: ClientConfiguration,
) -> None:
    require(found, "PIP_INDEX_URL")
    tree = contained.commit({"requirements.txt": "six\n", "lamp.py": "import six\nprint('six', six.PY3)\n"})
    first = contained.set_up(tree, "pip install -r requirements.txt")
    assert machine.looked_up and not first.from_cache
    contained.phase = SetupPhase(contained.cache, offline())
    again = contained.set_up(tree, "pip install -r requirements.txt")
    assert again.from_cache
    ran, written = contained.later(again, tree, "python3 lamp.py", "touch /setup/new")
    assert (ran.exit_code, ran.output) == (0, "six True\n")
    assert written.exit_code != 0 and "Read-only file system" in written.output
    assert contained.work_left() == []
