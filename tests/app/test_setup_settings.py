"""The operator's word on set-ups: closed by default, names and networks only, and wired as it was said."""

from __future__ import annotations

import ipaddress

import pytest
from pydantic import TypeAdapter, ValidationError

from app.setting_groups import WorkerSettings
from app.setting_types import Networks, SetupHosts
from app.settings import client_environment

HOSTS, NETWORKS = TypeAdapter(SetupHosts), TypeAdapter(Networks)


def test_setups_are_closed_by_default() -> None:
    fields = WorkerSettings.model_fields
    assert fields["setup_hosts"].default == "" and fields["setup_networks"].default == ()


@pytest.mark.parametrize(
    ("text", "kept"),
    [("", ""), ("AUTO", "auto"), ("auto, A.example b.example:8443,auto", "auto,a.example,b.example:8443")],
)
def test_hosts_are_names_and_auto(text: str, kept: str) -> None:
    assert HOSTS.validate_python(text) == kept


@pytest.mark.parametrize("text", ["https://a.example", "*.example", "10.0.0.1", "a.example/x", "a:b", "all!"])
def test_whatever_is_no_host_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValidationError, match="not the name of a host"):
        HOSTS.validate_python(text)


def test_networks_are_networks() -> None:
    assert NETWORKS.validate_python("10.0.0.0/8, fd00::/8") == (
        ipaddress.ip_network("10.0.0.0/8"),
        ipaddress.ip_network("fd00::/8"),
    )


@pytest.mark.parametrize(
    "text", ["0.0.0.0/0", "::/0", "169.254.0.0/16", "fe80::/10", "224.0.0.0/4", "10.0.0.1/8", "x"]
)
def test_a_network_that_must_not_be_allowed_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="network"):
        NETWORKS.validate_python(text)


def test_clients_are_asked_with_their_own_variables_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("FIXWRIGHT_API_KEY", "secret")
    monkeypatch.setenv("PIP_INDEX_URL", "https://a.example")
    monkeypatch.setenv("npm_config_registry", "https://b.example")
    found = client_environment()
    assert "secret" not in found.values()
    assert (
        found["PIP_INDEX_URL"] == "https://a.example" and found["npm_config_registry"] == "https://b.example"
    )
