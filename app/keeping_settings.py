"""The worker's settings of what is kept, how long, and what is looked for that nobody told of."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings

from app.setting_types import Count


class KeepingSettings(BaseSettings):
    """Retention and sweeps; the defaults fit a volume of 3 GB."""

    keep_deliveries_days: Count = Field(
        default=30,
        ge=1,
        le=3650,
        description="Days that the bodies of deliveries are kept; what was decided about them stays.",
        examples=["30"],
    )
    keep_deliveries_mb: Count = Field(
        default=200,
        ge=1,
        le=1_000_000,
        description="MiB that bodies of deliveries may take, compressed; the oldest go first.",
        examples=["200"],
    )
    keep_transcripts_days: Count = Field(
        default=90,
        ge=1,
        le=3650,
        description="Days that a transcript is kept after its attempt.",
        examples=["90"],
    )
    keep_transcripts_mb: Count = Field(
        default=300,
        ge=1,
        le=1_000_000,
        description="MiB that transcripts of attempts that are over may take; the oldest go first.",
        examples=["300"],
    )
    keep_mirrors_days: Count = Field(
        default=30, ge=1, le=3650, description="Days that an unused mirror is kept.", examples=["30"]
    )
    keep_mirrors_mb: Count = Field(
        default=1000,
        ge=1,
        le=10_000_000,
        description="MiB that mirrors of repositories may take; the longest unused go first, "
        "never one with work that is nowhere else.",
        examples=["1000"],
    )
    keep_setups_days: Count = Field(
        default=30, ge=1, le=3650, description="Days that an unused set-up is kept.", examples=["30"]
    )
    keep_setups_mb: Count = Field(
        default=1000,
        ge=16,
        le=10_000_000,
        description="MiB that set-ups of all repositories may take; the longest unused go first.",
        examples=["1000"],
    )
    min_free_mb: Count = Field(
        default=200,
        ge=0,
        le=1_000_000,
        description="MiB of the disk that must be free for a task to begin; below, mirrors are evicted.",
        examples=["200"],
    )
    sweep_minutes: Count = Field(
        default=15,
        ge=0,
        le=1440,
        description="Minutes between two sweeps for what no delivery told of. 0: no sweeps.",
        examples=["15"],
    )
    sweep_tasks: Count = Field(
        default=5, ge=1, le=1000, description="Tasks that one sweep may begin on a forge.", examples=["5"]
    )
    review_wait_seconds: Count = Field(
        default=20,
        ge=0,
        le=3600,
        description="Seconds between the first word of a review that asks for changes and the attempt that "
        "follows it: what is said meanwhile is followed, too.",
        examples=["20"],
    )
    ci_poll_seconds: Count = Field(
        default=60,
        ge=1,
        le=3600,
        description="Seconds between two looks at the continuous integration of pushed commits, where a "
        "repository wants it watched (`ci_monitor`).",
        examples=["60"],
    )
    ci_appear_minutes: Count = Field(
        default=10,
        ge=0,
        le=1440,
        description="Minutes after which a commit of which nothing reported is taken to have no continuous "
        "integration.",
        examples=["10"],
    )
    ci_finish_minutes: Count = Field(
        default=120,
        ge=1,
        le=10_080,
        description="Minutes after which jobs that still run are not waited for any more.",
        examples=["120"],
    )
    sweep_days: Count = Field(
        default=7,
        ge=1,
        le=365,
        description="Days back to which a sweep takes a label for a request that was missed.",
        examples=["7"],
    )
