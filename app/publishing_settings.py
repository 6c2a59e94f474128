"""The worker's settings of what is published, and what is not: paths for people alone, the sign-off."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings

from app.setting_types import Count, Patterns, PullLabels, Switch, Word
from domain.manners import PullPace

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
    max_open_pulls: Count = Field(
        default=10,
        ge=0,
        le=1000,
        description="Pull requests of ours that one repository may have open; further tasks wait. 0: any "
        "number.",
        examples=["10"],
    )
    max_new_pulls_per_hour: Count = Field(
        default=10,
        ge=0,
        le=1000,
        description="New pull requests that one repository may get within an hour; further tasks wait. "
        "0: any number.",
        examples=["10"],
    )
    expire_drafts_days: Count = Field(
        default=0,
        ge=0,
        le=3650,
        description="Days without a review or a command after which a draft is let go of, with a note; it "
        "stays open. 0: never.",
        examples=["60"],
    )

    status_seconds: Count = Field(
        default=20,
        ge=1,
        le=3600,
        description="Seconds that pass at least between two changes of an issue's status comment while it is "
        "worked on.",
        examples=["20"],
    )

    @property
    def pull_pace(self) -> PullPace:
        """How many pull requests a repository may get."""
        return PullPace(most_open=self.max_open_pulls, most_new_per_hour=self.max_new_pulls_per_hour)
