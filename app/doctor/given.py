"""Looks at the settings: whether they can be read, fit together, and which of them are in force."""

from __future__ import annotations

from dataclasses import dataclass, field

from app.doctor.lines import Lines, fail, ok, warn
from app.github_app.stored import DIRECTORY, stored_app
from app.settings import (
    WebSettings,
    WorkerSettings,
    data_directory_alone,
    github_settings_given,
    load_web_settings,
    load_worker_settings,
)
from domain.errors import ConfigurationError
from domain.ports import Examination

NO_APP = "run: fixwright app create; or open /setup of the web process with the code in its log"


@dataclass(slots=True)
class Given:
    """The settings of both processes, None where they cannot be read, and what was found about them."""

    web: WebSettings | None = None
    worker: WorkerSettings | None = None
    lines: list[Examination] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list)


def look_at_settings() -> Given:
    """Read the settings as both processes do. Raises nothing on purpose."""
    given = Given()
    problems: list[str] = []
    try:
        given.web = load_web_settings()
        given.secrets += given.web.secrets()
    except ConfigurationError as error:
        problems += str(error).splitlines()
    try:
        given.worker = load_worker_settings()
        given.secrets += given.worker.secrets()
    except ConfigurationError as error:
        given.worker = None
        problems += str(error).splitlines()
    given.lines += [
        fail("settings", line, "the message names the setting") for line in dict.fromkeys(problems)
    ]
    given.lines += [*_fitting(given), *_sources(given)]
    if not problems:
        given.lines.insert(0, ok("settings", "both processes can read theirs"))
    return given


def _fitting(given: Given) -> Lines:
    either = given.worker or given.web
    if either is None:
        return
    if not either.repositories:
        fix = "FIXWRIGHT_REPOSITORIES=github:owner/name; run this with the environment of the service"
        yield warn("repositories", "nobody is served", fix)
    elif (given.web and given.web.awaits_app) or (given.worker and given.worker.awaits_app):
        yield fail("GitHub App", "none is configured; the service waits for one", NO_APP)
    if not either.public_url:
        words = "FIXWRIGHT_PUBLIC_URL is not set: no links to the console, and the webhook is not compared"
        yield warn("public address", words, "FIXWRIGHT_PUBLIC_URL=https://fixwright.example.org")


def _sources(given: Given) -> Lines:
    """Tell where the App's settings come from, where there is a choice."""
    either = given.worker or given.web
    data = either.data_dir if either else data_directory_alone()
    try:
        app = stored_app(data)
    except ConfigurationError as error:
        if not any(str(error) in line.words for line in given.lines):
            yield warn("GitHub App", str(error), "it is not used now, since the environment comes first")
        return
    if app is None:
        return
    shadowing = sorted(set(github_settings_given()) - {"FIXWRIGHT_GITHUB_API_URL"})
    if shadowing:
        words = f"{', '.join(shadowing)} of the environment come before the App in {data / DIRECTORY}"
        yield warn("GitHub App", words, "remove them if the stored App is meant, else remove the directory")
    else:
        yield ok("GitHub App", f"{app.slug} ({app.id}), from {data / DIRECTORY}")
