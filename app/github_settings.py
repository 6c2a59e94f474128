"""Settings of GitHub: where it is, which App we are, its key; and what the data directory says of them."""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings

from app.github_app.stored import (
    DIRECTORY,
    StoredApp,
    stored_app,
    stored_client_secret,
    stored_private_key,
    stored_webhook_secret,
)
from app.setting_types import OptionalDirectory, Word
from domain.errors import ConfigurationError

MOST_KEY_BYTES = 65_536


class GithubAddress(BaseSettings):
    """Where GitHub is. Both processes know it: either may be the one in which the App is made."""

    github_api_url: Word = Field(
        default="https://api.github.com",
        pattern=r"^https?://[^\s@?#]+$",
        description="Address of GitHub's API; an Enterprise server has its own. Not set: that of the App in "
        "the data directory, else github.com.",
        examples=["https://github.example.com/api/v3"],
    )


class GithubSettings(GithubAddress):
    """What a GitHub App needs; nothing of it where no repository on GitHub is served.

    Where neither id nor key is set, both are those of the App in the data directory, if there is one.
    """

    github_app_id: Word = Field(
        default="",
        pattern=r"^([0-9]{1,18}|Iv[A-Za-z0-9._-]{4,60})?$",
        description="Id of the GitHub App, or its client id. Neither it nor a key set: those of the App "
        "that `fixwright app create` or the setup page put into the data directory.",
        examples=["12345"],
    )
    github_private_key: SecretStr = Field(
        default=SecretStr(""),
        description="Private key of the GitHub App in PEM form; `\\n` may stand for the ends of its lines.",
        examples=["$(cat data/github-app.pem)"],
    )
    github_private_key_file: OptionalDirectory = Field(
        default=None,
        description="File with that key, in its place.",
        examples=["./data/github-app.pem"],
    )

    def github_key(self) -> str:
        """Return the App's private key, "" where none is set. Raises ConfigurationError."""
        key, path = self.github_private_key.get_secret_value(), self.github_private_key_file
        if path is None:
            return key.replace("\\n", "\n")
        if key.strip():
            raise ConfigurationError(
                "FIXWRIGHT_GITHUB_PRIVATE_KEY_FILE: is set beside FIXWRIGHT_GITHUB_PRIVATE_KEY; remove one"
            )
        try:
            with path.open(encoding="ascii") as file:
                return file.read(MOST_KEY_BYTES)
        except (OSError, UnicodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no text"
            raise ConfigurationError(
                f"FIXWRIGHT_GITHUB_PRIVATE_KEY_FILE: {path} cannot be read ({why}); for example "
                "FIXWRIGHT_GITHUB_PRIVATE_KEY_FILE=./data/github-app.pem"
            ) from None


def web_side_of_stored(data_dir: Path, given: Set[str]) -> dict[str, object]:
    """Return what the data directory says in place of the web process' settings that were not given.

    Raises ConfigurationError where it cannot be used.
    """
    if "webhook_secret" in given or (app := stored_app(data_dir)) is None:
        return {}
    found: dict[str, object] = {
        "webhook_secret": (SecretStr(stored_webhook_secret(data_dir)),),
        "github_api_url": app.api_url,
    }
    if "github_client_id" not in given:
        secret = SecretStr(stored_client_secret(data_dir))
        found |= {"github_client_id": app.client_id, "github_client_secret": secret}
    return found


def worker_side_of_stored(settings: GithubSettings, data_dir: Path) -> dict[str, object]:
    """Return what the data directory says in place of the worker's settings that were not given.

    An id or a key of the environment comes before all of it: the id of one App and the key of another would
    fit nobody. Raises ConfigurationError where it cannot be used.
    """
    if is_app_given(settings) or (app := stored_app(data_dir)) is None:
        return {}
    _same_server(settings, app, data_dir)
    key = SecretStr(stored_private_key(data_dir))
    return {"github_app_id": app.id, "github_private_key": key, "github_api_url": app.api_url}


def is_app_given(settings: GithubSettings) -> bool:
    """Tell whether any of an App's id and key is set."""
    key = settings.github_private_key.get_secret_value().strip()
    return bool(settings.github_app_id or key or settings.github_private_key_file)


def _same_server(settings: GithubSettings, app: StoredApp, data_dir: Path) -> None:
    given = settings.github_api_url.rstrip("/")
    if "github_api_url" in settings.model_fields_set and given != app.api_url:
        raise ConfigurationError(
            f"FIXWRIGHT_GITHUB_API_URL: is {given}, but the App in {data_dir / DIRECTORY} belongs to "
            f"{app.api_url}; remove the setting, or make an App there: fixwright app create --replace"
        )
