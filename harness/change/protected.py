"""Which paths are changed by people only, and a name for one exact change of them. Pure."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence

from harness.change import patterns
from harness.change.model import GITLINK, SYMLINK, FileChange

CI_DEFINITIONS = (
    # GitHub, GitLab, Forgejo, Gitea, Bitbucket, Azure, sourcehut, OneDev: the forges' own, and their bots'.
    ".github/workflows/**",
    ".github/actions/**",
    ".github/dependabot.y*ml",
    ".github/settings.y*ml",
    ".github/renovate.json*",
    "renovate.json*",
    ".renovaterc*",
    ".gitlab-ci.y*ml",
    ".gitlab/**",
    ".forgejo/**",
    ".gitea/**",
    "bitbucket-pipelines.y*ml",
    "azure-pipelines*.y*ml",
    ".azure-pipelines/**",
    ".azuredevops/**",
    ".build.y*ml",
    ".builds/**",
    ".onedev-buildspec.yml",
    # Services that run what a branch tells them.
    ".circleci/**",
    ".buildkite/**",
    ".woodpecker/**",
    ".woodpecker.y*ml",
    ".drone.y*ml",
    ".drone.star",
    ".drone.jsonnet",
    ".travis.y*ml",
    ".appveyor.y*ml",
    "appveyor.y*ml",
    ".cirrus.y*ml",
    ".cirrus.star",
    ".semaphore/**",
    ".teamcity/**",
    ".tekton/**",
    ".harness/**",
    ".codefresh/**",
    "codefresh.y*ml",
    "codemagic.y*ml",
    "bitrise.y*ml",
    "wercker.y*ml",
    "cloudbuild*.y*ml",
    "cloudbuild*.json",
    "buildspec*.y*ml",
    ".jenkins/**",
    "Jenkinsfile*",
    "*.jenkinsfile",
    ".zuul.y*ml",
    "zuul.y*ml",
    ".zuul.d/**",
    "zuul.d/**",
    ".prow.y*ml",
    ".ci-operator.y*ml",
    ".packit.y*ml",
    ".mergify.y*ml",
    ".mergify/**",
    "bors.toml",
    ".kodiak.toml",
)
"""What runs with credentials when a branch is pushed or a pull request opened, or decides about merging."""

REVIEW_AND_OURSELVES = ("CODEOWNERS", ".fixwright.y*ml")
"""Who must review, and what we ourselves are told; a CODEOWNERS counts wherever it lies."""

AGENT_INSTRUCTIONS = (
    "AGENTS.md",
    "AGENTS.override.md",
    "AGENT.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "GEMINI.md",
    "QWEN.md",
    "CRUSH.md",
    "WARP.md",
    ".cursorrules",
    ".cursor/**",
    ".claude/**",
    ".clinerules",
    ".windsurfrules",
    ".windsurf/**",
    ".roorules*",
    ".roomodes",
    ".roo/**",
    ".kilocode/**",
    ".kiro/**",
    ".trae/**",
    ".continue/**",
    ".codex/**",
    ".gemini/**",
    ".qwen/**",
    ".amazonq/**",
    ".augment/**",
    ".augment-guidelines",
    ".junie/**",
    ".opencode/**",
    "opencode.json*",
    ".openhands/**",
    ".openhands_instructions",
    ".goosehints",
    ".aider*",
    ".agent/**",
    ".agents/**",
    ".rules",
    ".mcp.json",
    ".github/copilot-instructions.md",
    ".github/instructions/**",
    ".github/prompts/**",
    ".github/chatmodes/**",
    ".github/agents/**",
    ".github/skills/**",
)
"""What other people's agents and editors take as orders."""

RUN_ON_OTHER_MACHINES = (
    # What an editor, a shell or a container starts by itself when the directory is opened.
    ".devcontainer/**",
    ".devcontainer.json",
    ".vscode/**",
    ".idea/**",
    ".envrc",
    ".mise.toml",
    "mise.toml",
    ".gitpod.y*ml",
    # What makes git itself run or fetch something on a maintainer's machine.
    ".gitattributes",
    ".gitmodules",
    ".lfsconfig",
    ".gitconfig",
    ".husky/**",
    ".githooks/**",
    ".git-hooks/**",
    ".pre-commit-config.y*ml",
    ".pre-commit-hooks.y*ml",
    ".overcommit.y*ml",
    "lefthook.y*ml",
    "lefthook-local.y*ml",
    ".lefthook.y*ml",
    ".lefthook/**",
    # What sends a package client to another registry, or lets it run a program of the repository's.
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".yarn/releases/**",
    ".yarn/plugins/**",
    ".pnpmfile.cjs",
    "bunfig.toml",
    ".pypirc",
    ".cargo/config",
    ".cargo/config.toml",
    ".bundle/config",
    ".mvn/**",
    "gradle/wrapper/**",
)

DEFAULT_PROTECTED = (*CI_DEFINITIONS, *REVIEW_AND_OURSELVES, *AGENT_INSTRUCTIONS, *RUN_ON_OTHER_MACHINES)
"""Paths that no change of ours touches unless a maintainer allows it; a repository only adds to them."""

LOCKFILES = (
    "package-lock.json",
    "npm-shrinkwrap.json",
    "yarn.lock",
    "pnpm-lock.yaml",
    "bun.lock",
    "bun.lockb",
    "deno.lock",
    "poetry.lock",
    "uv.lock",
    "pdm.lock",
    "pylock*.toml",
    "Pipfile.lock",
    "conda-lock.y*ml",
    "Cargo.lock",
    "go.sum",
    "Gemfile.lock",
    "composer.lock",
    "mix.lock",
    "pubspec.lock",
    "Podfile.lock",
    "Package.resolved",
    "packages.lock.json",
    "gradle.lockfile",
    "flake.lock",
    ".terraform.lock.hcl",
)
"""Which versions of other people's code are installed; protected where the repository asks."""


def covering(change: FileChange, guarded: Sequence[str]) -> str:
    """Return the pattern that protects what a change touches, or ""."""
    pattern = patterns.protecting(change.path, guarded)
    if not pattern and {change.old_mode, change.new_mode} & {SYMLINK, GITLINK}:
        pattern = patterns.reaching_below(change.path, guarded)
    return pattern


def protected_part(changes: Iterable[FileChange], guarded: Sequence[str]) -> tuple[FileChange, ...]:
    """Return those of the changes that touch a protected path."""
    return tuple(change for change in changes if covering(change, guarded))


def is_protected_link(path: str, guarded: Sequence[str]) -> bool:
    """Tell whether a symlink at a path stands for something protected, or for a directory of it."""
    return bool(patterns.protecting(path, guarded) or patterns.reaching_below(path, guarded))


def behind_links(links: Iterable[tuple[str, str]], guarded: Sequence[str]) -> Iterator[str]:
    """Yield patterns for what protected symlinks of the base lead to: (path, target) of each symlink.

    Where CLAUDE.md is a link to docs/agents.md, the latter is what other agents obey.
    """
    for path, target in links:
        if target.startswith("/") or not is_protected_link(path, guarded):
            continue
        steps: list[str] = path.split("/")[:-1]
        for step in target.split("/"):
            if step == ".." and steps:
                steps.pop()
            elif step not in {"", ".", ".."}:
                steps.append(step)
        if steps:
            yield "/" + "/".join(map(patterns.literal, steps))


def exact_name(changes: Iterable[FileChange]) -> str:
    """Return a name for exactly these changes: 40 hexadecimal digits of paths, modes and contents.

    Of SHA-256, so that nobody can prepare two changes that share one name.
    """
    digest = hashlib.sha256(b"fixwright protected change 1\n")
    for change in sorted(changes, key=lambda each: os.fsencode(each.path)):
        fields = (change.path, change.old_mode, change.new_mode, change.old_sha, change.new_sha)
        digest.update(b"\0".join(map(os.fsencode, fields)) + b"\n")
    return digest.hexdigest()[:40]
