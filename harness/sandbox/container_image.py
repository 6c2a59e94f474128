"""The operator's image: present, pinned by its id, and what it says about itself. Never fetched from here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from domain.errors import SandboxError
from harness.sandbox.container_engine import Engine, read_facts


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image on this machine. `variables` and `volumes` are what its maker wrote into it."""

    id: str
    digest: str
    variables: Mapping[str, str]
    volumes: tuple[str, ...]

    @property
    def path(self) -> list[str]:
        """The directories that the image has on its PATH."""
        return [part for part in self.variables.get("PATH", "").split(":") if part.startswith("/")]


def look_up_image(engine: Engine, name: str) -> Image:
    """Return the image of that name. Raises SandboxError; a missing one, with the command to fetch it.

    Nothing is ever fetched by itself: what runs here is what the operator has looked at.
    """
    if not name or name.startswith("-"):
        raise SandboxError("no image is set: name one with FIXWRIGHT_SANDBOX_IMAGE, best by its digest")
    try:
        text = engine.call("image", "inspect", name)
    except SandboxError as error:
        if "no such image" not in str(error).lower() and "not known" not in str(error).lower():
            raise
        raise SandboxError(
            f"the image {name} is not on this machine; fetch it with: {engine.name} pull {name}"
        ) from None
    facts = read_facts(text)
    config = cast("Mapping[str, object]", facts.get("Config") or {})
    pairs = (str(entry).partition("=") for entry in cast("list[object]", config.get("Env") or []))
    digests = cast("list[str]", facts.get("RepoDigests") or [])
    identity = str(facts.get("Id") or "")
    return Image(
        id=identity,
        digest=digests[0].rpartition("@")[2] if digests else _with_algorithm(identity),
        variables={key: value for key, _, value in pairs},
        volumes=tuple(cast("Mapping[str, object]", config.get("Volumes") or {})),
    )


def _with_algorithm(identity: str) -> str:
    return identity if ":" in identity else f"sha256:{identity}"
