"""Settings of the HTTP API: whether guests may ask, how much, and from which sites' pages."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings

from app.setting_types import Count, Dollars, Origins, Switch


class GuestSettings(BaseSettings):
    """What guests may spend; the web process refuses beyond it, and the worker stops there."""

    api_guest_daily_usd: Dollars = Field(
        default=Decimal("1.00"),
        description="Dollars that the runs of all guests of the open API together may cost per UTC day. "
        "0: nothing may be spent.",
        examples=["1.00"],
    )


class ApiSettings(GuestSettings):
    """What the web process needs to know of the API's callers."""

    api_open: Switch = Field(
        default=False,
        description="Whether anybody who reaches the web process may ask for runs on the served "
        "repositories, and see the runs that were asked for so, without the operator's token.",
        examples=["false"],
    )
    api_guest_runs: Count = Field(
        default=2,
        ge=0,
        le=1000,
        description="Runs of guests of the open API that may be under way at once.",
        examples=["2"],
    )
    metrics_access: Literal["token", "loopback"] = Field(
        default="token",
        description="Who may read /metrics: token, who sends the operator's token as a bearer; loopback, "
        "also who asks from this machine without a proxy in between.",
        examples=["token"],
    )
    api_origins: Origins = Field(
        default=frozenset(),
        description="Sites whose pages may use the API from a browser, comma separated, as "
        "https://host or https://host:port. Empty: none but our own.",
        examples=["https://dashboard.example.org"],
    )
