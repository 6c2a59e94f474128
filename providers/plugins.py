"""Finds forge plugins: the entry points of the group `fixwright.providers`."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from domain.errors import ConfigurationError
from domain.ports import Provider

GROUP = "fixwright.providers"


def installed_providers() -> tuple[str, ...]:
    """Return the names of all installed providers, sorted. Loads none of them."""
    return tuple(sorted({point.name for point in entry_points(group=GROUP)}))


def load_provider(name: str) -> Provider:
    """Return the provider of this name, new.

    Raises:
        ConfigurationError: there is none, there are several, or it cannot be loaded.
    """
    found = {(_package_of(point), point.value): point for point in entry_points(group=GROUP, name=name)}
    if not found:
        names = ", ".join(installed_providers()) or "none; install this package with pip"
        raise ConfigurationError(f"there is no provider {name!r}; installed are: {names}")
    if len(found) > 1:
        packages = ", ".join(sorted(package for package, _value in found))
        raise ConfigurationError(
            f"several packages offer the provider {name!r}: {packages}; keep one of them"
        )
    return _load(next(iter(found.values())))


def _load(point: EntryPoint) -> Provider:
    where = f"the provider {point.name!r} of the package {_package_of(point)}"
    try:
        provider: Provider = point.load()()
    except (ImportError, AttributeError, TypeError) as error:
        raise ConfigurationError(f"{where} cannot be loaded from {point.value!r}: {error}") from error
    if provider.name != point.name:
        raise ConfigurationError(f"{where} calls itself {provider.name!r}; the two names must be the same")
    return provider


def _package_of(point: EntryPoint) -> str:
    return point.dist.name if point.dist else "unknown"
