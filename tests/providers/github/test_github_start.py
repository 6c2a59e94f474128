"""At the start: a wrong key, a wrong App, a wrong clock, lacking permissions, each said in its own words."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from structlog.testing import capture_logs

from app.demo.github.state import APP_ID, OWNER, Fault, app_key, app_public_key
from domain.errors import ConfigurationError, ForgeUnavailable
from domain.model import Actor
from providers.github.calls import Patience
from providers.github.forge import GithubForge
from providers.github.plugin import GithubProvider
from tests.providers.github.stage import HASTE, GithubStage


def client(stage: GithubStage, *, app_id: str = str(APP_ID), key: str = "") -> GithubForge:
    return GithubForge(
        app_id=app_id,
        private_key=key or app_key(),
        api_url=stage.server.url,
        served=stage._names,
        patience=HASTE,
    )


def pem(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey, password: bytes = b"") -> str:
    how = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, how).decode()


@pytest.mark.long
def test_what_is_right_passes(stage: GithubStage, repository_id: str) -> None:
    with capture_logs() as logs:
        client(stage).check()
    assert logs == []


def public_pem() -> str:
    kind = serialization.PublicFormat.SubjectPublicKeyInfo
    return app_public_key().public_bytes(serialization.Encoding.PEM, kind).decode()


@pytest.mark.long
@pytest.mark.parametrize("kind", ["nothing", "garbage", "half", "public", "elliptic", "locked"])
def test_what_is_no_key_is_said_before_anybody_is_asked(stage: GithubStage, kind: str) -> None:
    key = {
        "nothing": lambda: " ",
        "garbage": lambda: "hunter2-hunter2",
        "half": lambda: app_key()[:300],
        "public": public_pem,
        "elliptic": lambda: pem(ec.generate_private_key(ec.SECP256R1())),
        "locked": lambda: pem(ec.generate_private_key(ec.SECP256R1()), b"password"),
    }[kind]()
    with pytest.raises(ConfigurationError, match="FIXWRIGHT_GITHUB_PRIVATE_KEY: is not an RSA") as refused:
        client(stage, key=key)
    assert "hunter2" not in str(refused.value) and stage.state.seen == []


def test_a_key_of_another_app_is_said(stage: GithubStage, repository_id: str) -> None:
    other = pem(rsa.generate_private_key(public_exponent=65537, key_size=2048))
    with pytest.raises(ConfigurationError, match="is not a key of the App FIXWRIGHT_GITHUB_APP_ID=4711"):
        client(stage, key=other).check()


@pytest.mark.long
def test_an_app_that_there_is_not_is_said(stage: GithubStage, repository_id: str) -> None:
    with pytest.raises(ConfigurationError, match="FIXWRIGHT_GITHUB_APP_ID: there is no App 99 at"):
        client(stage, app_id="99").check()


@pytest.mark.long
@pytest.mark.parametrize("ahead", [-90, 90])
def test_a_clock_may_be_a_minute_and_a_half_off(stage: GithubStage, repository_id: str, ahead: int) -> None:
    stage.state.clock_ahead = ahead
    client(stage).check()


@pytest.mark.long
@pytest.mark.parametrize(("ahead", "words"), [(-3600, "ahead of"), (3600, "behind")])
def test_a_clock_that_is_further_off_is_blamed_and_measured(
    stage: GithubStage, repository_id: str, ahead: int, words: str
) -> None:
    stage.state.clock_ahead = ahead
    with pytest.raises(ConfigurationError, match=rf"clock is 3[56]\d\d s {words} GitHub's.*set the clock"):
        client(stage).check()


def test_permissions_that_the_app_lacks_are_listed(stage: GithubStage, repository_id: str) -> None:
    del stage.state.app_permissions["pull_requests"]
    stage.state.app_permissions["contents"] = "read"
    with pytest.raises(
        ConfigurationError, match=r"lacks the permissions contents: write, pull_requests: write"
    ):
        client(stage).check()


@pytest.mark.long
def test_events_that_the_app_does_not_hear_are_told(stage: GithubStage, repository_id: str) -> None:
    stage.state.app_events.remove("issue_comment")
    with capture_logs() as logs:
        client(stage).check()
    assert [(each["log_level"], each["missing"]) for each in logs] == [("warning", "issue_comment")]


@pytest.mark.long
def test_what_is_wrong_in_one_repository_does_not_stop_the_others(
    stage: GithubStage, repository_id: str
) -> None:
    stage._names.add("else/where")
    del stage.state.installations[OWNER].permissions["checks"]
    with capture_logs() as logs:
        client(stage).check()
    assert {(each["repository"], each.get("missing")) for each in logs} == {
        ("else/where", None),
        ("octo/widgets-1", "checks: write"),
    }


@pytest.mark.long
def test_a_github_that_does_not_answer_now_is_unavailable(stage: GithubStage, repository_id: str) -> None:
    stage.state.faults.append(Fault("GET", "/app", times=99))
    with pytest.raises(ForgeUnavailable):
        client(stage).check()


# -- the plugin's options ---------------------------------------------------------------------------


def options(**changes: str) -> dict[str, str]:
    return {"app_id": "1", "private_key": app_key(), "repositories": "Octo/Widgets", **changes}


def test_a_key_on_one_line_is_a_key() -> None:
    forge = GithubProvider().forge(options(private_key=app_key().replace("\n", "\\n")))
    assert forge.name == GithubProvider.name == "github"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"app_id": ""}, "FIXWRIGHT_GITHUB_APP_ID: is not set"),
        ({"private_key": " "}, "FIXWRIGHT_GITHUB_PRIVATE_KEY: is not set"),
        ({"api_url": "http://github.example.com/api/v3"}, "FIXWRIGHT_GITHUB_API_URL: is not an https"),
        ({"api_url": "https://me:secret@github.example.com"}, "FIXWRIGHT_GITHUB_API_URL: is not an https"),
        ({"api_url": "github.example.com"}, "FIXWRIGHT_GITHUB_API_URL: is not an https"),
        ({"api_url": "https://github.com"}, "its API is at https://api.github.com"),
        ({"token": "x"}, "has no option 'token'"),
    ],
)
def test_a_wrong_option_is_named(changes: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words) as refused:
        GithubProvider().forge(options(**changes))
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("api_url", "git_root", "mail_host"),
    [
        ("", "https://github.com", "users.noreply.github.com"),
        ("https://ghe.example.com/api/v3/", "https://ghe.example.com", "users.noreply.ghe.example.com"),
        ("https://api.octo.ghe.com", "https://octo.ghe.com", "users.noreply.octo.ghe.com"),
    ],
)
def test_git_is_where_each_kind_of_server_has_it(api_url: str, git_root: str, mail_host: str) -> None:
    forge = GithubProvider().forge(options(api_url=api_url))
    assert isinstance(forge, GithubForge)
    assert forge._git_root() == git_root
    graphql = forge._api.graphql_path
    assert graphql == ("https://ghe.example.com/api/graphql" if "v3" in api_url else graphql)
    assert forge.noreply_address(Actor(id="7", login="mia")) == f"7+mia@{mail_host}"
    assert forge.noreply_address(Actor(id="", login="ghost")) == ""


def test_patience_is_bounded_by_default() -> None:
    usual = Patience()
    assert usual.tries * usual.longest_wait <= 60
