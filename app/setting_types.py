"""The kinds of values that settings have: text from the environment into typed values, or a clear refusal."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BeforeValidator, Field, SecretStr
from pydantic_settings import NoDecode

from domain.hosts import parse_target
from domain.model import Category, Price
from domain.pricing import read_price, read_prices
from domain.text import clip

SHORTEST_SECRET = 32
"""Bytes: as long as the HMAC's own output. `openssl rand -hex 32` makes 64."""

SHORTEST_TOKEN = 16
"""Characters of the console's password."""

_BOUNDLESS = frozenset({"unlimited", "none", "no", "off", "inf", "infinity", "infinite", "null", "max", "∞"})

_REPOSITORY = re.compile(r"[a-z][a-z0-9-]*:[\w.-]+(?:/[\w.-]+)+")
_PUBLIC_URL = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]+(?:/[A-Za-z0-9._~/-]*)?")
_ORIGIN = re.compile(r"https?://[a-z0-9.\-\[\]:]+")
_COMMAND = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_SECRET_TEXT = re.compile(r"[\x21-\x7e]+")

_LONGEST_LABEL = 50

Parsed = TypeVar("Parsed")
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def _from_text(parse: Callable[[str], Parsed]) -> BeforeValidator:
    """Apply a parser to text; values that are typed already (defaults) pass."""

    def convert(value: object) -> object:
        return parse(value) if isinstance(value, str) else value

    return BeforeValidator(convert)


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("is set, but empty")
    return text.strip()


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[,\s]+", text) if word]


def _parse_public_url(text: str) -> str:
    address = text.strip().rstrip("/")
    if address and not _PUBLIC_URL.fullmatch(address):
        raise ValueError("is no address such as https://fixwright.example.org")
    return address


def _parse_secrets(text: str) -> tuple[SecretStr, ...]:
    words = _words(_not_blank(text))
    for word in words:
        if not _SECRET_TEXT.fullmatch(word):
            raise ValueError("holds a character that is not printable ASCII")
        if len(word) < SHORTEST_SECRET:
            raise ValueError(f"holds a secret of {len(word)} bytes; each needs at least {SHORTEST_SECRET}")
    if not words:
        raise ValueError("is set, but holds no secret")
    return tuple(SecretStr(word) for word in words)


def _parse_token(text: str) -> SecretStr:
    token = text.strip()
    if token and (len(token) < SHORTEST_TOKEN or not _SECRET_TEXT.fullmatch(token)):
        raise ValueError(f"must have at least {SHORTEST_TOKEN} printable ASCII characters and no spaces")
    return SecretStr(token)


def _parse_dollars(text: str) -> str:
    """Refuse every way of saying that there is no limit: of money there always is one."""
    amount = _not_blank(text)
    if amount.lower().lstrip("+-") in _BOUNDLESS or amount.startswith("-"):
        raise ValueError(
            f"a budget of money is never unlimited, but it is {clip(amount, 40)!a}; "
            "write an amount in dollars, where 0 means that nothing may be spent"
        )
    return amount


def _parse_repositories(text: str) -> frozenset[str]:
    found = [word.lower() for word in _words(text)]
    for word in found:
        if not _REPOSITORY.fullmatch(word):
            raise ValueError(f"{word!r} is not of the form forge:owner/name")
    return frozenset(found)


def _parse_labels(text: str) -> Mapping[str, Category]:
    labels: dict[str, Category] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        label, _, category = part.rpartition("=")
        label = (label or category).strip().lower()
        try:
            labels[label] = Category(category.strip().lower())
        except ValueError:
            known = ", ".join(Category)
            raise ValueError(f"{part!r} names no category; write one of {known}, or label=category") from None
    if not labels:
        raise ValueError("names no label")
    return labels


def _parse_setup_hosts(text: str) -> str:
    words = list(dict.fromkeys(word.lower() for word in _words(text)))
    for word in words:
        if word != "auto" and parse_target(word) is None:
            raise ValueError(f"{word!r} is not `auto` and not the name of a host")
    return ",".join(words)


def _parse_networks(text: str) -> tuple[Network, ...]:
    found = []
    for word in _words(text):
        try:
            network = ipaddress.ip_network(word)
        except ValueError as error:
            raise ValueError(f"{word!r} is not a network ({error})") from None
        if network.is_link_local or network.is_multicast or network.prefixlen == 0:
            raise ValueError(f"{word!r} cannot be allowed: it is no network of hosts")
        found.append(network)
    return tuple(found)


def _parse_directory(text: str) -> Path:
    return Path(_not_blank(text)).expanduser().absolute()


def _parse_optional_directory(text: str) -> Path | None:
    return _parse_directory(text) if text.strip() else None


def _parse_directories(text: str) -> tuple[Path, ...]:
    paths = tuple(Path(part).expanduser() for part in text.split(os.pathsep) if part.strip())
    for path in paths:
        if not path.is_absolute() or not path.is_dir():
            raise ValueError(f"{str(path)!r} is not the absolute path of a directory")
    return paths


def _parse_patterns(text: str) -> tuple[str, ...]:
    patterns = tuple(part.strip() for part in text.split(",") if part.strip())
    for pattern in patterns:
        if not pattern.strip("/*") or any(ord(character) < 32 for character in pattern):
            raise ValueError(f"{pattern!r} is no pattern of paths")
    return patterns


def _parse_switch(text: str) -> bool:
    """Read a switch that opens something: only a plain yes or no counts."""
    word = _not_blank(text).lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off"):
        return False
    raise ValueError(f"is neither 1 nor 0, but {clip(word, 40)!a}")


def _parse_commands(text: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(_words(text)))
    for word in found:
        if not _COMMAND.fullmatch(word):
            raise ValueError(f"{clip(word, 40)!r} is not the bare name of a program")
    return found


def _parse_pull_labels(text: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))
    for name in found:
        if len(name) > _LONGEST_LABEL or not name.isprintable():
            raise ValueError(f"{clip(name, 40)!r} is no label: at most {_LONGEST_LABEL} visible characters")
    return found


def _parse_origins(text: str) -> frozenset[str]:
    found = _words(text)
    for word in found:
        if not _ORIGIN.fullmatch(word):
            raise ValueError(f"{clip(word, 80)!r} is no site such as https://dashboard.example.org")
    return frozenset(found)


Secrets = Annotated[tuple[SecretStr, ...], NoDecode, _from_text(_parse_secrets)]
Token = Annotated[SecretStr, _from_text(_parse_token)]
Repositories = Annotated[frozenset[str], NoDecode, _from_text(_parse_repositories)]
Labels = Annotated[Mapping[str, Category], NoDecode, _from_text(_parse_labels)]
Directory = Annotated[Path, _from_text(_parse_directory)]
OptionalDirectory = Annotated[Path | None, _from_text(_parse_optional_directory)]
Directories = Annotated[tuple[Path, ...], NoDecode, _from_text(_parse_directories)]
Patterns = Annotated[tuple[str, ...], NoDecode, _from_text(_parse_patterns)]
PullLabels = Annotated[tuple[str, ...], NoDecode, _from_text(_parse_pull_labels)]
Switch = Annotated[bool, _from_text(_parse_switch)]
Commands = Annotated[tuple[str, ...], NoDecode, _from_text(_parse_commands)]
SetupHosts = Annotated[str, _from_text(_parse_setup_hosts)]
Origins = Annotated[frozenset[str], NoDecode, _from_text(_parse_origins)]
Networks = Annotated[tuple[Network, ...], NoDecode, _from_text(_parse_networks)]
Word = Annotated[str, _from_text(str.strip)]

PublicUrl = Annotated[str, _from_text(_parse_public_url)]
Count = Annotated[int, _from_text(_not_blank)]
ModelPrices = Annotated[Mapping[str, Price], NoDecode, _from_text(read_prices)]
UpperPrice = Annotated[Price | None, NoDecode, _from_text(read_price)]
Dollars = Annotated[
    Decimal, _from_text(_parse_dollars), Field(ge=0, le=1_000_000, allow_inf_nan=False, decimal_places=9)
]
