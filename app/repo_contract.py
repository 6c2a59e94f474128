"""`fixwright schema` and `fixwright config check`: a repository's `.fixwright.yml` for editors and CI."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from domain.errors import ConfigurationError
from domain.repo_config import FILE_NAME, LARGEST_FILE, Problem, RepoConfig, check_repo_config

DIALECT = "https://json-schema.org/draft/2020-12/schema"

FOLLOWED, WRONG = 0, 1
"""Exit statuses of `config check`; a file that cannot be read is 2, like every wrong use."""


def schema() -> dict[str, object]:
    """Return the JSON Schema of `.fixwright.yml`: what its keys are, not all that its values must be."""
    body = RepoConfig.model_json_schema()
    body["title"] = FILE_NAME
    return {"$schema": DIALECT, **body}


def schema_text() -> str:
    """Return the schema as JSON for people and editors."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def check_file(file: Path, *, as_json: bool) -> tuple[str, int]:
    """Return what is wrong with a file, as text, and the exit status. Raises ConfigurationError."""
    checked = check_repo_config(_bytes_of(file))
    problems = () if isinstance(checked, RepoConfig) else checked
    status = WRONG if problems else FOLLOWED
    if as_json:
        found = {"file": str(file), "ok": not problems, "problems": [asdict(each) for each in problems]}
        return json.dumps(found, ensure_ascii=False) + "\n", status
    lines = [_line(file, problem) for problem in problems] or [f"{file}: can be followed as it is"]
    return "\n".join(lines) + "\n", status


def _line(file: Path, problem: Problem) -> str:
    place = f"{file}:{problem.line}:{problem.column}" if problem.line else str(file)
    return f"{place}: {problem.message}"


def _bytes_of(file: Path) -> bytes:
    """Return as much of a file as shows whether it is too long; `-` is standard input."""
    try:
        if str(file) == "-":
            return sys.stdin.buffer.read(LARGEST_FILE + 1)
        with file.open("rb") as stream:
            return stream.read(LARGEST_FILE + 1)
    except OSError as error:
        raise ConfigurationError(f"{file}: cannot be read: {error.strerror}") from None
