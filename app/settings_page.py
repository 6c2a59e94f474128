"""Writes the reference of all settings, from the settings themselves."""

from __future__ import annotations

from pydantic.fields import FieldInfo

from app.settings import GROUPS, PROVIDER_KEYS, variable


def settings_page() -> str:
    """Return Markdown tables: the settings of both processes, of the web process, of the worker."""
    shared = set.intersection(*(set(group.model_fields) for group in GROUPS))
    parts = [_table("Both processes", {name: GROUPS[0].model_fields[name] for name in sorted(shared)})]
    for group, title in zip(GROUPS, ("The web process", "The worker"), strict=True):
        own = {name: field for name, field in sorted(group.model_fields.items()) if name not in shared}
        parts.append(_table(title, own))
    keys = ", ".join(f"`{name}`" for name in PROVIDER_KEYS)
    parts.append(f"## Model providers\n\nUnder their own names, for the worker only: {keys}.")
    return "\n\n".join(parts)


def _table(title: str, fields: dict[str, FieldInfo]) -> str:
    rows = [f"## {title}", "", "| setting | default | meaning | example |", "|---|---|---|---|"]
    rows += [
        f"| `{variable(name)}` | {_default(field)} | {field.description} | `{(field.examples or [''])[0]}` |"
        for name, field in fields.items()
    ]
    return "\n".join(rows)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.default
    if hasattr(value, "get_secret_value"):
        value = value.get_secret_value()
    if isinstance(value, dict):
        value = ",".join(value)
    if isinstance(value, (frozenset, tuple)):
        value = ",".join(map(str, value))
    return (
        f"`{str(value).lower() if isinstance(value, bool) else value}`" if value not in ("", None) else "none"
    )
