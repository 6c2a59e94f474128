"""Unusual command lines of every ecosystem: which of them can say anything about tests."""

import pytest

from harness.testing.evidence import why_not_evidence

HIDING = {
    "mocha || :": "|| :",
    "ctest || exit 0": "|| exit 0",
    "set +e; jest; set -e; echo fine": "replaces",
    "set -e; jest || echo failed": "|| echo failed",
    "trap 'exit 0' EXIT; pytest": "trap",
    "run() { pytest; true; }; run": "function",
    "function run { pytest; }; run": "function",
    "eval 'pytest || true'": "eval",
    "coproc pytest": "coprocess",
    "{ pytest; } || { echo failed; }": "hides",
    "(pytest; true)": "replaces",
    "(set +e; pytest); true": "replaces",
    "! ! ! pytest": "`!`",
    "pytest <<X\nX": "here-document",
    "pytest <(cat a)": "substitution",
    '[ -n "$CI" ] || pytest': "before the tests",
    "git diff --quiet || pytest": "before the tests",
    "command -v jest && jest || true": "|| true",
    "env bash -c 'mocha; exit 0'": "exit 0",
    "bash -ec 'mocha | cat'": "pipefail",
    "sh -c \"sh -c 'mocha || true'\"": "|| true",
    "time pytest &": "background",
    "pytest & pid=$!; wait": "background",
    "pytest a; pytest b": "replaces",
    "jest && exit 0 || exit 0": "hides",
    "until pytest; do :; done": "loop",
    "case x in x) pytest;; esac": "loop",
    "make -i test": "ignores",
    "make --ignore-errors test": "ignores",
    "make -n test": "runs nothing",
    "make test SHELL=/bin/true": "recipes",
    "make test MAKEFLAGS=-i": "recipes",
    "rspec --failure-exit-code 0": "hides",
    "rspec --failure-exit-code=0": "hides",
    "mvn test -Dmaven.test.failure.ignore=true": "hides",
    "mvn test -Dmaven.test.failure.ignore": "hides",
    "mvn -fn test": "hides",
    "mvn verify -DtestFailureIgnore=true": "hides",
    "MAVEN_OPTS=-DskipTests mvn test": "skips",
    "go test -exec true ./...": "-exec",
}
NOTHING = [
    "rspec --dry-run",
    "SPEC_OPTS=--dry-run rspec",
    "env SPEC_OPTS='--dry-run --order rand' bundle exec rspec",
    "export SPEC_OPTS=--dry-run; rspec",
    "mocha --dry-run",
    "MOCHA_OPTIONS=--dry-run npx mocha",
    "jest --listTests",
    "npx jest --showConfig",
    "vitest list",
    "npx vitest bench",
    "pytest --co -q",
    "PYTEST_ADDOPTS=--collect-only pytest",
    "pytest --setup-plan",
    "python3 -W error -m pytest --fixtures",
    "mvn -DskipTests package",
    "mvn package -Dmaven.test.skip=true",
    "mvn compile",
    "./mvnw -B validate",
    "gradle -x test build",
    "./gradlew build --exclude-task :app:test",
    "gradle assemble",
    "gradle test --dry-run",
    "gradle test -m",
    "cargo test --no-run",
    "cargo test -- --list",
    "cargo nextest list",
    "cargo +nightly build",
    "go test -list . ./...",
    "go test -c ./...",
    "go list ./...",
    "ctest -N",
    "ctest --show-only=json-v1",
    "phpunit --list-tests",
    "php vendor/bin/phpunit --list-suites",
    "tox --notest",
    "tox -l",
    "tox config",
    "nox --list",
    "nox --install-only",
    "node --check a.js",
    "node --test --check",
    "node -e 0",
    "ruby -e exit",
    "npm install",
    "npm ci",
    "yarn lint",
    "pnpm run build",
    "composer install",
    "cmake --build build",
    "make lint",
    "uv run ruff check",
    "bash -c 'exit 0'",
    "bash -c ''",
    ": ; :",
    "  # pytest",
]
PLAIN = [
    "jest --passWithNoTests",
    "npm test --if-present",
    "vitest --run --passWithNoTests",
    "cargo test -- --ignored",
    "go test -run XXX",
    "pytest -k nothing",
    "pytest --deselect tests/test_a.py::test_b",
    "gradle test --continue",
    "mvn -DskipTests=false test",
    "mvn -B -o -Dmaven.test.failure.ignore=false verify",
    "{ jest && mocha; } || { echo failed; exit 1; }",
    "pytest || exit $?",
    "pytest || exit",
    "(cd sub && pytest)",
    "set -e\ncd sub\npytest\necho done",
    "set -euo pipefail; pytest 2>&1 | tee log",
    "bash -eo pipefail -c 'pytest | tee log; echo done'",
    "[ -d .venv ] || python -m venv .venv; pytest",
    "cd sub || exit 1; pytest",
    "pytest a && pytest b",
    "test -f x && pytest",
    "! grep -r TODO . && pytest",
    "pytest \\\n  -q",
    "make -j$(nproc) test",
    "make -C sub test",
    "make -k test",
    "tox -e py311",
    "nox -s tests",
    "node --test",
    "php vendor/bin/phpunit --testdox",
    "bundle exec rspec --format doc",
    "cmake -S . -B build && cmake --build build && ctest --test-dir build",
    "NODE_ENV=test npx mocha --recursive",
    "xvfb-run -a npm test",
    "timeout -k 5 600 pytest",
    "exec pytest",
    "pytest &> log",
    "pytest 2>/dev/null >log",
    "pnpm test",
    "pnpm run test:unit",
    "uv run --with x pytest",
    "poetry run python -m pytest",
    "cargo +nightly test --all",
    "cargo nextest run",
    "gradle check",
    "python setup.py test",
    "rake",
]


@pytest.mark.parametrize(("command", "named"), HIDING.items())
def test_what_hides_its_status_is_no_evidence(command: str, named: str) -> None:
    assert named in why_not_evidence(command)


@pytest.mark.parametrize("command", NOTHING)
def test_what_runs_no_tests_is_no_evidence(command: str) -> None:
    assert why_not_evidence(command)


@pytest.mark.parametrize("command", PLAIN)
def test_what_is_plain_is_taken(command: str) -> None:
    """What such a line selects, if anything, only its run can tell."""
    assert why_not_evidence(command) == ""


@pytest.mark.long
@pytest.mark.parametrize(
    "piece", ["(", "{ ", "a && ", "a | ", "! ", "'", "bash -c ", "a; ", "$(", "\\\n", "a||b;"]
)
def test_a_hostile_line_is_judged_at_once(piece: str) -> None:
    why_not_evidence(piece * 5000)
    why_not_evidence(piece * 200 + "pytest")
