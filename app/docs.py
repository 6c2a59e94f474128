"""Writes the generated blocks of the documentation, and checks that they and all relative links are right."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

from app.cli_page import cli_page
from app.commands_page import commands_page
from app.contract_page import contract_page
from app.settings_page import settings_page
from domain.states import chart

ROOT = Path(__file__).resolve().parents[1]

BLOCKS: dict[str, tuple[Path, Callable[[], str]]] = {
    "states": (ROOT / "docs/explanation/design.md", lambda: f"```mermaid\n{chart()}\n```"),
    "cli": (ROOT / "docs/reference/cli.md", cli_page),
    "commands": (ROOT / "docs/reference/commands.md", commands_page),
    "repository-config": (ROOT / "docs/reference/repository-config.md", contract_page),
    "settings": (ROOT / "docs/reference/settings.md", settings_page),
}

_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def written(text: str, name: str, content: str) -> str:
    """Return a page with its generated block replaced. Raises ValueError when the block is missing."""
    pattern = re.compile(rf"(<!-- {name}:begin[^>]*-->\n).*?(<!-- {name}:end -->)", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"no block {name!r}")
    return pattern.sub(lambda match: f"{match[1]}\n{content}\n\n{match[2]}", text)


def stale_blocks() -> list[str]:
    """Return the names of generated blocks that are not what would be written now."""
    stale = []
    for name, (path, content) in BLOCKS.items():
        text = path.read_text()
        if written(text, name, content()) != text:
            stale.append(name)
    return stale


def broken_links() -> list[str]:
    """Return relative links that lead nowhere, as "page: target"."""
    broken = []
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in _LINK.findall(page.read_text()):
            if "://" not in target and not (page.parent / target).exists():
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    return broken


def main(arguments: list[str]) -> int:
    """`--write` brings the blocks up to date; `--check` fails when something is stale or broken."""
    if "--write" in arguments:
        for name, (path, content) in BLOCKS.items():
            path.write_text(written(path.read_text(), name, content()))
    problems = [f"stale block {name}: run `make docs`" for name in stale_blocks()]
    problems += [f"broken link in {link}" for link in broken_links()]
    for problem in problems:
        sys.stderr.write(problem + "\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
