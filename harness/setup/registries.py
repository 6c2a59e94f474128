"""Asks this machine's package clients which registries they are configured for; no registry is known here."""

from __future__ import annotations

import json
import re
import stat
import tomllib
import urllib.parse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from domain.hosts import HTTPS_PORT, Target, parse_target
from domain.ports import Shown
from harness.setup.asking import ask
from harness.setup.clients import ClientConfiguration

Ask = Callable[[Sequence[str], Mapping[str, str]], str]

_DEFAULT_INDEX = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"
_FILE_HOSTS = """\
import json, sys, urllib.parse, urllib.request
for index in sys.argv[1:]:
    kind = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
    page = urllib.request.Request(index.rstrip("/") + "/pip/", headers={"Accept": kind})
    try:
        with urllib.request.urlopen(page, timeout=10) as answer:
            text = answer.read(4 << 20).decode("utf-8", "replace")
            base = answer.geturl()
    except (OSError, ValueError):
        continue
    try:
        links = [file["url"] for file in json.loads(text)["files"]]
    except ValueError:
        links = [part.split('"')[0] for part in text.split('href="')[1:]]
    print(*{urllib.parse.urljoin(base, link) for link in links[-5:]}, sep="\\n")
"""
"""An index may keep its files on another host, and says so on each of its pages; pip's is everywhere."""

_HIDDEN = tuple(
    PurePosixPath(name) for name in ("/proc", "/dev", "/sys", "/run", "/etc", "/usr", "/work", "/tmp")
)


@dataclass(slots=True)
class _Answers:
    """What the clients said so far."""

    targets: set[Target] = field(default_factory=set)
    env: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    shown: dict[Path, Shown] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def address(self, client: str, text: str) -> str:
        """Take an address in; return how the client inside names it, or "" where it cannot be used."""
        parts = urllib.parse.urlsplit(text)
        if parts.scheme == "file" or text.startswith("/"):
            return self._local(client, text, Path(urllib.parse.unquote(parts.path)))
        try:
            port = parts.port or HTTPS_PORT
        except ValueError:
            return ""
        target = parse_target(f"{parts.hostname or ''}:{port}")
        if parts.scheme.removeprefix("sparse+") != "https" or target is None:
            if parts.scheme:
                self.remarks.append(
                    f"{client}: an address without HTTPS or without a host's name is left out"
                )
            return ""
        self.targets.add(target)
        if parts.username or parts.password:
            self.remarks.append(f"{client}: the password of {target} is not handed to set-ups")
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    def _local(self, client: str, text: str, path: Path) -> str:
        guest = PurePosixPath(path)
        hidden = any(guest.is_relative_to(place) or place.is_relative_to(guest) for place in _HIDDEN)
        if not path.is_absolute() or ".." in path.parts or (hidden and not path.is_relative_to("/usr")):
            self.remarks.append(f"{client}: the local index {path} cannot be shown at its own path")
        elif not _is_open(path):
            self.remarks.append(f"{client}: the local index {path} is not readable for set-ups")
        else:
            place = path if path.is_dir() else path.parent
            if place.name == "simple" and len(place.parts) > 3 and _is_open(place.parent):
                place = place.parent  # the files that such an index lists lie beside it
            if not place.is_relative_to("/usr"):
                self.shown[place.resolve()] = Shown(source=place.resolve(), target=str(place))
            return text
        return ""


def ask_clients(environment: Mapping[str, str], ask: Ask = ask) -> ClientConfiguration:
    """Return what the clients that are found by this environment's PATH are configured for."""
    answers = _Answers()
    for client in (_pip, _npm, _yarn, _go, _gem, _cargo, _maven):
        client(answers, environment, ask)
    return ClientConfiguration(
        targets=frozenset(answers.targets),
        env=answers.env,
        files=answers.files,
        shown=tuple(answers.shown.values()),
        remarks=tuple(dict.fromkeys(answers.remarks)),
    )


def _pip(answers: _Answers, environment: Mapping[str, str], ask: Ask) -> None:
    configured = _pip_settings(ask(["pip", "config", "list"], environment))
    default = ask(["python3", "-c", _DEFAULT_INDEX], environment).strip()
    if configured.get("no-index", "") in {"1", "true", "yes", "on"}:
        answers.env["PIP_NO_INDEX"] = "1"
    index = configured.get("index-url", "") or default
    first = answers.address("pip", index) if index else ""
    more, places = (
        list(filter(None, (answers.address("pip", text) for text in configured.get(name, "").split())))
        for name in ("extra-index-url", "find-links")
    )
    pairs = (("INDEX_URL", first), ("EXTRA_INDEX_URL", " ".join(more)), ("FIND_LINKS", " ".join(places)))
    for name, value in pairs:
        if value:
            answers.env[f"PIP_{name}"] = value
            answers.env[f"UV_{name}"] = value.replace(" ", ",") if name == "FIND_LINKS" else value
    remote = [text for text in (first, *more) if text.startswith("https:")]
    if remote:
        for link in ask(["python3", "-c", _FILE_HOSTS, *remote], environment).split():
            answers.address("pip", link.partition("#")[0])


def _pip_settings(listed: str) -> dict[str, str]:
    """Read `pip config list`: a command's section counts before the global one, the environment most."""
    found: dict[str, tuple[int, str]] = {}
    for line in listed.splitlines():
        match = re.fullmatch(
            r"(:env:|global|install|download|site|user)\.([\w-]+)=(['\"])(.*)\3", line.strip()
        )
        if match is None:
            continue
        weight = {"global": 0, "site": 0, "user": 0, ":env:": 2}.get(match[1], 1)
        value = match[4].replace("\\n", " ")
        if weight >= found.get(match[2], (-1, ""))[0]:
            found[match[2]] = (weight, value)
    return {name: value for name, (_, value) in found.items()}


def _npm(answers: _Answers, environment: Mapping[str, str], ask: Ask) -> None:
    try:
        settings = json.loads(ask(["npm", "config", "list", "--json"], environment) or "{}")
    except ValueError:
        settings = {}
    for name, value in settings.items() if isinstance(settings, dict) else ():
        if not isinstance(value, str) or not (name == "registry" or name.endswith(":registry")):
            continue
        address = answers.address("npm", value)
        if address and name == "registry":  # those of scopes stand in a repository's own .npmrc
            answers.env |= {"npm_config_registry": address, "YARN_REGISTRY": address}
            answers.env["YARN_NPM_REGISTRY_SERVER"] = address.rstrip("/")


def _yarn(answers: _Answers, environment: Mapping[str, str], ask: Ask) -> None:
    if "npm_config_registry" in answers.env:
        return
    found = ask(["yarn", "config", "get", "registry"], environment).strip()
    if found.startswith("https:") and (address := answers.address("yarn", found)):
        answers.env["YARN_REGISTRY"] = address


def _go(answers: _Answers, environment: Mapping[str, str], ask: Ask) -> None:
    lines = ask(["go", "env", "GOPROXY", "GOSUMDB"], environment).splitlines()
    if len(lines) < 2:
        return
    proxies = [
        part if part in {"direct", "off"} else answers.address("go", part)
        for part in re.split("[,|]", lines[0])
    ]
    answers.env["GOPROXY"] = ",".join(filter(None, proxies)) or "off"
    answers.env["GOSUMDB"] = lines[1] or "off"
    for word in lines[1].split():
        host = parse_target(word.partition("+")[0])
        if host is not None and "." in host.host:
            answers.targets.add(host)
        elif word.startswith("https:"):
            answers.address("go", word)


def _gem(answers: _Answers, environment: Mapping[str, str], ask: Ask) -> None:
    for line in ask(["gem", "sources"], environment).splitlines():
        if line.startswith("https:"):
            answers.address("gem", line.strip())


def _cargo(answers: _Answers, environment: Mapping[str, str], ask: Ask) -> None:
    """Read cargo's own file: it has no command that tells."""
    home = Path(environment.get("CARGO_HOME") or Path(environment.get("HOME", "/nonexistent")) / ".cargo")
    text = next((text for name in ("config.toml", "config") if (text := _read(home / name))), "")
    try:
        settings = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return
    replaced: list[str] = []
    for name, table in _tables(settings.get("source")):
        index = table.get("registry")
        address = answers.address("cargo", index) if isinstance(index, str) else ""
        replaced += _source_lines(name, address, table.get("replace-with"))
    if replaced:
        # What stands for another source cannot be said in variables.
        answers.files["cargo/config.toml"] = "\n".join([*replaced, ""])
    for name, table in _tables(settings.get("registries")):
        index = table.get("index")
        if isinstance(index, str) and (address := answers.address("cargo", index)):
            answers.env[f"CARGO_REGISTRIES_{name.upper().replace('-', '_')}_INDEX"] = address


def _source_lines(name: str, address: str, instead: object) -> list[str]:
    """Return a source of cargo's as it is configured, without anything else that its table may hold."""
    said = {"registry": address, "replace-with": instead if isinstance(instead, str) else ""}
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in said.items() if value]
    return [f"[source.{json.dumps(name, ensure_ascii=False)}]", *lines] if lines else []


def _maven(answers: _Answers, environment: Mapping[str, str], ask: Ask) -> None:
    text = _read(Path(environment.get("HOME", "/nonexistent")) / ".m2" / "settings.xml")
    for url in re.findall(r"<url>\s*([^<\s]{1,500})\s*</url>", text):
        answers.address("maven", url)


def _tables(value: object) -> Iterable[tuple[str, dict[str, object]]]:
    entries = value.items() if isinstance(value, dict) else ()
    return [(str(name), table) for name, table in entries if isinstance(table, dict)]


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")[: 2**20]
    except OSError:
        return ""


def _is_open(path: Path) -> bool:
    """Tell whether any user of this machine may read a file or directory."""
    try:
        modes = [(place.stat().st_mode, place == path) for place in (*path.parents, path)]
    except OSError:
        return False
    wanted = stat.S_IROTH | (stat.S_IXOTH if path.is_dir() else 0)
    return all(
        mode & (wanted if last else stat.S_IXOTH) == (wanted if last else stat.S_IXOTH)
        for mode, last in modes
    )
