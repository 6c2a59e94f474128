"""The demo's world: a forge with people, the scripted model, and the service between them."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from app.clock import SystemClock
from app.demo.cases import Case, Files
from app.demo.data_directory import DataDirectory, data_directory
from app.demo.scenarios import Scenario
from app.demo.scripted_model import ScriptedModel
from app.demo.service import Service
from app.demo.toolchain import tools_for
from app.settings import inherited_environment
from domain.model import Actor, IssueRef, Permission, Price, Repository
from domain.pricing import PER_MILLION, write_prices
from providers.local.outbox import WebhookTarget
from providers.local.people import LocalWorld
from store.database import Database
from store.ledger import SqliteLedger
from store.tasks import SqliteTaskQueue

MODEL_NAME = "openai/scripted-1"
PRICE = Price(input=Decimal("3.00") / PER_MILLION, output=Decimal("15.00") / PER_MILLION)
"""Dollars per million tokens that the scripted model is registered at."""


@dataclass(slots=True)
class Stage:
    """Everything that a scenario plays on."""

    directory: DataDirectory
    world: LocalWorld
    service: Service
    model: ScriptedModel | None
    repository: Repository
    maintainer: Actor
    reporter: Actor
    issue: IssueRef
    console_token: str
    queue: SqliteTaskQueue
    ledger: SqliteLedger

    @property
    def data(self) -> Path:
        """Where everything of this demo is kept."""
        return self.directory.path


@contextmanager
def set_up(scenario: Scenario, case: Case, files: Files) -> Iterator[Stage]:
    """Build the world and start the service; all of it is taken down again at the end."""
    with data_directory() as directory, _played(scenario, case, files, directory) as stage:
        yield stage


@contextmanager
def _played(scenario: Scenario, case: Case, files: Files, directory: DataDirectory) -> Iterator[Stage]:
    data = directory.path
    secret, token = secrets.token_hex(32), secrets.token_hex(12)
    inherited = inherited_environment()
    model = _scripted(scenario, case) if "FIXWRIGHT_MODEL" not in inherited else None
    settings = {
        "FIXWRIGHT_WEBHOOK_SECRET": secret,
        "FIXWRIGHT_CONSOLE_TOKEN": token,
        "FIXWRIGHT_LOCAL_FORGE": str(data / "forge"),
        "FIXWRIGHT_REPOSITORIES": f"local:{case.repository}",
        "FIXWRIGHT_SANDBOX_TOOLS": str(tools_for(case)),
        **(_model_settings(model) if model else {}),
        **scenario.settings,
    }
    service = Service(data, settings, inherited)
    world = LocalWorld(data / "forge")
    world.hooks.configure(WebhookTarget(url=f"{service.address}/webhooks/local", secret=secret))
    reporter, maintainer = world.create_user("robin"), world.create_user("mika")
    repository = world.create_repository(case.repository, default_branch=case.default_branch, files=files)
    world.grant(repository.id, maintainer, Permission.MAINTAIN)
    try:
        if model:
            model.start()
        service.start()
        database = Database(service.database)
        yield Stage(
            directory=directory,
            world=world,
            service=service,
            model=model,
            repository=repository,
            maintainer=maintainer,
            reporter=reporter,
            issue=world.open_issue(repository.id, reporter, title=case.title, body=case.issue.strip() + "\n"),
            console_token=token,
            queue=SqliteTaskQueue(database, SystemClock()),
            ledger=SqliteLedger(database, SystemClock()),
        )
    finally:
        service.stop()
        if model:
            model.stop()


def _scripted(scenario: Scenario, case: Case) -> ScriptedModel:
    return ScriptedModel(
        {MODEL_NAME.partition("/")[2]: scenario.script(case)}, price=PRICE, api_key=secrets.token_hex(16)
    )


def _model_settings(model: ScriptedModel) -> dict[str, str]:
    return {
        "FIXWRIGHT_MODEL": MODEL_NAME,
        "FIXWRIGHT_API_BASE": model.base_url,
        "FIXWRIGHT_API_KEY": model.api_key,
        "FIXWRIGHT_MODEL_PRICES": write_prices({MODEL_NAME: PRICE}),
    }
