"""Package clients other than Python's and Node's, against a registry on loopback: online once, then never."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.setup.clients import ClientConfiguration
from tests.harness.git_world import reachable_directory
from tests.harness.setup.setup_world import SetupWorld
from tests.harness.setup.shelf import Shelf, serving_shelf

pytestmark = pytest.mark.long

PLACES = "/usr/local/bin:/usr/bin"


@pytest.fixture
def root() -> Iterator[Path]:
    with reachable_directory() as root:
        yield root


@pytest.fixture
def shelf(root: Path) -> Iterator[Shelf]:
    (root / "authority").mkdir()
    (root / "authority").chmod(0o755)
    with serving_shelf(root / "authority") as shelf:
        yield shelf


def need(program: str) -> None:
    if shutil.which(program, path=PLACES) is None:
        pytest.skip(f"{program} is not installed below /usr")


def world_of(root: Path, uid: int | None, shelf: Shelf, **env: str) -> SetupWorld:
    return SetupWorld(root, uid, shelf.rules(), lambda: ClientConfiguration(env=env))


def go_module(path: str, version: str, source: str) -> dict[str, bytes]:
    """Return what a module proxy serves for one version of one module."""
    manifest = f"module {path}\n\ngo 1.16\n".encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(f"{path}@{version}/go.mod", manifest)
        archive.writestr(f"{path}@{version}/lamp.go", source)
    info = json.dumps({"Version": version, "Time": "2024-01-01T00:00:00Z"}).encode()
    at = f"/go/{path}/@v"
    return {
        f"{at}/list": f"{version}\n".encode(),
        f"{at}/{version}.info": info,
        f"{at}/{version}.mod": manifest,
        f"{at}/{version}.zip": packed.getvalue(),
    }


def go_sums(path: str, version: str, served: dict[str, bytes]) -> str:
    """Return the lines of go.sum for what is served."""

    def hashed(files: dict[str, bytes]) -> str:
        lines = "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))
        return "h1:" + base64.b64encode(hashlib.sha256(lines.encode()).digest()).decode()

    at = f"/go/{path}/@v/{version}"
    with zipfile.ZipFile(io.BytesIO(served[f"{at}.zip"])) as archive:
        whole = hashed({name: archive.read(name) for name in archive.namelist()})
    return f"{path} {version} {whole}\n{path} {version}/go.mod {hashed({'go.mod': served[f'{at}.mod']})}\n"


GO_MAIN = 'package main\n\nimport (\n\t"fmt"\n\t"lamp.example/light"\n)\n\nfunc main() { fmt.Println(light.On()) }\n'
GO_TEST = (
    'package main\n\nimport (\n\t"testing"\n\t"lamp.example/light"\n)\n\n'
    'func TestOn(t *testing.T) { if light.On() != "on" { t.Fatal() } }\n'
)


def test_a_go_module_is_fetched_once_and_tests_run_offline(root: Path, uid: int | None, shelf: Shelf) -> None:
    need("go")
    served = go_module("lamp.example/light", "v1.2.0", 'package light\n\nfunc On() string { return "on" }\n')
    shelf.put(served)
    world = world_of(root, uid, shelf, GOPROXY=f"{shelf.url}/go", GOSUMDB="off")
    files = {
        "go.mod": "module town.example/lamp\n\ngo 1.16\n\nrequire lamp.example/light v1.2.0\n",
        "go.sum": go_sums("lamp.example/light", "v1.2.0", served),
        "main.go": GO_MAIN,
        "main_test.go": GO_TEST,
    }
    tree = world.commit(files)
    prepared = world.set_up(tree, "go mod download")
    assert "/go/lamp.example/light/@v/v1.2.0.zip" in shelf.asked
    shelf.asked.clear()
    ran, tested = world.later(prepared, tree, "go run .", "go test ./... 2>&1")
    assert (ran.exit_code, ran.output) == (0, "on\n")
    assert tested.exit_code == 0 and "ok" in tested.output, tested.output
    assert shelf.asked == []
