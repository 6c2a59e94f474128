"""Writes the reference of `.fixwright.yml` from the values that it is read into."""

from __future__ import annotations

from collections.abc import Iterator

from app.repo_contract import schema

Node = dict[str, object]


def contract_page() -> str:
    """Return a Markdown table of every key, with its type, default and meaning."""
    rows = ["| key | value | default | meaning |", "|---|---|---|---|"]
    return "\n".join([*rows, *_rows(schema(), "", schema())])


def _rows(section: Node, before: str, root: Node) -> Iterator[str]:
    required = _list(section.get("required"))
    for key, node in _objects(section.get("properties")).items():
        name = f"{before}{key}"
        inner = _referred(node, root)
        entries = _referred(_entries(node), root)
        if inner.get("properties"):
            yield f"| `{name}` | section | – | {_cell(inner.get('description'))} |"
            yield from _rows(inner, f"{name}.", root)
        else:
            row = f"| `{name}` | {_kind(node)} | {_default(node, key in required)} | "
            yield row + f"{_cell(node.get('description'))} |"
        if entries.get("properties"):
            yield from _rows(entries, f"{name}.NAME.", root)


def _referred(node: Node, root: Node) -> Node:
    """Return the section that a node stands for, itself where it stands for none."""
    name = str(node.get("$ref", "")).rpartition("/")[2]
    return _objects(root.get("$defs")).get(name, node)


def _kind(node: Node) -> str:
    if "enum" in node or "const" in node:
        values = node.get("enum") or [node.get("const")]
        return " or ".join(f"`{value}`" for value in values) if isinstance(values, list) else ""
    choices = [_object(each) for each in _list(node.get("anyOf"))]
    if choices:
        return " or ".join(kind for each in choices if (kind := _kind(each)) != "null")
    if node.get("type") == "array":
        return f"list of {_kind(_object(node.get('items')))}"
    if node.get("type") == "object":
        return "mapping"
    name = {"string": "text", "integer": "whole number", "boolean": "true or false"}
    return name.get(str(node.get("type")), str(node.get("type"))) + _range(node)


def _range(node: Node) -> str:
    low, high = node.get("minimum"), node.get("maximum")
    if low is not None and high is not None:
        return f", {low} to {high}"
    return f", {low} or more" if low is not None else ""


def _entries(node: Node) -> Node:
    """Return what each entry of a mapping is whose keys are the repository's own."""
    by_pattern = list(_objects(node.get("patternProperties")).values())
    return by_pattern[0] if by_pattern else _object(node.get("additionalProperties"))


def _default(node: Node, is_required: bool) -> str:
    value = node.get("default")
    if value in (None, "", [], {}):
        return "required" if is_required else "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _cell(text: object) -> str:
    return " ".join(str(text or "").split()).replace("|", "\\|")


def _object(value: object) -> Node:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> dict[str, Node]:
    return {str(key): _object(each) for key, each in _object(value).items()}


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
