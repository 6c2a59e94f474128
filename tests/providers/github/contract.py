"""GitHub's own description as a judge of the requests that the provider sends and the answers that it gets.

Fails on a wrong type, and on an unknown key of a request. That an answer lacks a field is let pass: GitHub's
own examples lack some that its description requires.
"""

from __future__ import annotations

import functools
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from app.demo.github.server import Exchange

DATA = Path(__file__).parent / "contract_data"

ALWAYS_ALLOWED = {401, 403, 404, 410, 422, 429}
"""Answers that may come to anything; so may those from 500 on."""

UNDESCRIBED = {
    ("GET", re.compile(r"/users/[^/]+")): "documented, not among the trimmed operations",
    ("GET", re.compile(r"/user/\d+")): "documented, not among the trimmed operations",
    ("POST", re.compile(r"/repos/[^/]+/[^/]+/actions/jobs/\d+/rerun")): "documented, not among the trimmed",
    ("GET", re.compile(r"/user")): "documented, not among the trimmed operations",
    ("DELETE", re.compile(r"/applications/[^/]+/token")): "documented, not among the trimmed operations",
    ("POST", re.compile(r"/graphql")): "has a schema of its own",
}


class Broken(AssertionError):
    """A request or an answer is not as GitHub describes it."""


class Operation:
    """One method on one path."""

    def __init__(self, method: str, template: str, content: dict[str, Any]) -> None:
        self.name = f"{method} {template}"
        self.content = content
        segments = [re.escape(part) for part in re.split(r"(\{\w+\})", template)]
        pattern = "".join("([^/]+)" if s.startswith("\\{") else s for s in segments)
        # A file's path, a reference and two ends of a comparison may have slashes of their own.
        for wide in ("contents/([^/]+)", "git/ref/([^/]+)", "refs/([^/]+)", "compare/([^/]+)"):
            pattern = pattern.replace(wide, wide.replace("([^/]+)", "(.+)"))
        self.pattern = re.compile(pattern)
        self.is_wide = "(.+)" in pattern
        parameters = [resolved(each) for each in content.get("parameters", [])]
        self.query = {each["name"]: each["schema"] for each in parameters if each["in"] == "query"}
        body = content.get("requestBody", {}).get("content", {}).get("application/json", {})
        self.body_schema = closed(body["schema"]) if body else None

    @functools.cached_property
    def body(self) -> Draft202012Validator | None:
        return validator(self.body_schema) if self.body_schema else None

    @functools.cache  # noqa: B019  (operations live as long as the process)
    def answer(self, status: int) -> Draft202012Validator | None:
        found = resolved(self.content["responses"].get(str(status), {}))
        schema = found.get("content", {}).get("application/json", {}).get("schema")
        return validator(schema) if schema else None


@functools.cache
def description() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(gzip.decompress((DATA / "rest.json.gz").read_bytes()))
    return lenient(content)


def lenient(value: Any) -> Any:
    """Drop what requires a field of an answer; a request's own requirements are looked up before."""
    if isinstance(value, dict):
        return {
            key: each if key == "requestBody" else lenient(each)
            for key, each in value.items()
            if not (key == "required" and isinstance(each, list))
        }
    return [lenient(each) for each in value] if isinstance(value, list) else value


def closed(schema: Any) -> Any:
    """Allow no key that an object's description does not name."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {key: closed(each) for key, each in schema.items()}
    if "properties" in copy and "additionalProperties" not in copy:
        copy["additionalProperties"] = False
    return copy


@functools.cache
def registry() -> Registry[Any]:
    return Registry().with_resource("urn:github", Resource.from_contents(description(), DRAFT202012))


def validator(schema: Any) -> Draft202012Validator:
    text = json.dumps(schema).replace('"#/', '"urn:github#/')
    return Draft202012Validator(json.loads(text), registry=registry())


def resolved(value: dict[str, Any]) -> dict[str, Any]:
    reference = value.get("$ref")
    if not reference:
        return value
    found: Any = description()
    for step in reference.removeprefix("#/").split("/"):
        found = found[step.replace("~1", "/")]
    return resolved(found)


@functools.cache
def operations() -> list[Operation]:
    found = [
        Operation(method.upper(), template, content)
        for template, methods in description()["paths"].items()
        for method, content in methods.items()
    ]
    return sorted(found, key=lambda each: (each.is_wide, each.content.get("parameters") is not None))


def operation(method: str, path: str) -> Operation | None:
    """Return what GitHub describes for a path; None for what it documents elsewhere. Raises Broken."""
    for known in operations():
        if known.name.startswith(f"{method} ") and known.pattern.fullmatch(path):
            return known
    if any(method == verb and pattern.fullmatch(path) for verb, pattern in UNDESCRIBED):
        return None
    raise Broken(f"GitHub describes no {method} {path}")


def judge(exchange: Exchange) -> Iterator[str]:
    """Yield what GitHub's own description objects to; the judge of every server in the tests."""
    request, described = exchange.request, None
    try:
        described = check_request(request.method, exchange.path, request.query, request.body)
    except Broken as broken:
        yield str(broken)
    if request.headers.get("x-github-api-version") != "2022-11-28":
        yield f"{request.method} {request.path}: no API version is pinned"
    if not request.headers.get("user-agent"):
        yield f"{request.method} {request.path}: no user agent"
    if exchange.answer is not None:
        try:
            check_answer(described, exchange.answer.status, exchange.answer.data)
        except Broken as broken:
            yield str(broken)


def check_request(method: str, path: str, query: dict[str, str], body: Any) -> Operation | None:
    """Return the operation. Raises Broken for a path, a query or a body that GitHub does not describe."""
    found = operation(method, path)
    if found is None:
        return None
    for name, value in query.items():
        if name not in found.query:
            raise Broken(f"{found.name} has no query {name!r}")
        allowed = found.query[name].get("enum")
        if allowed and value not in allowed:
            raise Broken(f"{found.name}: {name}={value!r} is not one of {allowed}")
    if body is not None:
        if found.body is None:
            raise Broken(f"{found.name} takes no body")
        complain(found.name + " body", found.body, body)
    return found


def check_answer(found: Operation | None, status: int, data: Any) -> None:
    """Raise Broken for an answer that GitHub would not give."""
    if found is None or status in ALWAYS_ALLOWED or status >= 500:
        return
    if status == 301 or status == 307:
        return  # what every operation answers for a renamed repository
    if str(status) not in found.content["responses"]:
        raise Broken(f"{found.name} does not answer {status}")
    judge = found.answer(status)
    if judge is not None:
        complain(f"{found.name} answer {status}", judge, shortened(data))


def shortened(data: Any) -> Any:
    """Return an answer with two items of each long list: the others are made by the same code."""
    if isinstance(data, list):
        return [shortened(each) for each in ([*data[:1], *data[-1:]] if len(data) > 2 else data)]
    return {key: shortened(each) for key, each in data.items()} if isinstance(data, dict) else data


def complain(what: str, judge: Draft202012Validator, data: Any) -> None:
    errors = sorted(judge.iter_errors(data), key=lambda error: error.json_path)
    if errors:
        told = "; ".join(f"{error.json_path}: {error.message[:200]}" for error in errors[:3])
        raise Broken(f"{what}: {told}")


@functools.cache
def deliveries() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(gzip.decompress((DATA / "webhooks.json.gz").read_bytes()))
    return either(lenient(content))


def either(value: Any) -> Any:
    """Let more than one of several descriptions fit: they differ in what they require, which is dropped."""
    if isinstance(value, dict):
        return {"anyOf" if key == "oneOf" else key: either(each) for key, each in value.items()}
    return [either(each) for each in value] if isinstance(value, list) else value


@functools.cache
def delivery(name: str) -> Draft202012Validator | None:
    """Return the judge of one kind of webhook; None where GitHub's description of it is not here."""
    found = deliveries()["webhooks"].get(name)
    if found is None:
        return None
    schema = found["post"]["requestBody"]["content"]["application/json"]["schema"]
    hooks: Registry[Any] = Registry().with_resource(
        "urn:hooks", Resource.from_contents(deliveries(), DRAFT202012)
    )
    return Draft202012Validator(json.loads(json.dumps(schema).replace('"#/', '"urn:hooks#/')), registry=hooks)


def check_delivery(event: str, payload: dict[str, Any]) -> None:
    """Raise Broken for a webhook that GitHub would not send; what it lacks is let pass."""
    action = payload.get("action")
    name = (f"{event}-{action}" if action else event).replace("_", "-")
    judge = delivery(name)
    if judge is not None:
        complain(f"the webhook {name}", judge, payload)
