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
from app.demo.homes import Home, open_home
from app.demo.scenarios import Scenario
from app.demo.scripted_model import ScriptedModel
from app.demo.service import Service
from app.demo.toolchain import tools_for
from app.settings import inherited_environment
from domain.model import Actor, IssueRef, Permission, Price, Repository
from domain.pricing import PER_MILLION, write_prices
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
    home: Home
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
    def world(self) -> LocalWorld:
        """The people's side of the forge."""
        return self.home.world

    @property
    def data(self) -> Path:
        """Where everything of this demo is kept."""
        return self.directory.path


@contextmanager
def set_up(scenario: Scenario, case: Case, files: Files, forge: str = "local") -> Iterator[Stage]:
    """Build the world on a forge and start the service; all of it is taken down again at the end.

    Raises ConfigurationError: there is no such forge.
    """
    with data_directory() as directory, _played(scenario, case, files, directory, forge) as stage:
        yield stage


@contextmanager
def _played(
    scenario: Scenario, case: Case, files: Files, directory: DataDirectory, forge: str
) -> Iterator[Stage]:
    data = directory.path
    secret, token = secrets.token_hex(32), secrets.token_hex(12)
    inherited = inherited_environment()
    model = _scripted(scenario, case) if "FIXWRIGHT_MODEL" not in inherited else None
    home = open_home(forge, data, case.repository.partition("/")[0])
    settings = {
        "FIXWRIGHT_WEBHOOK_SECRET": secret,
        "FIXWRIGHT_CONSOLE_TOKEN": token,
        "FIXWRIGHT_REPOSITORIES": f"{home.name}:{case.repository}",
        "FIXWRIGHT_SANDBOX_TOOLS": str(tools_for(case)),
        **home.settings(),
        **(_model_settings(model) if model else {}),
        **scenario.settings,
    }
    service = Service(data, settings, inherited)
    home.announce_to(service.address, secret)
    world = home.world
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
            home=home,
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
        home.close()
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
