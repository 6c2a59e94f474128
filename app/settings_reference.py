"""The settings' reference page, generated from their definitions."""

from __future__ import annotations

from decimal import Decimal

from pydantic.fields import FieldInfo

from app.settings import PROVIDER_KEYS, CommonSettings, WebSettings, WorkerSettings, variable

_GROUPS: tuple[tuple[str, type[CommonSettings]], ...] = (
    ("Both processes", CommonSettings),
    ("Web process", WebSettings),
    ("Worker process", WorkerSettings),
)


def settings_reference() -> str:
    """Return docs/reference/settings.md: one table per process, and the providers' own names."""
    parts = ["# Settings", _INTRODUCTION]
    for title, group in _GROUPS:
        rows = [
            _row(name, field)
            for name, field in group.model_fields.items()
            if group is CommonSettings or name not in CommonSettings.model_fields
        ]
        parts.append(
            "\n".join(
                [f"## {title}\n", "| variable | default | meaning | example |", "|---|---|---|---|", *rows]
            )
        )
    names = ", ".join(f"`{name}`" for name in PROVIDER_KEYS)
    parts.append(f"## Model providers\n\nThese keep their usual names: {names}.")
    return "\n\n".join(parts) + "\n"


_INTRODUCTION = (
    "Settings are environment variables. A wrong value, or a name that begins with `FIXWRIGHT_` and is not "
    "in this list, stops the start with exit status 2 and one line per problem."
)


def _row(name: str, field: FieldInfo) -> str:
    example = (field.examples or [""])[0]
    meaning = (field.description or "").replace("|", "\\|")
    return f"| `{variable(name)}` | {_default(field)} | {meaning} | `{example}` |"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.default
    if isinstance(value, dict):
        return f"`{','.join(value)}`"
    if isinstance(value, (bool, int, Decimal)):
        return f"`{str(value).lower()}`"
    text = "" if value is None or isinstance(value, (frozenset, tuple)) else str(value)
    return "none" if text in {"", "**********"} else f"`{text}`"
