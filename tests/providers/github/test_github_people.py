"""Who may trigger: the live permission of the account, by id, and nothing else."""

from __future__ import annotations

import pytest

from app.demo.github.state import Fault
from domain.errors import ForgeError, ForgeUnavailable
from domain.model import Actor, Permission
from domain.policy import may_trigger
from providers.github.forge import GithubForge
from providers.github.shapes import actor, permission
from tests.providers.github.stage import GithubStage

LOOK = r".*/collaborators/.*"


@pytest.mark.parametrize(
    ("plain", "role", "expected"),
    [
        ("admin", "admin", Permission.ADMIN),
        ("write", "maintain", Permission.MAINTAIN),
        ("write", "write", Permission.WRITE),
        ("read", "triage", Permission.TRIAGE),
        ("read", "read", Permission.READ),
        ("none", "none", Permission.NONE),
        ("none", "", Permission.NONE),
        ("write", "release-manager", Permission.WRITE),
        ("read", "security-reviewer", Permission.READ),
        ("read", "admin", Permission.READ),
        ("read", "write", Permission.READ),
        ("none", "maintain", Permission.NONE),
        ("owner", "owner", Permission.NONE),
        (None, None, Permission.NONE),
        (7, ["admin"], Permission.NONE),
    ],
)
def test_a_role_counts_as_far_as_the_plain_level_vouches_for_it(
    plain: object, role: object, expected: Permission
) -> None:
    assert permission({"permission": plain, "role_name": role}) is expected


def test_f118_only_writers_may_trigger_and_bots_never(
    stage: GithubStage, forge: GithubForge, repository_id: str, person: Actor
) -> None:
    for granted in Permission:
        stage.grant(repository_id, person, granted)
        may = may_trigger(forge.permission_of(repository_id, person), person)
        assert may == (granted in {Permission.WRITE, Permission.MAINTAIN, Permission.ADMIN})
    bot = actor({"id": 5, "login": "dependabot[bot]", "type": "User"})
    assert bot.is_bot and not may_trigger(Permission.ADMIN, bot)


@pytest.mark.long
@pytest.mark.parametrize("status", [500, 403])
def test_f117_a_look_up_that_fails_permits_nothing(
    stage: GithubStage, forge: GithubForge, repository_id: str, person: Actor, status: int
) -> None:
    stage.grant(repository_id, person, Permission.ADMIN)
    stage.state.faults.append(Fault("GET", LOOK, status=status, times=99))
    with pytest.raises(ForgeError) as refused:
        forge.permission_of(repository_id, person)
    assert isinstance(refused.value, ForgeUnavailable) == (status == 500)


@pytest.mark.long
def test_f117_a_login_that_somebody_else_has_now_is_no_permission(
    stage: GithubStage, forge: GithubForge, repository_id: str, person: Actor
) -> None:
    stage.grant(repository_id, person, Permission.ADMIN)
    gone = Actor(id="424242", login=person.login)
    assert forge.permission_of(repository_id, gone) is Permission.NONE


@pytest.mark.long
@pytest.mark.parametrize("login", ["", "a/../b", "x?y=1", "rosa ", "x" * 5000, "🎉", "%2e%2e", "ci[bot]"])
def test_odd_logins_ask_about_nobody_else(
    stage: GithubStage, forge: GithubForge, repository_id: str, login: str
) -> None:
    assert forge.permission_of(repository_id, Actor(id="31337", login=login)) is Permission.NONE
    assert not [seen for seen in stage.state.seen if "/collaborators/" in seen.path]


@pytest.mark.long
@pytest.mark.parametrize("wrong", ["", "abc", "-1", "1/../2", "٣"])
def test_f117_an_id_that_is_none_is_not_even_asked_about(
    stage: GithubStage, forge: GithubForge, repository_id: str, wrong: str
) -> None:
    assert forge.permission_of(repository_id, Actor(id=wrong, login="rosa")) is Permission.NONE
    assert not [seen for seen in stage.state.seen if "/collaborators/" in seen.path]
