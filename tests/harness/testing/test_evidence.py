"""Which command lines can say anything about tests."""

import pytest

from harness.testing.evidence import why_not_evidence

HIDING = {
    "pytest -q 2>&1 | tail -20": "pipefail",
    "pytest | tee log": "pipefail",
    "timeout 60 pytest | cat": "pipefail",
    "npm test || true": "|| true",
    "pytest||true": "|| true",
    "pytest || :": "|| :",
    "pytest || pytest --lf": "hides",
    "pytest; echo done": "echo done",
    "pytest; exit 0": "exit 0",
    "set +e; pytest; true": "replaces",
    "pytest\ntrue": "replaces",
    "! pytest": "`!`",
    "(pytest) &": "background",
    "pytest & wait": "background",
    "bash -c 'pytest || true'": "|| true",
    "exit 0; pytest": "before the tests",
    "true || pytest": "before the tests",
    "for t in a b; do pytest $t; done": "loop",
    "if pytest; then echo; fi": "loop",
    "echo $(pytest)": "substitution",
    "echo `pytest`": "substitution",
    "pytest 'unclosed": "cannot be read",
}
TRIVIAL = [
    "",
    "true",
    "echo ok",
    "python -c pass",
    "ls",
    "exit 0",
    "pytest --version",
    "pytest --collect-only",
    "npm run lint",
    "ruff check .",
    "git diff --check",
    "go vet ./...",
    "cargo check",
    "python -m compileall .",
    "echo pytest",
]
PLAIN = [
    "pytest",
    "pytest && npm test",
    "ruff check . && pytest",
    "set -o pipefail; pytest | tee x",
    "set -eo pipefail; pytest | tee log; echo ok",
    "pytest || exit 1",
    "pytest; exit $?",
    "cd packages/api && npm test",
    "source .venv/bin/activate && pytest",
    "FOO=1 make test",
    "pytest -k 'a || true'",
    "pytest # || true",
    "pytest > log 2>&1",
    "npm ci && npm test",
    "uv run pytest -x",
    "coverage run -m pytest",
    "go test ./...",
    "./run-tests.sh",
]


@pytest.mark.parametrize(("command", "named"), HIDING.items())
def test_a_command_that_hides_its_status_is_no_evidence(command: str, named: str) -> None:
    assert named in why_not_evidence(command)


@pytest.mark.parametrize("command", TRIVIAL)
def test_a_command_that_runs_no_tests_is_no_evidence(command: str) -> None:
    assert why_not_evidence(command)


@pytest.mark.parametrize("command", PLAIN)
def test_a_plain_command_is_taken(command: str) -> None:
    assert why_not_evidence(command) == ""
