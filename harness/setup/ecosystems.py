"""The package clients that a set-up may use: how to tell that one is meant, and what it needs to be told."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from harness.sandbox.places import SETUP

VENV = f"{SETUP}/venv"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ecosystem:
    """One family of package clients.

    markers  files at the root of a repository that belong to it
    words    programs of it, as commands name them
    path     directories that go on PATH, in every phase
    always   variables for every phase; `during` for the set-up alone, `after` for everything later
    """

    name: str
    markers: frozenset[str]
    words: frozenset[str]
    path: tuple[str, ...] = ()
    always: Mapping[str, str] = field(default_factory=dict)
    during: Mapping[str, str] = field(default_factory=dict)
    after: Mapping[str, str] = field(default_factory=dict)


ECOSYSTEMS = (
    Ecosystem(
        name="python",
        markers=frozenset(
            {"pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "tox.ini"}
        ),
        words=frozenset(
            {"pip", "pip3", "python", "python3", "uv", "poetry", "pdm", "hatch", "pipenv", "pytest"}
        ),
        path=(f"{VENV}/bin",),
        always={"VIRTUAL_ENV": VENV, "UV_PROJECT_ENVIRONMENT": VENV},
        during={
            "PIP_NO_CACHE_DIR": "1",
            "PIP_RETRIES": "2",
            "UV_CACHE_DIR": "/tmp/uv",
            "UV_LINK_MODE": "copy",
        },
        after={"PIP_NO_INDEX": "1", "UV_OFFLINE": "1"},
    ),
    Ecosystem(
        name="node",
        markers=frozenset({"package.json"}),
        words=frozenset({"npm", "npx", "pnpm", "yarn", "node", "corepack"}),
        path=(f"{SETUP}/npm/bin",),
        always={"npm_config_prefix": f"{SETUP}/npm", "COREPACK_HOME": f"{SETUP}/corepack"},
        during={
            "npm_config_cache": "/tmp/npm",
            "npm_config_store_dir": "/tmp/pnpm",
            "YARN_CACHE_FOLDER": "/tmp/yarn",
        },
        after={"npm_config_offline": "true", "COREPACK_ENABLE_NETWORK": "0"},
    ),
    Ecosystem(
        name="go",
        markers=frozenset({"go.mod", "go.work"}),
        words=frozenset({"go"}),
        path=(f"{SETUP}/go/bin",),
        always={"GOPATH": f"{SETUP}/go", "GOCACHE": "/tmp/go-build", "GOTOOLCHAIN": "local"},
        during={"GOFLAGS": "-modcacherw"},
        after={"GOPROXY": "off", "GONOSUMDB": "*"},
    ),
    Ecosystem(
        name="rust",
        markers=frozenset({"Cargo.toml"}),
        words=frozenset({"cargo", "rustc"}),
        path=(f"{SETUP}/cargo/bin",),
        always={"CARGO_HOME": f"{SETUP}/cargo"},
        during={"CARGO_TARGET_DIR": "/tmp/target"},
        after={"CARGO_NET_OFFLINE": "true"},
    ),
    Ecosystem(
        name="ruby",
        markers=frozenset({"Gemfile"}),
        words=frozenset({"bundle", "bundler", "gem", "ruby", "rake", "rspec"}),
        path=(f"{SETUP}/gems/bin",),
        always={
            "BUNDLE_PATH": f"{SETUP}/bundle",
            "BUNDLE_APP_CONFIG": f"{SETUP}/bundle-config",
            "GEM_HOME": f"{SETUP}/gems",
        },
        after={"BUNDLE_FROZEN": "true"},
    ),
    Ecosystem(
        name="java",
        markers=frozenset({"pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle"}),
        words=frozenset({"mvn", "mvnw", "gradle", "gradlew", "java", "javac"}),
        always={"MAVEN_OPTS": f"-Dmaven.repo.local={SETUP}/m2"},
        during={"GRADLE_USER_HOME": f"{SETUP}/gradle"},
        after={"GRADLE_RO_DEP_CACHE": f"{SETUP}/gradle/caches", "GRADLE_USER_HOME": "/tmp/gradle"},
    ),
)
"""What lies in /setup is read-only later; what a client wants to write anew in every run goes to /tmp."""

_MANIFESTS = re.compile(
    r"(?:[^/]*requirements[^/]*\.(?:txt|in)|constraints[^/]*\.txt|pyproject\.toml|setup\.(?:py|cfg)|Pipfile(?:\.lock)?"
    r"|(?:poetry|uv|pdm|pixi)\.lock|tox\.ini|noxfile\.py|environment\.ya?ml"
    r"|package\.json|package-lock\.json|npm-shrinkwrap\.json|pnpm-(?:lock|workspace)\.yaml|yarn\.lock"
    r"|\.npmrc|\.yarnrc(?:\.yml)?|bun\.lockb?|\.python-version|\.nvmrc|\.node-version|\.tool-versions"
    r"|go\.(?:mod|sum|work|work\.sum)|Cargo\.(?:toml|lock)|rust-toolchain(?:\.toml)?"
    r"|Gemfile(?:\.lock)?|[^/]*\.gemspec|\.ruby-version"
    r"|pom\.xml|(?:build|settings)\.gradle(?:\.kts)?|gradle\.(?:lockfile|properties)|gradle-wrapper\.properties"
    r"|[^/]*\.versions\.toml)"
)
_REQUIREMENTS_DIRECTORY = re.compile(r"(?:.*/)?requirements/[^/]+\.(?:txt|in)")


def is_manifest(path: str) -> bool:
    """Tell whether a file says what a repository depends on, or pins it."""
    name = path.rpartition("/")[2]
    return bool(_MANIFESTS.fullmatch(name)) or bool(_REQUIREMENTS_DIRECTORY.fullmatch(path))


def words_in(commands: Iterable[str]) -> frozenset[str]:
    """Return the words of shell commands, paths by their last part too."""
    words = {word for command in commands for word in re.findall(r"[\w./-]+", command)}
    return frozenset(words | {word.rpartition("/")[2] for word in words})


def concerned(files: Iterable[str], commands: Iterable[str]) -> tuple[Ecosystem, ...]:
    """Return the ecosystems that a repository's root files or a set-up's commands speak of."""
    root = {path for path in files if "/" not in path}
    words = words_in(commands)
    return tuple(each for each in ECOSYSTEMS if each.markers & root or each.words & words)


def python_prologue() -> str:
    """Return shell lines that make the environment into which Python packages are installed.

    Without pip in the standard library (Debian keeps it in a package of its own), the pip beside it serves.
    What the operator's own environment holds, such as pytest, stays importable.
    """
    where = 'import sysconfig; print(sysconfig.get_path("purelib"))'
    return f"""\
command -v python3 >/dev/null || exit 0
shown=$(python3 -c 'import sys, sysconfig
if sys.prefix != sys.base_prefix: print(sysconfig.get_path("purelib"))')
if ! python3 -m venv {VENV} >/tmp/venv.log 2>&1; then
  rm -rf {VENV}
  python3 -m venv --without-pip {VENV} || exit
  if python3 -m pip --version >/dev/null 2>&1; then
    pip="$(command -v python3) -m pip"
  else
    pip=$(PATH=${{PATH#*:}} command -v pip || PATH=${{PATH#*:}} command -v pip3) || exit 0
  fi
  for name in pip pip3; do
    printf '#!/bin/sh\\nexec %s --python {VENV}/bin/python "$@"\\n' "$pip" >{VENV}/bin/$name
    chmod +x {VENV}/bin/$name
  done
fi
[ -n "$shown" ] || exit 0
echo "$shown" >"$({VENV}/bin/python -c '{where}')/operator.pth"
"""
