"""Finding providers by entry points, with real distributions on the path."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from domain.errors import ConfigurationError
from providers.local.forge import LocalForge
from providers.local.plugin import LocalProvider
from providers.plugins import installed_providers, load_provider

ROOT = Path(__file__).parents[2]


class Shelf:
    """A directory on the import path in which distributions are laid out as pip would."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def add(self, package: str, name: str, value: str, module: str | None = None) -> None:
        info = self.directory / f"{package.replace('-', '_')}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[fixwright.providers]\n{name} = {value}\n")
        if module is not None:
            (self.directory / f"{value.split(':')[0]}.py").write_text(module)


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    monkeypatch.syspath_prepend(str(tmp_path))
    return Shelf(tmp_path)


GITEA = "class Gitea:\n    name = 'tea'\n"


def test_an_installed_provider_is_found_and_made(shelf: Shelf) -> None:
    shelf.add("fixwright-tea", "tea", "shelf_tea:Gitea", GITEA)
    assert "tea" in installed_providers()
    assert load_provider("tea").name == "tea"


def test_the_local_provider_is_one(shelf: Shelf) -> None:
    shelf.add("fixwright-again", "local-again", "providers.local.plugin:LocalProvider")
    with pytest.raises(ConfigurationError, match=r"'local-again'.*calls itself 'local'"):
        load_provider("local-again")


def test_an_unknown_name_is_answered_with_those_there_are(shelf: Shelf) -> None:
    shelf.add("fixwright-tea", "tea", "shelf_tea:Gitea", GITEA)
    with pytest.raises(ConfigurationError, match=r"no provider 'gitub'; installed are: .*tea"):
        load_provider("gitub")


def test_listing_loads_nothing(shelf: Shelf) -> None:
    shelf.add("fixwright-bomb", "bomb", "shelf_bomb:Bomb", "raise SystemExit('loaded')\n")
    assert "bomb" in installed_providers()


@pytest.mark.parametrize(
    ("value", "module"),
    [
        ("shelf_absent:Absent", None),
        ("shelf_empty:Absent", ""),
        ("shelf_needy:Needy", "class Needy:\n    def __init__(self, needed): ...\n"),
        ("shelf_missing:X", "import a_module_that_is_not_there\n"),
    ],
)
def test_a_provider_that_cannot_be_loaded_is_named(shelf: Shelf, value: str, module: str | None) -> None:
    shelf.add("fixwright-broken", "broken", value, module)
    with pytest.raises(ConfigurationError, match=r"'broken' of the package fixwright-broken"):
        load_provider("broken")


def test_two_packages_with_one_name_are_both_named(shelf: Shelf) -> None:
    shelf.add("fixwright-tea", "tea", "shelf_tea:Gitea", GITEA)
    shelf.add("fixwright-other-tea", "tea", "shelf_other:Gitea", GITEA)
    with pytest.raises(ConfigurationError, match=r"fixwright-other-tea, fixwright-tea"):
        load_provider("tea")


# -- the embedded forge's own plugin ----------------------------------------------------------------


def test_a_forge_is_made_from_options(tmp_path: Path) -> None:
    options = {"path": str(tmp_path), "webhook_url": "http://127.0.0.1:1/x", "webhook_secret": "s" * 32}
    forge = LocalProvider().forge(options)
    assert isinstance(forge, LocalForge) and forge.identity.is_bot and (tmp_path / "forge.db").exists()
    assert LocalProvider().forge({"path": str(tmp_path)}).name == LocalProvider.name == "local"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "needs the option path"),
        ({"path": ""}, "needs the option path"),
        ({"path": "p", "webhook_url": "http://h/"}, "both of webhook_url and webhook_secret"),
        ({"path": "p", "webhook_secret": "s"}, "both of webhook_url and webhook_secret"),
        ({"path": "p", "webhook_url": "ftp://h/", "webhook_secret": "s"}, "a right one is http://127"),
        ({"path": "p", "webhook_url": "localhost", "webhook_secret": "s"}, "a right one is http://127"),
        ({"path": "p", "token": "t"}, "has no option 'token'; it has path"),
    ],
)
def test_a_wrong_option_is_named_with_a_right_example(options: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        LocalProvider().forge(options)
    assert not Path("p").exists()


def test_the_dialect_has_our_headers() -> None:
    pytest.importorskip("providers.webhooks")
    dialect = LocalProvider().dialect()
    assert dialect.name == "local"
    assert dialect.delivery_id([(b"x-fixwright-delivery", b"c0ffee00-0000-4000-8000-000000000000")])


@pytest.mark.long
@pytest.mark.parametrize(
    ("imported", "absent"),
    [
        ("providers.local.plugin", {"dulwich", "httpx", "sqlite3", "structlog", "pytest"}),
        ("providers.github.plugin", {"github", "requests", "jwt", "cryptography", "structlog", "pytest"}),
        ("providers.webhooks", {"github", "requests", "jwt", "cryptography", "structlog", "pytest"}),
        ("providers.plugins", {"dulwich", "httpx", "sqlite3", "structlog", "pytest"}),
        ("providers.local.forge", {"dulwich", "httpx", "pytest"}),
    ],
)
def test_imports_stay_light(imported: str, absent: set[str]) -> None:
    code = f"import sys, {imported}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not absent & set(done.stdout.split())
