"""The worker's setting of how it looks for the place of a fix, before any model is asked."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings


class LocalizerSettings(BaseSettings):
    """Localization costs no tokens; its suspects and slices open the agent's brief."""

    localizer: Literal["full", "symbols", "bm25", "grep", "null"] = Field(
        default="full",
        description="How the place of a fix is looked for: full (all evidence), symbols, bm25 or grep "
        "(parts of it, for comparison), null (not at all).",
        examples=["full"],
    )
