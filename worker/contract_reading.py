"""Reads the repositories' own files now and then, so that the door knows the labels that they name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from domain.errors import ConfigurationError, ForgeError, ForgeUnavailable
from domain.policy import Serving
from domain.ports import Capability, Forge, ReadingFiles
from domain.ports.contracts import RepositoryLabels
from domain.repo_config import FILE_NAME, parse_repo_config
from worker.housekeeping import Steps

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractReader:
    """Looks at each served repository's file, from its default branch; a wrong one changes nothing."""

    forges: Mapping[str, Forge]
    serving: Serving
    labels: RepositoryLabels

    def steps(self) -> Steps:
        """Read one repository's file in each step. Raises StoreUnavailable."""
        for place in sorted(self.serving.repositories):
            forge_name, _, name = place.partition(":")
            forge = self.forges.get(forge_name)
            if forge is None or Capability.FILES not in forge.capabilities:
                continue
            try:
                self._read(forge, name)
            except ForgeUnavailable as error:
                log.warning("repository's file not read", repository=name, error=str(error))
            except (ConfigurationError, ForgeError) as error:
                log.warning("repository's file cannot be followed", repository=name, error=str(error)[:500])
            yield 0.0

    def _read(self, forge: Forge, name: str) -> None:
        if not isinstance(forge, ReadingFiles):
            return
        repository = forge.repository_named(name)
        source = forge.file_at(repository.id, repository.default_branch, FILE_NAME)
        self.labels.keep_labels(forge.name, repository.id, parse_repo_config(source).kinds())
