"""The worker's settings of GitHub: which App it is, its key, and where GitHub is."""

from __future__ import annotations

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings

from app.setting_types import OptionalDirectory, Word
from domain.errors import ConfigurationError

MOST_KEY_BYTES = 65_536


class GithubSettings(BaseSettings):
    """What a GitHub App needs; nothing of it where no repository on GitHub is served."""

    github_app_id: Word = Field(
        default="",
        pattern=r"^([0-9]{1,18}|Iv[A-Za-z0-9._-]{4,60})?$",
        description="Id of the GitHub App, or its client id.",
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
    github_api_url: Word = Field(
        default="https://api.github.com",
        pattern=r"^https?://[^\s@?#]+$",
        description="Address of GitHub's API; an Enterprise server has its own.",
        examples=["https://github.example.com/api/v3"],
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
