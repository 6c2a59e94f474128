"""Says what is wrong in `.fixwright.yml` so that its writer can mend it: nearest keys, missing quotes."""

from __future__ import annotations

import difflib
import typing
import unicodedata
from collections.abc import Iterable, Iterator

import yaml
from pydantic import BaseModel, ValidationError

from domain.repo_yaml import Path, Problem, find, problem_at, taken_for

NOT_YET: dict[str, str] = {}
"""Keys that are meant to come. Whoever makes one work takes it out here and puts it into `RepoConfig`."""

ELSEWHERE: dict[str, str] = {
    "max_cost_usd": "max_cost_per_task_usd",
    "budget": "max_cost_per_task_usd",
    "max_steps": "max_iterations",
    "test_command": "test.command",
    "tests": "test",
    "setup_commands": "setup.commands",
    "flaky": "test.flaky",
    "reviewers": "pull_request.reviewers",
    "template": "pull_request.template",
    "commit_style": "commit.style",
    "sign_off": "commit.sign_off",
    "dco": "commit.sign_off",
    "directory": "working_directory",
    "cwd": "working_directory",
    "target_branch": "base_branch",
    "protected": "protected_paths",
    "approve": "approval",
    "gates": "approval",
}
"""Names under which people look for a key first, and where it is."""


def problems_of(error: ValidationError, node: yaml.Node, model: type[BaseModel]) -> Iterator[Problem]:
    """Yield what pydantic found as problems at their places in the file."""
    for found in error.errors(include_url=False, include_input=False):
        yield _problem(tuple(found["loc"]), (found["type"], found["msg"]), node, model)


def _problem(path: Path, what: tuple[str, str], node: yaml.Node, model: type[BaseModel]) -> Problem:
    kind, said = what
    keys = tuple(step for step in path if step != "[key]")
    place, value = find(node, path)
    name = ".".join(str(step) for step in keys)
    if kind == "extra_forbidden":
        key = str(keys[-1])
        nearest = nearest_key(key, known_keys(model, keys[:-1]), is_top=len(keys) == 1)
        return problem_at(place.start_mark, f"{name}: {_unknown(key, nearest, len(keys) == 1)}", nearest)
    message = said.removeprefix("Value error, ")
    if kind == "model_type":
        is_empty = taken_for(value) == "nothing"
        message = message.partition(" or instance of")[0] + (
            "; it is empty: leave it out" if is_empty else ""
        )
    return problem_at(place.start_mark, f"{name}: {message}{_quoting_hint(kind, value)}")


def _unknown(key: str, nearest: str, is_top: bool) -> str:
    if is_top and key in NOT_YET:
        return f"not a key that is known here: {NOT_YET[key]}; leave it out"
    odd = _odd_character(key)
    hint = f"; did you mean `{nearest}`?" if nearest else ""
    return f"not a key that is known here{odd}{hint}"


def nearest_key(key: str, known: Iterable[str], *, is_top: bool) -> str:
    """Return the key that was probably meant, with its section where it belongs into one, or ""."""
    plain = unicodedata.normalize("NFKC", key).casefold().replace("-", "_").replace(" ", "_").strip("_")
    names = sorted(known)
    if is_top and plain in ELSEWHERE:
        return ELSEWHERE[plain]
    near = difflib.get_close_matches(plain, names, n=1, cutoff=0.6)
    if near:
        return near[0]
    return next((name for name in names if plain and name.replace("_", "") == plain.replace("_", "")), "")


def _odd_character(key: str) -> str:
    """Name the first character of a key that only looks like one of ours, or cannot be seen."""
    odd = next((character for character in key if not character.isascii()), "")
    if not odd:
        return ""
    return f" (its character U+{ord(odd):04X} is {unicodedata.name(odd, 'without a name').lower()})"


def _quoting_hint(kind: str, value: yaml.Node) -> str:
    """Add that quotes are missing where text was wanted and YAML saw something else."""
    read_as = taken_for(value)
    if kind != "string_type" or not isinstance(value, yaml.ScalarNode) or not read_as:
        return ""
    return f"; YAML takes `{value.value[:40]}` for {read_as}, so put it in quotes"


def known_keys(model: type[BaseModel], path: Path) -> tuple[str, ...]:
    """Return the keys that the section at a path may have; none where it may have any."""
    section: type[BaseModel] | None = model
    is_entry = False  # of a mapping whose keys are the repository's own
    for step in path:
        if is_entry or section is None:
            is_entry = False
            continue
        field = section.model_fields.get(str(step))
        section, is_entry = _section_in(field.annotation if field else None)
    return tuple(section.model_fields) if section is not None and not is_entry else ()


def _section_in(annotation: object) -> tuple[type[BaseModel] | None, bool]:
    """Return the section that a field holds, and whether it holds a mapping of such sections."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False
    for inner in typing.get_args(annotation):
        found, _ = _section_in(inner)
        if found is not None:
            return found, typing.get_origin(annotation) is dict
    return None, False
