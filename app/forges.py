"""Which forges the worker talks to, from its settings: one client for each forge that is configured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import structlog

from app.settings import WorkerSettings
from domain.errors import ConfigurationError, ForgeError
from domain.ports import Forge, HoldingSecrets, SelfChecking
from providers.plugins import load_provider

log = structlog.get_logger(__name__)


def open_forges(
    settings: WorkerSettings, on_secret: Callable[[str], None] | None = None
) -> Mapping[str, Forge]:
    """Return a client for each forge that is named by a served repository.

    `on_secret` is told of every credential that a forge holds, for redaction. A forge that cannot be reached
    now is returned all the same.

    Raises:
        ConfigurationError: a served repository is on a forge that is not configured, or not rightly.
    """
    names = forge_names(settings)
    forges = {name: load_provider(name).forge(forge_options(name, settings)) for name in names}
    for name, forge in forges.items():
        if on_secret is not None and isinstance(forge, HoldingSecrets):
            forge.on_secret(on_secret)
        if isinstance(forge, SelfChecking):
            _check(name, forge)
    return forges


def forge_names(settings: WorkerSettings) -> list[str]:
    """Return the forges that are needed, in order."""
    names = {repository.partition(":")[0] for repository in settings.repositories}
    return sorted(names | ({"local"} if settings.local_forge else set()))


def close_forges(forges: Mapping[str, Forge]) -> None:
    """Give back what the forges hold."""
    for forge in forges.values():
        if isinstance(forge, HoldingSecrets):
            forge.close()


class OwnIds(Mapping[str, str]):
    """Our user id on each forge, asked of it when it is needed first: a start does not wait for a forge."""

    def __init__(self, forges: Mapping[str, Forge]) -> None:
        self._forges = forges

    def __getitem__(self, name: str) -> str:
        """Return our id on a forge. Raises KeyError, ForgeError."""
        return self._forges[name].identity.id

    def __iter__(self) -> Iterator[str]:
        return iter(self._forges)

    def __len__(self) -> int:
        return len(self._forges)


def _check(name: str, forge: SelfChecking) -> None:
    try:
        forge.check()
    except ForgeError as error:
        log.warning("the forge cannot be checked now", forge=name, error=str(error))


def forge_options(name: str, settings: WorkerSettings) -> dict[str, str]:
    """Return what a provider is made from. Raises ConfigurationError."""
    if name == "local":
        if not settings.local_forge:
            raise ConfigurationError(
                "FIXWRIGHT_LOCAL_FORGE: is not set, but a repository of the local forge is served; "
                "for example FIXWRIGHT_LOCAL_FORGE=./data/forge"
            )
        return {"path": str(settings.local_forge)}
    if name == "github":
        prefix = f"{name}:"
        served = (each.removeprefix(prefix) for each in settings.repositories if each.startswith(prefix))
        return {
            "app_id": settings.github_app_id,
            "private_key": settings.github_key(),
            "api_url": settings.github_api_url,
            "repositories": " ".join(sorted(served)),
        }
    return dict(settings.forge_options.get(name, {}))
