"""Looks at each forge that is served: by itself where it can, else by asking for the repositories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from app.doctor.lines import Lines, broken, fail, looked, ok, warn
from app.forges import close_forges, forge_names, forge_options
from app.setting_groups import WorkerSettings
from domain.errors import ConfigurationError, ForgeError, NotFound
from domain.ports import Examining, Expected, Forge, HoldingSecrets, SelfChecking
from providers.plugins import load_provider

AGAIN = "try again later, or look at the forge"


def forges(settings: WorkerSettings, on_secret: Callable[[str], None]) -> Lines:
    """Look at every forge that a served repository is on."""
    for name in forge_names(settings):
        try:
            forge = load_provider(name).forge(forge_options(name, settings))
        except ConfigurationError as error:
            yield fail(name, str(error), "the message names the setting")
            continue
        except Exception as error:  # noqa: BLE001  # told in the line; it is somebody else's package
            yield fail(name, broken(error), AGAIN)
            continue
        if isinstance(forge, HoldingSecrets):
            forge.on_secret(on_secret)
        try:
            yield from looked(name, lambda f=forge, n=name: _lines(n, f, settings), AGAIN)  # type: ignore[misc]  # bound now
        finally:
            close_forges({name: forge})


def _lines(name: str, forge: Forge, settings: WorkerSettings) -> Lines:
    if isinstance(forge, Examining):
        url = f"{settings.public_url}/webhooks/{name}" if settings.public_url else ""
        private_only = settings.sandbox_backend == "process"
        for line in forge.examine(Expected(webhook_url=url, private_only=private_only)):
            yield replace(line, subject=f"{name}: {line.subject}")
        return
    if isinstance(forge, SelfChecking):
        forge.check()
        yield ok(name, "its own check passed")
    else:
        yield ok(name, f"we are {forge.identity.login}")
    for repository in sorted(settings.repositories):
        if repository.startswith(f"{name}:"):
            yield from _repository(f"{name}: repository {repository.partition(':')[2]}", repository, forge)


def _repository(subject: str, repository: str, forge: Forge) -> Lines:
    try:
        found = forge.repository_named(repository.partition(":")[2])
    except NotFound as error:
        yield fail(subject, str(error), "correct FIXWRIGHT_REPOSITORIES, or let the service in there")
    except ForgeError as error:
        yield fail(subject, str(error), AGAIN)
    else:
        if found.archived:
            yield warn(subject, "archived: nothing can be pushed", "unarchive it, or take it off the list")
        else:
            yield ok(subject, "private" if found.private else "public")
