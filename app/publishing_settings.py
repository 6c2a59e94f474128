"""The worker's settings of what is published, and what is not: paths for people alone, the sign-off."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings

from app.setting_types import Patterns, PullLabels, Switch, Word

_NAME = r"[^<>\x00-\x1f\x7f]*[^<>\s\x00-\x1f\x7f]"
_MAIL_PART = r"[^<>@\s\x00-\x1f\x7f]+"


class PublishingSettings(BaseSettings):
    """What the operator says of commits; a repository can add protected paths, and take none away."""

    protected_paths: Patterns = Field(
        default=(),
        description="More paths that people alone may change, in every repository, comma separated, as "
        "`.gitignore` writes patterns; besides those that always are.",
        examples=["deploy/**,*.tf"],
    )
    sign_off: Word = Field(
        default="",
        max_length=300,
        pattern=rf"^({_NAME} <{_MAIL_PART}@{_MAIL_PART}>)?$",
        description="Who signs commits off (Developer Certificate of Origin), as Name <mail>; also their "
        "author. Empty: no sign-off, and Fixwright is the author.",
        examples=["'Fixwright for Acme <bot@acme.example>'"],
    )
    pull_labels: PullLabels = Field(
        default=("fixwright",),
        max_length=10,
        description="Labels that a new draft gets, comma separated, where the forge knows labels. Empty: "
        "none. Not the labels that start work.",
        examples=["fixwright,needs review"],
    )
    request_review: Switch = Field(
        default=True,
        description="Whether the one who asked for the work is asked to review the draft, where the forge "
        "knows review requests. What the forge refuses is logged, and the draft is up all the same.",
        examples=["true"],
    )
