"""The example's provider, installed as a stranger would: found by its entry point, served, and sound."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import site
import subprocess
import sys
import venv
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "directory-forge"

pytestmark = pytest.mark.long

LOADED = """
import json, os
from app.forges import open_forges
from app.serve import webhook_dialects
from app.settings import load_worker_settings
from providers.plugins import installed_providers, load_provider

forge = open_forges(load_worker_settings())["directory"]
print(json.dumps({
    "installed": installed_providers(),
    "provider": type(load_provider("directory")).__module__,
    "dialects": sorted(webhook_dialects()),
    "repository": forge.repository_named("ACME/shop").full_name,
    "identity": forge.identity.login,
    "from": __import__("directory_forge").__file__,
}))
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment in which the service is there, the example beside it, and nothing is fetched."""
    place = tmp_path_factory.mktemp("stranger")
    venv.create(place / "venv", with_pip=False)
    library = next((place / "venv").glob("lib/python3*/site-packages"))
    (library / "service.pth").write_text("\n".join([str(ROOT), *site.getsitepackages()]) + "\n")
    shutil.copytree(EXAMPLE, place / "directory-forge", ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "--python", str(place / "venv" / "bin" / "python"), "install"]
    command = [*pip, "--no-deps", "--quiet", "--disable-pip-version-check", str(place / "directory-forge")]
    if builds_offline():
        done = ran([*command, "--no-build-isolation", "--no-index"], place)
        assert done.returncode == 0, done.stdout + done.stderr
    elif ran(command, place, **os.environ).returncode != 0:
        pytest.skip("there is neither setuptools 70.1 to build with nor a registry to fetch it from")
    return place


def builds_offline() -> bool:
    """Tell whether the setuptools that is installed can make a wheel by itself."""
    with contextlib.suppress(PackageNotFoundError):
        return tuple(map(int, version("setuptools").split(".")[:2])) >= (70, 1)
    return False


def ran(command: list[str], where: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(where), **variables}
    return subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, timeout=500)


def test_it_is_found_by_its_entry_point_and_served(place: Path) -> None:
    forge = place / "forge"
    make = f"""from pathlib import Path; from directory_forge.people import People
People(Path({str(forge)!r})).repository("acme/shop", branch="main", private=False, empty=False)"""
    python = str(place / "venv" / "bin" / "python")
    assert ran([python, "-c", make], place).returncode == 0
    told = ran(
        [python, "-c", LOADED],
        place,
        FIXWRIGHT_REPOSITORIES="directory:acme/shop",
        FIXWRIGHT_FORGE_OPTIONS=json.dumps({"directory": {"path": str(forge)}}),
    )
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout.splitlines()[-1])
    assert "directory" in found["installed"] and "directory" in found["dialects"]
    assert found["provider"] == "directory_forge.plugin"
    assert (found["repository"], found["identity"]) == ("acme/shop", "fixwright[bot]")
    assert found["from"].startswith(str(place / "venv")), "it is the installed one"


def test_its_own_tests_pass(place: Path) -> None:
    python = str(place / "venv" / "bin" / "python")
    done = ran(
        [python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "tests"], place / "directory-forge"
    )
    assert done.returncode == 0, done.stdout
    assert "directory does not claim checks" in done.stdout, "what is not offered is a visible skip"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("{}", "needs the option path"),
        ('{"directory": {"path": "relative"}}', "needs the option path"),
        ('{"directory": {"path": "/", "pth": "/"}}', "has no option 'pth'"),
    ],
)
def test_a_wrong_option_is_said(place: Path, options: str, words: str) -> None:
    python = str(place / "venv" / "bin" / "python")
    settings = {"FIXWRIGHT_REPOSITORIES": "directory:acme/shop", "FIXWRIGHT_FORGE_OPTIONS": options}
    done = ran([python, "-c", LOADED], place, **settings)
    assert done.returncode == 1 and "ConfigurationError" in done.stderr and words in done.stderr
