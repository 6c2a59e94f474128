"""Which forges the worker talks to, from its settings: one client for each forge that is configured."""

from __future__ import annotations

from collections.abc import Mapping

from app.settings import WorkerSettings
from domain.errors import ConfigurationError
from domain.ports import Forge
from providers.plugins import load_provider


def open_forges(settings: WorkerSettings) -> Mapping[str, Forge]:
    """Return a client for each forge that is named by a served repository.

    Raises:
        ConfigurationError: a served repository is on a forge that is not configured.
    """
    names = {repository.partition(":")[0] for repository in settings.repositories}
    if settings.local_forge:
        names.add("local")
    return {name: load_provider(name).forge(_options(name, settings)) for name in sorted(names)}


def _options(name: str, settings: WorkerSettings) -> dict[str, str]:
    if name == "local":
        if not settings.local_forge:
            raise ConfigurationError(
                "FIXWRIGHT_LOCAL_FORGE: is not set, but a repository of the local forge is served; "
                "for example FIXWRIGHT_LOCAL_FORGE=./data/forge"
            )
        return {"path": str(settings.local_forge)}
    return {}
