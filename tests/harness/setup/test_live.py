"""Real registries, as this machine is configured for them: through the proxy once, and never again.

Which registries those are stands nowhere here; where none is configured, or none is reached, they skip.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from app.settings import client_environment, network_variables
from domain.model import Outcome
from harness.setup.certificates import certificates
from harness.setup.clients import ClientConfiguration
from harness.setup.phase import SetupPhase
from harness.setup.plan import SetupPlan
from harness.setup.registries import ask_clients
from harness.setup.site import SetupRules
from harness.setup.upstream import look_up, operator_proxy
from tests.harness.git_world import reachable_directory
from tests.harness.setup.setup_world import SetupWorld
from tests.harness.test_equipment import Place
from tests.worker.town import CALC, FIX, SHOW

pytestmark = pytest.mark.long


@dataclass
class Machine:
    """This machine's clients, without their local indexes, and what was looked up for them."""

    clients: ClientConfiguration
    rules: SetupRules
    looked_up: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def found() -> ClientConfiguration:
    return ask_clients(client_environment())


@pytest.fixture
def machine(found: ClientConfiguration) -> Machine:
    remote = {name: value for name, value in found.env.items() if "EXTRA" not in name and "LINKS" not in name}
    networks = []
    for target in found.targets:
        try:
            networks += [ipaddress.ip_network(address) for address in look_up(target.host, target.port)]
        except OSError:
            continue
    machine = Machine(replace(found, env=remote, shown=()), SetupRules())

    def resolve(host: str, port: int) -> list[str]:
        machine.looked_up.append(host)
        return look_up(host, port)

    machine.rules = SetupRules(
        setting="auto",
        networks=tuple(networks),
        proxy=operator_proxy(network_variables()),
        certificates=certificates(network_variables()),
        resolve=resolve,
    )
    return machine


def require(found: ClientConfiguration, variable: str) -> None:
    address = found.env.get(variable, "")
    host = address.partition("://")[2].partition("/")[0]
    try:
        look_up(host.partition(":")[0], 443)
    except (OSError, UnicodeError):
        pytest.skip(
            f"this machine's package client is configured for no registry that is reached ({variable})"
        )


@pytest.fixture
def root() -> Iterator[Path]:
    with reachable_directory() as root:
        yield root


def offline() -> SetupRules:
    """Rules under which any look at the network fails the test."""
    refuse: Callable[[str, int], list[str]] = lambda host, port: pytest.fail(f"{host} was looked up")  # noqa: E731
    return SetupRules(setting="auto", resolve=refuse)


def test_a_python_dependency_is_installed_once_and_tested_offline(
    root: Path, uid: int | None, machine: Machine, found: ClientConfiguration
) -> None:
    require(found, "PIP_INDEX_URL")
    tests = (
        "import six\n\nfrom calc import double\n\n\ndef test_two():\n    assert six.PY3 and double(2) == 4\n"
    )
    files = {"calc.py": CALC["calc.py"], "test_calc.py": tests, "requirements.txt": "six\n"}
    place = Place(root, uid, files, machine.rules, lambda: machine.clients)
    result = place.attempt(FIX, SHOW)
    assert result.outcome is Outcome.VERIFIED, result.detail
    assert "pip install -r requirements.txt pytest" in result.prepared and "run now" in result.prepared
    assert machine.looked_up
    place.phase = SetupPhase(place.phase.cache, offline(), ask_clients=lambda: pytest.fail("asked again"))
    again = place.attempt(FIX, SHOW)
    assert "from the cache" in again.prepared, again.detail


def test_an_npm_package_is_installed_once_and_tested_offline(
    root: Path, uid: int | None, machine: Machine, found: ClientConfiguration
) -> None:
    require(found, "npm_config_registry")
    world = SetupWorld(root, uid, machine.rules, lambda: machine.clients)
    test = (
        "const t = require('node:test'); t('a', () => require('assert').equal(require('ms')('1s'), 1000))\n"
    )
    package = '{"name": "lamp", "scripts": {"test": "node --test"}, "dependencies": {"ms": "^2.1.3"}}'
    tree = world.commit({"package.json": package, "lamp.test.js": test})
    plan = SetupPlan(commands=("npm install --no-package-lock",), why="a test", needs=("node", "npm"))
    first = world.phase.prepare(plan, world.site(tree))
    assert machine.looked_up and "/work/node_modules" in {each.target for each in first.shown}
    second = SetupPhase(world.cache, offline()).prepare(plan, world.site(tree))
    assert second.from_cache
    (ran,) = world.later(second, tree, "npm test")
    assert ran.exit_code == 0 and "# pass 1" in ran.output


def test_an_editable_install_sees_the_change_and_not_the_base(
    root: Path, uid: int | None, machine: Machine, found: ClientConfiguration
) -> None:
    require(found, "PIP_INDEX_URL")
    project = (
        '[project]\nname = "lamp"\nversion = "1"\n[project.scripts]\nlamp = "lamp:main"\n'
        '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
    )
    world = SetupWorld(root, uid, machine.rules, lambda: machine.clients)
    tree = world.commit({"pyproject.toml": project, "src/lamp/__init__.py": "def main(): print('base')\n"})
    prepared = world.set_up(tree, "pip install -e .")
    changed = world.commit({"src/lamp/__init__.py": "def main(): print('changed')\n"})
    (ran,) = world.later(
        prepared,
        changed,
        "lamp; cd /; python3 -c 'import importlib.metadata as m; print(m.version(\"lamp\"))'",
    )
    assert ran.output == "changed\n1\n"


def test_a_host_that_is_not_allowed_is_named_in_the_failure(
    root: Path, uid: int | None, machine: Machine, found: ClientConfiguration
) -> None:
    require(found, "PIP_INDEX_URL")
    clients = replace(machine.clients, env={"PIP_INDEX_URL": "https://index.example/simple"})
    world = SetupWorld(root, uid, machine.rules, lambda: clients)
    with pytest.raises(
        Exception, match=r"index\.example: the operator has not allowed it; .*=auto,index\.example"
    ):
        world.set_up(world.commit({"requirements.txt": "six\n"}), "pip install -r requirements.txt")
