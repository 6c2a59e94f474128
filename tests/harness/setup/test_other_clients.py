"""Package clients other than Python's and Node's, against a registry on loopback: online once, then never."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.sandbox.bubblewrap import BubblewrapSandbox
from harness.setup.clients import ClientConfiguration
from harness.setup.registries import ask_clients
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


GO_MAIN = (
    'package main\n\nimport (\n\t"fmt"\n\t"lamp.example/light"\n)\n\n'
    "func main() { fmt.Println(light.On()) }\n"
)
GO_TEST = (
    'package main\n\nimport (\n\t"testing"\n\t"lamp.example/light"\n)\n\n'
    'func TestOn(t *testing.T) { if light.On() != "on" { t.Fatal() } }\n'
)


def test_a_go_module_is_fetched_once_and_tests_run_offline(root: Path, uid: int | None, shelf: Shelf) -> None:
    need("go")
    source = 'package light\n\nfunc On() string { return "on" }\n'
    served = go_module("lamp.example/light", "v1.2.0", source)
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


def crate(name: str, version: str, source: str, url: str) -> dict[str, bytes]:
    """Return what a sparse index and its download place serve for one crate with a name of five letters."""
    packed = io.BytesIO()
    manifest = f'[package]\nname = "{name}"\nversion = "{version}"\nedition = "2021"\n'
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for path, text in (("Cargo.toml", manifest), ("src/lib.rs", source)):
            entry = tarfile.TarInfo(f"{name}-{version}/{path}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    checksum = hashlib.sha256(packed.getvalue()).hexdigest()
    line = {"name": name, "vers": version, "deps": [], "cksum": checksum, "features": {}, "yanked": False}
    return {
        "/index/config.json": json.dumps({"dl": f"{url}/crates"}).encode(),
        f"/index/{name[:2]}/{name[2:4]}/{name}": json.dumps(line).encode() + b"\n",
        f"/crates/{name}/{version}/download": packed.getvalue(),
    }


def test_a_crate_comes_from_what_stands_for_the_usual_source_and_tests_run_offline(
    root: Path, uid: int | None, shelf: Shelf
) -> None:
    toolchain = os.environ.get("TEST_RUST_TOOLCHAIN", "")
    if not toolchain:
        need("cargo")
    shelf.put(crate("light", "1.2.0", 'pub fn on() -> &\'static str { "on" }\n', shelf.url))
    (root / "home/.cargo").mkdir(parents=True)
    (root / "home/.cargo/config.toml").write_text(
        f'[source.crates-io]\nreplace-with = "ours"\n[source.ours]\nregistry = "sparse+{shelf.url}/index/"\n'
    )
    world = SetupWorld(root, uid, shelf.rules(), lambda: ask_clients({"HOME": str(root / "home")}))
    world.sandbox = BubblewrapSandbox(uid=uid, nice=False, tools=[Path(toolchain)] if toolchain else [])
    test = '#[test]\nfn is_on() { assert_eq!(light::on(), "on"); }\n'
    manifest = '[package]\nname = "lamp"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nlight = "1"\n'
    tree = world.commit({"Cargo.toml": manifest, "src/lib.rs": test})
    prepared = world.set_up(tree, "cargo fetch")
    assert "/crates/light/1.2.0/download" in shelf.asked
    shelf.asked.clear()
    (tested,) = world.later(prepared, tree, "cargo test 2>&1")
    assert tested.exit_code == 0 and "1 passed" in tested.output, tested.output
    assert shelf.asked == []


def gem(directory: Path, name: str, version: str, source: str) -> dict[str, bytes]:
    """Build a gem; return what a compact index serves for it."""
    (directory / "lib").mkdir(parents=True)
    (directory / f"lib/{name}.rb").write_text(source)
    (directory / f"{name}.gemspec").write_text(
        f"Gem::Specification.new {{ |s| s.name = '{name}'; s.version = '{version}'; s.summary = 's'; "
        f"s.authors = ['a']; s.files = ['lib/{name}.rb'] }}\n"
    )
    subprocess.run(["gem", "build", f"{name}.gemspec"], cwd=directory, check=True, capture_output=True)
    packed = (directory / f"{name}-{version}.gem").read_bytes()
    told = f"---\n{version} |checksum:{hashlib.sha256(packed).hexdigest()}\n".encode()
    versions = f"created_at: 2024-01-01T00:00:00Z\n---\n{name} {version} {hashlib.md5(told).hexdigest()}\n"
    return {
        "/versions": versions.encode(),
        f"/info/{name}": told,
        f"/gems/{name}-{version}.gem": packed,
    }


def test_a_gem_is_installed_once_and_tests_run_offline(root: Path, uid: int | None, shelf: Shelf) -> None:
    need("bundle")
    shelf.put(gem(root / "gem", "light", "1.2.0", "module Light\n  def self.on = 'on'\nend\n"))
    world = world_of(root, uid, shelf)
    tree = world.commit(
        {
            "Gemfile": f"source '{shelf.url}'\ngem 'light'\n",
            "test.rb": "require 'light'\nputs Light.on\n",
        }
    )
    prepared = world.set_up(tree, "bundle install")
    assert "/gems/light-1.2.0.gem" in shelf.asked
    shelf.asked.clear()
    (ran,) = world.later(prepared, tree, "bundle exec ruby test.rb")
    assert (ran.exit_code, ran.output) == (0, "on\n")
    assert shelf.asked == []
