"""The worker's settings of forges that come as plugins: one variable for all of them, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field
from pydantic_settings import BaseSettings, NoDecode

OWN_SETTINGS = {"github": "FIXWRIGHT_GITHUB_APP_ID and its kin", "local": "FIXWRIGHT_LOCAL_FORGE"}
_SECRET_WORDS = ("secret", "token", "key", "password")


def read_forge_options(text: object) -> object:
    """Return options by forge and name from JSON, all of them text. Raises ValueError."""
    if not isinstance(text, str):
        return text
    try:
        found = json.loads(text or "{}")
    except (ValueError, RecursionError):
        raise ValueError("is no JSON") from None
    if not isinstance(found, dict) or not all(isinstance(options, dict) for options in found.values()):
        raise ValueError("must be a JSON object of objects, options by forge")
    for forge, options in found.items():
        if forge in OWN_SETTINGS:
            raise ValueError(f"names {forge!r}, which has settings of its own: {OWN_SETTINGS[forge]}")
        if not all(isinstance(value, str) for value in options.values()):
            raise ValueError(f"must have texts as the options of {forge!r}")
    return found


ForgeOptions = Annotated[Mapping[str, Mapping[str, str]], NoDecode, BeforeValidator(read_forge_options)]


class PluginSettings(BaseSettings):
    """What forges that are plugins need."""

    forge_options: ForgeOptions = Field(
        default={},
        description="Options of forges that were installed as plugins, as JSON: by the forge's name, then by "
        "the option's; see how-to/add-a-forge.md. What the log must not show has secret, token, key or "
        "password in its name.",
        examples=["""'{"directory": {"path": "/srv/forge"}}'"""],
    )

    def option_secrets(self) -> list[str]:
        """Return the options that are secret, by their names, for the redactor."""
        return [
            value
            for options in self.forge_options.values()
            for name, value in options.items()
            if value and any(word in name.lower() for word in _SECRET_WORDS)
        ]
