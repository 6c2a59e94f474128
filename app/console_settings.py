"""The web process' settings of the console: who may log in to it."""

from __future__ import annotations

from typing import Self

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings

from app.setting_types import Switch, Token, Word


class ConsoleSettings(BaseSettings):
    """A password, accounts of GitHub, both, or neither: then there is no console."""

    console_token: Token = Field(
        default=SecretStr(""),
        description="Password of the console's user `operator`, 16 characters or more. Empty: the operator "
        "cannot log in; without FIXWRIGHT_CONSOLE_GITHUB, too, there is no console.",
        examples=["$(openssl rand -hex 16)"],
    )
    console_github: Switch = Field(
        default=False,
        description="Whether people may log in with their GitHub account: those who may write to a served "
        "repository, and they see those repositories alone. Needs a GitHub App whose callback address is "
        "FIXWRIGHT_PUBLIC_URL/console/login/github/callback.",
        examples=["true"],
    )
    github_client_id: Word = Field(
        default="",
        pattern=r"^[A-Za-z0-9._-]{0,100}$",
        description="Client id of the GitHub App, for FIXWRIGHT_CONSOLE_GITHUB. Not set: that of the App in "
        "the data directory.",
        examples=["Iv23liAbCdEfGhIjKlMn"],
    )
    github_client_secret: SecretStr = Field(
        default=SecretStr(""),
        description="Client secret of the GitHub App, for FIXWRIGHT_CONSOLE_GITHUB. Not set: that of the "
        "App in the data directory.",
        examples=["$(cat client-secret)"],
    )

    @model_validator(mode="after")
    def _client_is_whole(self) -> Self:
        if bool(self.github_client_id) != bool(self.github_client_secret.get_secret_value().strip()):
            raise ValueError(
                "FIXWRIGHT_GITHUB_CLIENT_ID, FIXWRIGHT_GITHUB_CLIENT_SECRET: only one of them is set; they "
                "belong together; for example FIXWRIGHT_GITHUB_CLIENT_ID=Iv23liAbCdEfGhIjKlMn"
            )
        return self
