"""The settings themselves, in two groups: name, kind, default, meaning and example of each."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from app.api_settings import ApiSettings, GuestSettings
from app.console_settings import ConsoleSettings
from app.forge_options import PluginSettings
from app.github_settings import GithubAddress, GithubSettings, is_app_given
from app.keeping_settings import KeepingSettings
from app.localizer_settings import LocalizerSettings
from app.publishing_settings import PublishingSettings
from app.sandbox_settings import SandboxSettings
from app.setting_types import (
    Count,
    Directory,
    Dollars,
    Labels,
    ModelPrices,
    OptionalDirectory,
    PublicUrl,
    Repositories,
    Secrets,
    UpperPrice,
    Word,
)
from app.setup_settings import SetupSettings
from domain.budget import Caps
from domain.model import Category, Price
from domain.policy import MAX_RECOVERIES, Serving
from domain.pricing import PER_MILLION

PREFIX = "FIXWRIGHT_"

SECRET_FIELDS = frozenset(
    {
        *("webhook_secret", "console_token", "github_client_secret"),
        *("api_key", "github_private_key", "forge_options"),
    }
)


class CommonSettings(BaseSettings):
    """What both processes need to know."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore")

    data_dir: Directory = Field(
        default=Path("data"),
        validate_default=False,
        description="Directory of the database, the wake-up socket and the workspaces; made if absent.",
        examples=["./data"],
    )
    repositories: Repositories = Field(
        default=frozenset(),
        description="The repositories that are served, as forge:owner/name, comma separated. "
        "Empty: nobody is served.",
        examples=["github:acme/shop,local:acme/web"],
    )
    labels: Labels = Field(
        default={category.value: category for category in Category},
        description="Labels that ask for work, comma separated: a category (bug, docs, chore), "
        "or label=category.",
        examples=["bug,docs,chore,defect=bug"],
    )
    local_forge: OptionalDirectory = Field(
        default=None,
        description="Directory of the embedded local forge; empty when there is none.",
        examples=["./data/forge"],
    )
    max_daily_cost_usd: Dollars = Field(
        default=Decimal("5.00"),
        description="Dollars that a repository may cost per UTC day. 0: nothing may be spent.",
        examples=["5.00"],
    )
    max_daily_cost_total_usd: Dollars = Field(
        default=Decimal("20.00"),
        description="Dollars that the whole service, all repositories together, may cost per UTC day. "
        "0: nothing may be spent.",
        examples=["20.00"],
    )
    max_queued: Count = Field(
        default=100,
        ge=1,
        le=100_000,
        description="Tasks of one repository that may wait. A label beyond queues nothing, says so on the"
        " issue, and is taken up by a sweep when there is room.",
        examples=["100"],
    )
    checkpoints: Literal["service", "external"] = Field(
        default="service",
        description="Who moves the database's write-ahead log into it: the service, or another program "
        "(external) such as Litestream, which must see the log first.",
        examples=["external"],
    )
    public_url: PublicUrl = Field(
        default="",
        description="Address under which people reach the console, for links in pull requests and comments; "
        "empty: no links.",
        examples=["https://fixwright.example.org"],
    )
    log_format: Literal["auto", "console", "json"] = Field(
        default="auto",
        description="How log lines look: console, json, or auto (console on a terminal, else json).",
        examples=["json"],
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read the environment and nothing else: no `.env` file that happens to lie about."""
        return init_settings, env_settings

    @property
    def database_path(self) -> Path:
        """Where the one SQLite file is."""
        return self.data_dir / "fixwright.sqlite3"

    @property
    def bell_path(self) -> Path:
        """Where the worker listens for wake-ups."""
        return self.data_dir / "worker.sock"

    def serving(self, own_ids: Mapping[str, str]) -> Serving:
        """Return whom the service works for; `own_ids` maps a forge to our own user id there."""
        return Serving(repositories=self.repositories, own_ids=own_ids, labels=self.labels)

    def effective(self) -> dict[str, str]:
        """Return what is in force, by setting's name, fit for a log: of a secret only whether it is set."""
        return {variable(name): _shown(name, getattr(self, name)) for name in sorted(type(self).model_fields)}


class WebSettings(ApiSettings, ConsoleSettings, GithubAddress, CommonSettings):
    """What the web process needs; no model and no forge credential among it."""

    host: Word = Field(
        default="127.0.0.1",
        min_length=1,
        description="Address to listen on; 0.0.0.0 for every interface.",
        examples=["127.0.0.1"],
    )
    port: Count = Field(
        default=8400, ge=0, le=65535, description="Port to listen on; 0 takes a free one.", examples=["8400"]
    )
    webhook_secret: Secrets = Field(
        default=(),
        description="Secret that the forge signs its deliveries with, 32 bytes or more. Several, comma or "
        "space separated, are all accepted while one is being replaced. Not set: that of the GitHub App in "
        "the data directory; without one, the setup page is served.",
        examples=["$(openssl rand -hex 32)"],
    )
    max_body_bytes: Count = Field(
        default=2**20, ge=1024, le=25 * 2**20, description="Longest delivery accepted.", examples=["1048576"]
    )

    @property
    def awaits_app(self) -> bool:
        """Tell whether nothing can be served before a GitHub App is made."""
        return not self.webhook_secret and is_only_on_github(self.repositories)

    @property
    def webhook_secrets(self) -> tuple[bytes, ...]:
        """The secrets as the bytes that sign."""
        return tuple(secret.get_secret_value().encode("ascii") for secret in self.webhook_secret)

    def secrets(self) -> list[str]:
        """Return every secret in these settings, for the redactor."""
        own = (*self.webhook_secret, self.console_token, self.github_client_secret)
        return [secret.get_secret_value() for secret in own]


class WorkerSettings(
    KeepingSettings,
    PublishingSettings,
    SandboxSettings,
    SetupSettings,
    LocalizerSettings,
    GuestSettings,
    GithubSettings,
    PluginSettings,
    CommonSettings,
):
    """What the worker process needs."""

    worker_name: Word = Field(
        default="worker-1",
        pattern=r"^[A-Za-z0-9_.-]{1,64}$",
        description="Name under which tasks are claimed; the same again after a restart.",
        examples=["worker-1"],
    )
    model: Word = Field(
        default="",
        description="Model that the agent uses, by its LiteLLM name.",
        examples=["anthropic/claude-sonnet-4-5"],
    )
    api_base: Word = Field(
        default="",
        pattern=r"^(https?://[^\s@]+)?$",
        description="Address of an OpenAI-compatible endpoint, when not the provider's own.",
        examples=["http://127.0.0.1:11434/v1"],
    )
    api_key: SecretStr = Field(
        default=SecretStr(""),
        description="Key for that endpoint. Providers' own variables (OPENAI_API_KEY, …) work as well.",
        examples=["$(cat key-file)"],
    )
    max_iterations: Count = Field(
        default=40, ge=0, le=1000, description="Model calls that an attempt may make.", examples=["40"]
    )
    max_cost_per_task_usd: Dollars = Field(
        default=Decimal("1.00"),
        description="Dollars that one attempt at a task may cost; all attempts at it together cost at most "
        "FIXWRIGHT_MAX_ATTEMPTS times as much, whoever asks for more. 0: nothing may be spent.",
        examples=["1.00"],
    )
    max_raised_cost_per_task_usd: Dollars | None = Field(
        default=None,
        description="The most to which a maintainer may raise the cap of one attempt, for one task, once, "
        "with `/fixwright budget 3.00`. Not set: twice FIXWRIGHT_MAX_COST_PER_TASK_USD. Set to no more than "
        "that setting: nobody may.",
        examples=["2.00"],
    )
    max_minutes: Count = Field(
        default=30, ge=1, le=1440, description="Minutes that an attempt may take.", examples=["30"]
    )
    max_attempts: Count = Field(
        default=2,
        ge=1,
        le=10,
        description="Attempts at a task before a person is asked; also how often "
        "FIXWRIGHT_MAX_COST_PER_TASK_USD a task may cost in all.",
        examples=["2"],
    )
    max_task_retries: Count = Field(
        default=MAX_RECOVERIES,
        ge=0,
        le=100,
        description="How often a task is taken up again by itself after crashes and outages before a person "
        "is asked.",
        examples=["5"],
    )
    max_output_tokens: Count = Field(
        default=4096, ge=256, le=200_000, description="Tokens wanted of one answer.", examples=["4096"]
    )
    model_timeout_seconds: Count = Field(
        default=120,
        ge=1,
        le=3600,
        description="Seconds that one call of the model may take, however slowly its answer trickles in.",
        examples=["120"],
    )
    cost_tracking: Literal["strict", "estimate"] = Field(
        default="strict",
        description="strict: a model whose price is not known is never called. estimate: it is called, and "
        "counted at FIXWRIGHT_ESTIMATE_PRICE, which people are told.",
        examples=["strict"],
    )
    model_prices: ModelPrices = Field(
        default={},
        description="Prices by the model's name, as JSON, in dollars per million tokens: `input`, `output`, "
        "and if known `cache_read`, `cache_write`; or `free: true` for a model that costs nothing. They come "
        "before LiteLLM's table.",
        examples=["""'{"openai/own": {"input": 3.00, "output": 15.00}, "ollama/llama3": {"free": true}}'"""],
    )
    estimate_price: UpperPrice = Field(
        default=None,
        description="The most that a model without a known price may cost, as JSON, in dollars per million "
        "tokens; for FIXWRIGHT_COST_TRACKING=estimate.",
        examples=["""'{"input": 20.00, "output": 100.00}'"""],
    )
    command_timeout_seconds: Count = Field(
        default=120,
        ge=1,
        le=600,
        description="Seconds that one command of the agent may take.",
        examples=["120"],
    )
    lease_seconds: Count = Field(
        default=60,
        ge=5,
        le=3600,
        description="Seconds until a silent worker's task is free.",
        examples=["60"],
    )
    poll_seconds: Count = Field(
        default=5, ge=1, le=300, description="Seconds between two looks at the queue.", examples=["5"]
    )

    @property
    def awaits_app(self) -> bool:
        """Tell whether no work can be done before a GitHub App is made."""
        return bool(self.repositories) and is_only_on_github(self.repositories) and not is_app_given(self)

    @model_validator(mode="after")
    def _pull_labels_ask_for_nothing(self) -> Self:
        for label in self.pull_labels:
            if label.strip().lower() in self.labels:
                raise ValueError(
                    f"{PREFIX}PULL_LABELS: holds {label!r}, which is a label that asks for work "
                    f"({PREFIX}LABELS); for example {PREFIX}PULL_LABELS=fixwright"
                )
        return self

    @model_validator(mode="after")
    def _estimate_is_stated(self) -> Self:
        name = f"{PREFIX}ESTIMATE_PRICE"
        if self.cost_tracking == "estimate" and self.estimate_price is None:
            raise ValueError(
                f"{name}: is not set, while {PREFIX}COST_TRACKING=estimate; for example "
                f"""{name}='{{"input": 20.00, "output": 100.00}}'"""
            )
        if self.cost_tracking == "strict" and self.estimate_price is not None:
            raise ValueError(
                f"{name}: has no effect while {PREFIX}COST_TRACKING=strict; remove it, or set "
                f"{PREFIX}COST_TRACKING=estimate"
            )
        return self

    @property
    def caps(self) -> Caps:
        """The budgets in force."""
        raised = self.max_raised_cost_per_task_usd
        return Caps(
            max_iterations=self.max_iterations,
            max_cost_per_task_usd=self.max_cost_per_task_usd,
            max_raised_cost_per_task_usd=2 * self.max_cost_per_task_usd if raised is None else raised,
            max_daily_cost_usd=self.max_daily_cost_usd,
            max_daily_cost_total_usd=self.max_daily_cost_total_usd,
            max_minutes=self.max_minutes,
            max_attempts=self.max_attempts,
        )

    def secrets(self) -> list[str]:
        """Return every secret in these settings, for the redactor."""
        return [self.api_key.get_secret_value(), self.github_key(), *self.option_secrets()]


def is_only_on_github(repositories: frozenset[str]) -> bool:
    """Tell whether no other forge is served; so it is where nothing is."""
    return all(each.startswith("github:") for each in repositories)


def variable(field_name: str) -> str:
    """Return the environment variable of a field."""
    return PREFIX + field_name.upper()


def _shown(name: str, value: object) -> str:
    if name in SECRET_FIELDS:
        text = value.get_secret_value() if isinstance(value, SecretStr) else value
        return "set" if text else "not set"
    if isinstance(value, Price):
        return _price_words(value)
    if isinstance(value, Mapping) and name == "model_prices":
        return ", ".join(f"{model}={_price_words(price)}" for model, price in sorted(value.items()))
    if isinstance(value, Mapping):
        return ",".join(f"{label}={category}" for label, category in sorted(value.items()))
    if isinstance(value, (frozenset, tuple)):
        return ",".join(sorted(map(str, value)))
    return "" if value is None else str(value)


def _price_words(price: Price) -> str:
    """Write a price as dollars per million tokens in and out."""
    return "free" if price.free else f"{price.input * PER_MILLION:f}/{price.output * PER_MILLION:f}"
