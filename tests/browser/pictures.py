"""Takes the console's pictures for the documentation: python -m tests.browser.pictures [DIRECTORY]."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.app.web_process import CONSOLE_TOKEN, running_web_process
from tests.browser.browsing import browser
from tests.browser.seeding import seed

ROOT = Path(__file__).resolve().parents[2]
REPOSITORIES = "local:acme/fairshare,local:octo/lamp"

PAGES = {
    "overview": "/console",
    "tasks": "/console/tasks",
    "task": "/console/tasks/13",
    "running": "/console/tasks/18",
    "blocked": "/console/tasks/14",
    "transcript": "/console/tasks/13/attempts/1",
    "repositories": "/console/repositories",
    "repository": "/console/repositories/local/acme/fairshare",
    "spend": "/console/spend",
    "deliveries": "/console/deliveries",
    "delivery": "/console/deliveries/1",
    "health": "/console/health",
}


SHOWN = ("overview", "task", "change", "transcript", "repositories", "spend", "deliveries", "health")
"""What the documentation has pictures of; all else is taken only into a directory that is named."""

IN_BOTH = ("overview", "task", "spend")
"""Of these, both schemes at both widths; of the others, light when wide and dark when narrow."""


def main() -> int:
    """Take the pictures; into a directory that is named, all of them; whole pages with a second word."""
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
    is_all, is_whole = len(sys.argv) > 1, len(sys.argv) > 2
    with tempfile.TemporaryDirectory() as folder:
        seed(Path(folder), hostile="")
        with (
            running_web_process(Path(folder), FIXWRIGHT_REPOSITORIES=REPOSITORIES) as web,
            browser(f"http://127.0.0.1:{web.port}") as page,
        ):
            page.look(1280, "light", 760)
            page.go("/console").picture(directory / "login-1280-light.png")
            page.log_in(CONSOLE_TOKEN)
            for name, path in {**PAGES, "change": "/console/tasks/13#change"}.items():
                for width, scheme in ((1280, "light"), (375, "dark"), (1280, "dark"), (375, "light")):
                    is_usual = (width == 1280) is (scheme == "light")
                    if not is_all and (name not in SHOWN or not (is_usual or name in IN_BOTH)):
                        continue
                    page.look(width, scheme, 760)
                    page.go("/console/login")  # so that a mark in the address is gone to anew
                    page.go(path).picture(directory / f"{name}-{width}-{scheme}.png", whole=is_whole)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
