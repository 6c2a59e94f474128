"""The worker's settings of what repositories may install for their tests, and from where."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings

from app.setting_types import Count, Networks, SetupHosts


class SetupSettings(BaseSettings):
    """Set-ups. Closed unless the operator opens them; no registry has a name in here."""

    setup_hosts: SetupHosts = Field(
        default="",
        description="Hosts that repositories' set-ups may reach, comma separated: names (a port other than "
        "443 behind a colon), and `auto` for those that pip, npm and the other package clients of this "
        "machine are configured for. Empty: set-ups have no network, and none is detected.",
        examples=["auto,packages.example.org"],
    )
    setup_networks: Networks = Field(
        default=(),
        description="Networks that those hosts may be in although they are not public, comma separated.",
        examples=["10.20.0.0/16"],
    )
    setup_minutes: Count = Field(
        default=30, ge=1, le=240, description="Minutes that one set-up may take.", examples=["30"]
    )
    setup_disk_mb: Count = Field(
        default=600,
        ge=16,
        le=1_000_000,
        description="MiB that one set-up may write; it may receive four times as much.",
        examples=["600"],
    )
