"""What package clients say of their registries: asked for real, from programs that stand in for them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from domain.hosts import Target
from harness.setup.certificates import certificate_shown, certificate_variables, certificates
from harness.setup.registries import ask_clients

Machine = Callable[..., dict[str, str]]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Make a machine with these clients, each of which prints something; returns the environment there."""

    def make(**says: str) -> dict[str, str]:
        (tmp_path / "bin").mkdir()
        for name, text in says.items():
            program = tmp_path / "bin" / name
            program.write_text(f"#!/bin/sh\n/bin/cat <<'END'\n{text}\nEND\n")
            program.chmod(0o755)
        return {"PATH": f"{tmp_path}/bin", "HOME": str(tmp_path)}

    return make


def hosts(configuration) -> set[str]:
    return {str(target) for target in configuration.targets}


def test_a_machine_without_clients_allows_nothing(machine: Machine) -> None:
    found = ask_clients(machine())
    assert (found.targets, found.env, found.shown, found.remarks) == (frozenset(), {}, (), ())


def test_pip_tells_its_indexes_and_the_environment_counts_most(machine: Machine) -> None:
    listed = (
        "global.index-url='https://old.example/simple'\n:env:.index-url='https://new.example/simple'\n"
        "global.extra-index-url='https://a.example:8443/simple\\nhttps://b.example/simple'\nglobal.timeout='9'"
    )
    found = ask_clients(machine(pip=listed))
    assert hosts(found) == {"new.example", "a.example:8443", "b.example"}
    assert found.env["PIP_INDEX_URL"] == "https://new.example/simple"
    assert found.env["PIP_EXTRA_INDEX_URL"] == "https://a.example:8443/simple https://b.example/simple"


def test_the_default_index_and_the_hosts_of_its_files_are_asked_for(machine: Machine) -> None:
    environment = machine(pip="", python3="https://index.example/simple")
    assert hosts(ask_clients(environment)) == {"index.example"}
    answers = iter(["", "https://index.example/simple\n", "https://files.example/x.whl#sha\n"])

    def ask(command, _) -> str:
        return next(answers) if command[0] in {"pip", "python3"} else ""

    assert hosts(ask_clients(environment, ask)) == {"index.example", "files.example"}


def test_a_password_is_never_handed_on_and_that_is_said(machine: Machine) -> None:
    found = ask_clients(machine(pip="global.index-url='https://me:hunter2@own.example/simple'"))
    assert "hunter2" not in repr(found) and found.env["PIP_INDEX_URL"] == "https://own.example/simple"
    assert found.remarks == ("pip: the password of own.example is not handed to set-ups",)


@pytest.mark.parametrize(
    "address", ["http://plain.example/simple", "https://10.0.0.1/simple", "ftp://x.example"]
)
def test_what_the_proxy_would_not_let_through_is_left_out(machine: Machine, address: str) -> None:
    found = ask_clients(machine(pip=f"global.index-url='{address}'"))
    assert found.targets == frozenset() and "PIP_INDEX_URL" not in found.env and found.remarks


def test_a_local_index_is_shown_with_the_files_beside_it(machine: Machine) -> None:
    # pytest's own directories are closed to others, which a local index must not be.
    listed = "global.extra-index-url='file:///usr/share'\nglobal.find-links='/etc/secret /usr/lib'"
    found = ask_clients(machine(pip=listed))
    assert (
        found.env["PIP_EXTRA_INDEX_URL"] == "file:///usr/share" and found.env["PIP_FIND_LINKS"] == "/usr/lib"
    )
    assert found.shown == () and "/etc/secret cannot be shown" in found.remarks[0]


def test_a_local_index_that_others_cannot_read_is_left_out(machine: Machine, tmp_path: Path) -> None:
    closed = tmp_path.parent / "closed"
    closed.mkdir(mode=0o700, exist_ok=True)
    found = ask_clients(machine(pip=f"global.find-links='{closed}'"))
    assert found.shown == () and "PIP_FIND_LINKS" not in found.env and found.remarks


def test_npm_tells_its_registry_and_those_of_scopes(machine: Machine) -> None:
    settings = {"registry": "https://npm.example/", "@a:registry": "https://scope.example/", "cafile": None}
    found = ask_clients(machine(npm=json.dumps(settings)))
    assert hosts(found) == {"npm.example", "scope.example"}
    assert found.env["npm_config_registry"] == "https://npm.example/"


def test_cargo_is_told_what_stands_for_another_source_and_no_password(
    machine: Machine, tmp_path: Path
) -> None:
    (tmp_path / ".cargo").mkdir()
    (tmp_path / ".cargo/config.toml").write_text(
        '[source.crates-io]\nreplace-with = "ours"\n[source.ours]\n'
        'registry = "sparse+https://me:hunter2@cargo.example/i/"\n[build]\nrustc-wrapper = "/root/x"\n'
    )
    found = ask_clients(machine())
    assert tomllib.loads(found.files["cargo/config.toml"]) == {
        "source": {
            "crates-io": {"replace-with": "ours"},
            "ours": {"registry": "sparse+https://cargo.example/i/"},
        }
    }
    assert hosts(found) == {"cargo.example"} and found.remarks


def test_go_ruby_cargo_and_maven_are_asked_too(machine: Machine, tmp_path: Path) -> None:
    environment = machine(
        go="https://go.example,direct\nsum.example", gem="*** SOURCES ***\n\nhttps://gems.example/"
    )
    (tmp_path / ".cargo").mkdir()
    (tmp_path / ".cargo/config.toml").write_text(
        '[registries.own]\nindex = "sparse+https://cargo.example/i/"\n'
    )
    (tmp_path / ".m2").mkdir()
    (tmp_path / ".m2/settings.xml").write_text("<mirror><url> https://maven.example/m </url></mirror>")
    found = ask_clients(environment)
    assert hosts(found) == {"go.example", "sum.example", "gems.example", "cargo.example", "maven.example"}
    assert found.env["GOPROXY"] == "https://go.example,direct"
    assert found.env["CARGO_REGISTRIES_OWN_INDEX"] == "sparse+https://cargo.example/i/"
    assert Target("go.example") in found.targets


@pytest.mark.parametrize("noise", ["", "{", "[1]", '{"registry": 7}', "\x00\xff", "a=b\n" * 1000])
def test_a_client_that_says_nonsense_is_taken_for_one_that_says_nothing(machine: Machine, noise: str) -> None:
    noise = noise.replace("\x00", "?")
    environment = machine(pip=noise, npm=noise, go=noise, gem=noise, yarn=noise)
    assert ask_clients(environment).targets == frozenset()


def test_the_operators_certificates_are_shown_where_the_systems_are_not(tmp_path: Path) -> None:
    own = tmp_path / "own.pem"
    own.write_text("x")
    assert certificates({"SSL_CERT_FILE": str(own)}) == own
    assert certificates({"SSL_CERT_FILE": "/nowhere"}) != Path("/nowhere")
    (shown,) = certificate_shown(own)
    assert certificate_variables(own)["PIP_CERT"] == shown.target
    assert certificate_variables(None) == {} and certificate_shown(None) == ()
