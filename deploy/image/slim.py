"""Removes from a virtual environment what only packages ask for that this service never imports.

    python3 slim.py VENV

mini-swe-agent asks for `datasets`, and with it pyarrow and pandas, for its own benchmarks: some 350 MB. The
service imports none of it (a test says so). Removed is every installed package that `fixwright` does not need
by way of its requirements without those in `UNUSED`, pip too.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

UNUSED = frozenset(
    {
        ("mini-swe-agent", "datasets"),  # its benchmarks
        ("mini-swe-agent", "textual"),  # its viewer of transcripts
        ("mini-swe-agent", "prompt-toolkit"),  # its command line
        ("huggingface-hub", "hf-xet"),  # downloads of models
    }
)
"""Requirements that are left out, as (package, requirement)."""

KEPT = frozenset({"fixwright"})

UNUSED_PARTS = ("litellm/proxy/_experimental/out", "litellm/proxy/swagger")
"""Directories of packages that are kept, with nothing to import: pages of a server that is not run."""

AWS_SERVICES = frozenset(
    {"bedrock", "bedrock-agent-runtime", "bedrock-runtime", "sagemaker-runtime", "sso", "sso-oidc", "sts"}
)
"""Services whose descriptions botocore keeps: models are called, and signed in for, by these."""

_LIST = """
import json
from importlib.metadata import distributions
from pip._vendor.packaging.requirements import Requirement

def wanted(text, extras):
    requirement = Requirement(text)
    marker = requirement.marker
    chosen = marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras))
    return [requirement.name, sorted(requirement.extras)] if chosen else None

extras = {}
found = {}
for _ in range(4):  # extras are asked for by others: until no more come to light
    for each in distributions():
        name = each.metadata["Name"]
        key = name.lower().replace("_", "-").replace(".", "-")
        needs = [wanted(text, extras.get(key, ())) for text in each.requires or ()]
        found[name] = [need[0] for need in needs if need]
        for need in filter(None, needs):
            extras.setdefault(need[0].lower().replace("_", "-").replace(".", "-"), set()).update(need[1])
print(json.dumps(found))
"""


def canonical(name: str) -> str:
    """Return a package's name in the one spelling by which names are compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def not_needed(
    installed: Mapping[str, Iterable[str]],
    kept: Iterable[str] = KEPT,
    unused: Iterable[tuple[str, str]] = UNUSED,
) -> list[str]:
    """Return the installed packages that nothing which is kept needs, sorted.

    `installed` is each package's name with the names of what it requires.
    """
    left_out = {(canonical(package), canonical(requirement)) for package, requirement in unused}
    needs = {canonical(name): {canonical(other) for other in others} for name, others in installed.items()}
    reached: set[str] = set()
    waiting = [canonical(name) for name in kept]
    while waiting:
        name = waiting.pop()
        if name in reached or name not in needs:
            continue
        reached.add(name)
        waiting += [other for other in needs[name] if (name, other) not in left_out]
    return sorted(set(needs) - reached)


def slim(venv: Path) -> list[str]:
    """Uninstall what is not needed from a virtual environment, pip last of all, and return its names."""
    python = venv / "bin" / "python"
    listed = subprocess.run([python, "-c", _LIST], check=True, capture_output=True, text=True).stdout
    names = not_needed(json.loads(listed))
    if names:
        subprocess.run([python, "-m", "pip", "uninstall", "--quiet", "--yes", *names], check=True)
    for site in venv.glob("lib/python3*/site-packages"):
        for part in UNUSED_PARTS:
            shutil.rmtree(site / part, ignore_errors=True)
        for service in site.glob("botocore/data/*/"):
            if service.name not in AWS_SERVICES:
                shutil.rmtree(service)
    return names


if __name__ == "__main__":
    sys.stdout.write("removed: " + " ".join(slim(Path(sys.argv[1]))) + "\n")
