"""Sets a repository up in the sandbox, on a fresh checkout of its base, or finds that it has been done."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

from domain.hosts import parse_target
from domain.ports import Shown
from harness.sandbox.places import HOME, SETUP, WORK
from harness.setup.cache import Entry, SetupCache
from harness.setup.clients import NO_CLIENTS, ClientConfiguration
from harness.setup.ecosystems import Ecosystem
from harness.setup.failure import SetupFailed, hosts_not_allowed, tools_missing
from harness.setup.plan import SetupPlan, key_of
from harness.setup.prepared import Prepared
from harness.setup.rules import Allowance, Refusal
from harness.setup.run import SetupRun, Way
from harness.setup.site import SetupRules, Site
from harness.setup.toolchains import PROGRAMS, read_versions, version_script

_TOOLS_SECONDS = 120.0


class SetupPhase:
    """Sets repositories up; one per worker, made by the wiring."""

    def __init__(
        self,
        cache: SetupCache,
        rules: SetupRules,
        *,
        ask_clients: Callable[[], ClientConfiguration] = lambda: NO_CLIENTS,
    ) -> None:
        """`ask_clients` tells what this machine's package clients are configured for, asked at run time."""
        self.cache = cache
        self.rules = rules
        self._ask_clients = ask_clients
        self._versions: dict[tuple[str, str], str] = {}

    def prepare(self, plan: SetupPlan, site: Site, hosts: tuple[str, ...] | None = None) -> Prepared:
        """Return what a plan comes to, from the cache if it was run before on the same ground.

        `hosts` are those that the repository asks for, None for all that are allowed.
        Raises SetupFailed, SandboxError, GitError, OSError, Stopped.
        """
        ground = site.ground()
        ecosystems = ground.ecosystems(plan.commands)
        key, missing = self._key(plan, site)
        if missing:
            raise tools_missing(missing, why=plan.why)
        kept = self._found(plan, site, key)
        if kept is not None:
            return kept
        where = (site.repository.forge, site.repository.id)
        way = self._way(hosts)
        with site.corner() as corner:
            run = SetupRun(rules=self.rules, plan=plan, site=site, ecosystems=ecosystems, way=way)
            made, record = run.made(corner, ground)
            entry = self.cache.publish(*where, key, made, record)
        if entry is None:
            raise SetupFailed("The set-up's result could not be kept: look at the service's disk.")
        return _prepared(entry, plan, ecosystems, from_cache=False)

    def kept(self, plan: SetupPlan, site: Site) -> Prepared | None:
        """Return what a plan came to when it was run before on the same ground, or None.

        Raises SandboxError, GitError, OSError, Stopped.
        """
        key, missing = self._key(plan, site)
        return None if missing else self._found(plan, site, key)

    def _key(self, plan: SetupPlan, site: Site) -> tuple[str, list[str]]:
        """Return the key of a plan's result, and the programs that it needs and that are missing."""
        ground = site.ground()
        versions = self._toolchains(site, ground.ecosystems(plan.commands))
        missing = [name for name in plan.needs if not versions.get(name)]
        return key_of(plan, ground, {**versions, "place": site.place}), missing

    def _found(self, plan: SetupPlan, site: Site, key: str) -> Prepared | None:
        entry = self.cache.find(site.repository.forge, site.repository.id, key)
        if entry is None:
            return None
        return _prepared(entry, plan, site.ground().ecosystems(plan.commands), from_cache=True)

    def has(self, program: str, site: Site) -> bool:
        """Tell whether commands find a program in the sandbox."""
        return bool(self._asked(site, (program,))[program])

    def _toolchains(self, site: Site, ecosystems: tuple[Ecosystem, ...]) -> dict[str, str]:
        return self._asked(site, tuple(name for each in ecosystems for name in PROGRAMS[each.name]))

    def _asked(self, site: Site, programs: tuple[str, ...]) -> dict[str, str]:
        """Return versions by program, asked once in the life of this worker; "" for what is missing."""
        place = site.place
        new = [program for program in programs if (place, program) not in self._versions]
        if new:
            with site.corner() as corner:
                policy = replace(
                    site.limits, writable=site.empty(corner / "work"), scratch=corner / "scratch"
                )
                with closing(site.sandbox.open(policy)) as session:
                    output = session.run(version_script(new), _TOOLS_SECONDS).output
            found = read_versions(output, new)
            # What is missing is looked for again: its operator may have installed it.
            self._versions |= {(place, name): version for name, version in found.items() if version}
        return {program: self._versions.get((place, program), "") for program in programs}

    def _way(self, hosts: tuple[str, ...] | None) -> Way:
        """Return where the set-up may go, and what its clients are told. Raises SetupFailed."""
        rules = self.rules
        clients = self._ask_clients() if rules.is_auto else NO_CLIENTS
        allowed = rules.named | clients.targets
        allowance = Allowance(targets=allowed, networks=rules.networks, setting=rules.setting)
        if hosts is None:
            return Way(allowance, clients)
        wanted = {host: parse_target(host) for host in hosts}
        unknown = [host for host, target in wanted.items() if target is None]
        over = [target for target in wanted.values() if target is not None and target not in allowed]
        if unknown or over:
            refused = [Refusal(host, "it is not the name of a host") for host in unknown]
            refused += [
                Refusal(str(target), "the operator has not allowed it", allowance.line_for(target))
                for target in over
            ]
            raise hosts_not_allowed(refused)
        chosen = frozenset(filter(None, wanted.values()))
        return Way(replace(allowance, targets=chosen), clients)


def _prepared(
    entry: Entry, plan: SetupPlan, ecosystems: tuple[Ecosystem, ...], *, from_cache: bool
) -> Prepared:
    """Return an entry as later sessions see it."""
    record = entry.record
    shown = [Shown(source=entry.path / "setup", target=SETUP)]
    shown += [
        Shown(source=entry.path / "made" / str(number), target=f"{WORK}/{each.path}")
        for number, each in enumerate(record.made)
    ]
    shown += [Shown(source=entry.path / "home" / name, target=f"{HOME}/{name}") for name in record.home]
    env = {"SETUP_DIR": SETUP}
    for each in ecosystems:
        env |= {**each.always, **each.after}
    paths = [path for each in ecosystems for path in each.path]
    start = f"{plan.directory}/" if plan.directory else ""
    venvs = {".venv", "venv", f"{start}.venv", f"{start}venv"}
    paths += [f"{WORK}/{each.path}/bin" for each in record.made if each.path in venvs]
    how = "from the cache" if from_cache else "run now"
    remarks = "".join(f"; {remark}" for remark in record.remarks)
    return Prepared(
        shown=tuple(shown),
        path=(f"{SETUP}/bin", *paths),
        env={**env, **plan.env},
        note=f"{plan.shown} ({plan.why}; {how}{remarks})",
        from_cache=from_cache,
        hold=entry.hold,
    )
