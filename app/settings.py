"""The environment into the service's settings: the only reader of it. Checked, and closed on failure."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from app.github_settings import web_side_of_stored, worker_side_of_stored
from app.setting_groups import (
    PREFIX,
    SECRET_FIELDS,
    CommonSettings,
    WebSettings,
    WorkerSettings,
    variable,
)
from domain.errors import ConfigurationError

__all__ = [
    "GROUPS",
    "PROVIDER_KEYS",
    "CommonSettings",
    "WebSettings",
    "WorkerSettings",
    "client_environment",
    "data_directory_alone",
    "github_settings_given",
    "inherited_environment",
    "load_common_settings",
    "load_web_settings",
    "load_worker_settings",
    "network_variables",
    "own_environment",
    "personal_token",
    "provider_keys",
    "secret_values",
    "variable",
]

_NOT_ECHOED = SECRET_FIELDS | {"api_base"}
"""A wrong address may hold a password."""

PROVIDER_KEYS = (
    *("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "MISTRAL_API_KEY"),
    *("DEEPSEEK_API_KEY", "GROQ_API_KEY", "XAI_API_KEY", "COHERE_API_KEY", "TOGETHERAI_API_KEY"),
    *("FIREWORKS_AI_API_KEY", "PERPLEXITYAI_API_KEY", "CEREBRAS_API_KEY", "DEEPINFRA_API_KEY"),
    *("NVIDIA_NIM_API_KEY", "HUGGINGFACE_API_KEY", "MOONSHOT_API_KEY", "ZAI_API_KEY"),
    *("DASHSCOPE_API_KEY", "SAMBANOVA_API_KEY"),
    *("AZURE_API_KEY", "AZURE_API_BASE", "AZURE_API_VERSION", "AZURE_AI_API_KEY", "AZURE_AI_API_BASE"),
    *("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION_NAME"),
    *("AWS_BEARER_TOKEN_BEDROCK", "VERTEXAI_PROJECT", "VERTEXAI_LOCATION", "GOOGLE_APPLICATION_CREDENTIALS"),
    *("OLLAMA_API_BASE", "OLLAMA_API_KEY", "HOSTED_VLLM_API_BASE", "HOSTED_VLLM_API_KEY"),
)
"""What LiteLLM reads for its providers, under the names by which people already have them.

Source: https://docs.litellm.ai/docs/providers
"""


GROUPS: tuple[type[CommonSettings], ...] = (WebSettings, WorkerSettings)

Group = TypeVar("Group", bound=CommonSettings)


def load_web_settings() -> WebSettings:
    """Return the web process' settings. Where they await an App, there is no webhook secret among them.

    Raises:
        ConfigurationError: one line per problem.
    """
    settings = _load(WebSettings)
    found = web_side_of_stored(settings.data_dir, settings.model_fields_set)
    settings = settings.model_copy(update=found)
    if not settings.webhook_secret and not settings.awaits_app:
        raise ConfigurationError(_problem(WebSettings, ("webhook_secret",), {"msg": "", "type": "missing"}))
    return settings


def load_common_settings() -> CommonSettings:
    """Return what both processes share, for a command that is neither.

    Raises:
        ConfigurationError: one line per problem.
    """
    return _load(CommonSettings)


def data_directory_alone() -> Path:
    """Return the data directory where other settings are wrong."""
    return Path(os.environ.get(variable("data_dir"), "").strip() or "data").expanduser().absolute()


def github_settings_given(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return those variables that are set and come before what the data directory says of an App.

    Of secrets only whether they are set: their values are "set".
    """
    source = os.environ if environ is None else environ
    names = ("github_app_id", "github_private_key", "github_private_key_file", "webhook_secret")
    found = {variable(name): "set" for name in names if source.get(variable(name), "").strip()}
    address = source.get(variable("github_api_url"), "").strip()
    return found | ({variable("github_api_url"): address} if address else {})


def load_worker_settings() -> WorkerSettings:
    """Return the worker process' settings.

    Raises:
        ConfigurationError: one line per problem.
    """
    settings = _load(WorkerSettings)
    return settings.model_copy(update=worker_side_of_stored(settings, settings.data_dir))


def provider_keys(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the model providers' own variables that are set, for the agent's process and nothing else."""
    source = os.environ if environ is None else environ
    return {name: source[name] for name in PROVIDER_KEYS if source.get(name)}


_SECRET_WORDS = ("KEY", "TOKEN", "SECRET")

_NETWORK_VARIABLES = (
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "ALL_PROXY"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"),
)


def personal_token(environ: Mapping[str, str] | None = None) -> str:
    """Return somebody's own GitHub token, under the names by which people have it, for reading one issue."""
    source = os.environ if environ is None else environ
    return next((source[name] for name in ("GITHUB_TOKEN", "GH_TOKEN") if source.get(name)), "")


def secret_values(variables: Mapping[str, str]) -> list[str]:
    """Return those that are secret, by their names: a region or an address in clear text is none."""
    return [value for name, value in variables.items() if any(word in name for word in _SECRET_WORDS)]


def network_variables() -> dict[str, str]:
    """Return the variables by which an operator routes outgoing calls, for the agent's process."""
    return {name: os.environ[name] for name in _NETWORK_VARIABLES if os.environ.get(name)}


_CLIENT_VARIABLES = re.compile(
    r"(?:PATH|HOME|LANG|XDG_CONFIG_(?:HOME|DIRS)|JAVA_HOME|GO(?:PROXY|SUMDB|ENV|ROOT)|RUSTUP_HOME)"
    r"|(?:PIP|UV|CARGO|BUNDLE|NPM_CONFIG|YARN|NODE)_\w+",
    re.IGNORECASE,
)


def client_environment() -> dict[str, str]:
    """Return the variables by which package clients are configured, for asking them where they would go."""
    chosen = {name: value for name, value in os.environ.items() if _CLIENT_VARIABLES.fullmatch(name)}
    return chosen | network_variables()


def inherited_environment() -> dict[str, str]:
    """Return this process' environment, for the demo, which starts the service as a platform would."""
    return dict(os.environ)


_OF_THE_SYSTEM = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "COLUMNS", "LINES"),
        *(
            "NO_COLOR",
            "FORCE_COLOR",
            "TMPDIR",
            "HOSTNAME",
            "VIRTUAL_ENV",
            "LD_LIBRARY_PATH",
            "GLIBC_TUNABLES",
        ),
    }
)
_OF_TOOLS = ("XDG_RUNTIME_DIR", "DOCKER_HOST", "CONTAINER_HOST", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO")
"""What container engines and package clients go by, which the worker starts."""

_OF_THE_SYSTEM_TOO = ("LC_", "PYTHON", "MALLOC_")


def own_environment(group: type[CommonSettings], environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return what a process of this group needs of the environment, and nothing else of it.

    A name of ours that no group knows stays, so that it is complained of.
    """
    source = os.environ if environ is None else environ
    foreign = {variable(name) for each in GROUPS for name in each.model_fields}
    foreign -= {variable(name) for name in group.model_fields}
    wanted = set(_OF_THE_SYSTEM)
    if issubclass(group, WorkerSettings):
        wanted |= {*PROVIDER_KEYS, *_NETWORK_VARIABLES, *_OF_TOOLS}
        wanted |= {name for name in source if _CLIENT_VARIABLES.fullmatch(name.upper())}
    return {
        name: value
        for name, value in source.items()
        if name in wanted
        or name.startswith(_OF_THE_SYSTEM_TOO)
        or (name.upper().startswith(PREFIX) and name.upper() not in foreign)
    }


def _load(group: type[Group]) -> Group:
    problems = _unknown_names(os.environ)
    try:
        settings = group()
    except ValidationError as error:
        problems += [_problem(group, entry["loc"], entry) for entry in error.errors()]
    if problems:
        raise ConfigurationError("\n".join(problems))
    return settings.model_copy(update={"data_dir": settings.data_dir.absolute()})


def _unknown_names(environ: Mapping[str, str]) -> list[str]:
    known = {variable(name): field for group in GROUPS for name, field in group.model_fields.items()}
    problems = []
    for name in sorted(environ):
        if name.upper().startswith(PREFIX) and name not in known:
            problems.append(f"{name}: there is no such setting; {_way_out(name, known)}")
    return problems


def _way_out(name: str, known: Mapping[str, FieldInfo]) -> str:
    bare = {each.removeprefix(PREFIX): each for each in known}
    near = difflib.get_close_matches(name.upper().removeprefix(PREFIX), bare, n=1, cutoff=0.7)
    if not near:
        return "remove it; docs/reference/settings.md has them all"
    meant = bare[near[0]]
    return f"did you mean {meant}={(known[meant].examples or [''])[0]}"


def _problem(group: type[CommonSettings], path: tuple[int | str, ...], entry: Mapping[str, object]) -> str:
    """Say in one line which setting is wrong, how, and what would be right."""
    message = str(entry["msg"]).removeprefix("Value error, ")
    if not path:
        return message
    name = str(path[0])
    example = (group.model_fields[name].examples or [""])[0]
    if entry["type"] == "missing":
        message = "is not set"
    elif entry["type"] != "value_error" and name not in _NOT_ECHOED:
        message = f"{message[0].lower()}{message[1:]}, but it is {_clipped(entry['input'])}"
    lines = message.splitlines() or [message]
    return "\n".join(f"{variable(name)}: {line}; for example {variable(name)}={example}" for line in lines)


def _clipped(value: object) -> str:
    shown = ascii(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."
