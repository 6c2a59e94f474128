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


def main() -> int:
    """Take every picture at both widths and in both schemes, whole pages where a second word says so."""
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
    is_whole = len(sys.argv) > 2
    with tempfile.TemporaryDirectory() as folder:
        seed(Path(folder), hostile="")
        with (
            running_web_process(Path(folder), FIXWRIGHT_REPOSITORIES=REPOSITORIES) as web,
            browser(f"http://127.0.0.1:{web.port}") as page,
        ):
            page.look(1280, "light")
            page.go("/console").picture(directory / "login-1280-light.png")
            page.log_in(CONSOLE_TOKEN)
            for name, path in PAGES.items():
                for width in (1280, 375):
                    for scheme in ("light", "dark"):
                        page.look(width, scheme, 760)
                        page.go(path).picture(directory / f"{name}-{width}-{scheme}.png", whole=is_whole)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
