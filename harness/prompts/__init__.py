"""The texts that the model is given. Plain text: nothing in them is ever rendered as a template."""

from __future__ import annotations

from pathlib import Path


def prompt(name: str) -> str:
    """Return one of the texts beside this file, by its name without `.md`."""
    return (Path(__file__).resolve().parent / f"{name}.md").read_text("utf-8").strip()
