"""A manifest's code into the App that GitHub made of it, with its keys. Used once in an App's life."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from domain.errors import ConfigurationError, ForgeError, NotFound
from providers.github import shapes
from providers.github.app import rsa_key, whole_id
from providers.github.calls import Api, Json, Patience
from providers.github.manifest import page_of
from providers.github.plugin import checked_api_url

LONGEST_CODE = 200
MOST_KEY_CHARACTERS = 20_000

_CODE = re.compile(rf"[A-Za-z0-9_-]{{1,{LONGEST_CODE}}}")
_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")
_CLIENT_ID = re.compile(r"[A-Za-z0-9._-]{1,80}")
_SECRET = re.compile(r"[!-+\--~]{32,200}")
"""Printable, without blanks and commas; GitHub makes forty hexadecimal digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedApp:
    """An App as GitHub made it. Its keys are never part of its text form."""

    id: str
    slug: str
    name: str
    owner: str
    client_id: str
    page: str
    private_key: str = field(repr=False)
    webhook_secret: str = field(repr=False)
    client_secret: str = field(repr=False)


class CodeRefused(ForgeError):
    """GitHub does not take the code: it was used, is more than an hour old, or is none."""


def make_app(api_url: str, code: str, patience: Patience | None = None) -> CreatedApp:
    """Have GitHub give out the App that a code stands for. GitHub does that once for each code.

    Raises:
        CodeRefused: the code is no good; nothing was given out for it now.
        Ambiguous: no whole answer came; the code may have been used up by it.
        ForgeUnavailable: GitHub cannot answer now; the code is still good.
        ForgeError: what came is not an App.
        ConfigurationError: the API's address is wrong.
    """
    if not _CODE.fullmatch(code):
        raise CodeRefused("this is no code of GitHub's")
    api = Api(checked_api_url(api_url), patience)
    try:
        reply = api.call("POST", f"/app-manifests/{code}/conversions", auth=None, scope="nobody")
    except NotFound:
        raise CodeRefused("GitHub does not know this code: it was used before, or is too old") from None
    if reply.location:
        raise ForgeError("GitHub sends us elsewhere for the App's keys; its API's address is wrong")
    return _created(shapes.obj(reply.data, "App"), api.base_url)


def _created(found: Json, api_url: str) -> CreatedApp:
    slug = _matching(found, "slug", _SLUG)
    name = shapes.text(found.get("name"))
    return CreatedApp(
        id=str(whole_id(found)),
        slug=slug,
        name=" ".join(name.split())[:100] or slug,
        owner=shapes.text(shapes.part(found, "owner").get("login"))[:100],
        client_id=_matching(found, "client_id", _CLIENT_ID),
        page=page_of(api_url, slug, shapes.text(found.get("html_url"))),
        webhook_secret=_matching(found, "webhook_secret", _SECRET),
        client_secret=_matching(found, "client_secret", _SECRET),
        private_key=_private_key(found),
    )


def _matching(found: Json, name: str, form: re.Pattern[str]) -> str:
    """Return a field of the right form. Raises ForgeError, which never shows what stands there."""
    value = shapes.text(found.get(name))
    if not form.fullmatch(value):
        raise ForgeError(f"GitHub's answer has no usable {name} of the App")
    return value


def _private_key(found: Json) -> str:
    pem = shapes.text(found.get("pem"))
    try:
        rsa_key(pem[:MOST_KEY_CHARACTERS])
    except ConfigurationError:
        raise ForgeError("GitHub's answer has no usable private key of the App") from None
    return pem.strip() + "\n"
