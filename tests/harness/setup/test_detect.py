"""The plain set-ups of repositories, from their files alone."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

import pytest

from domain.model import RunStatus, TestRun
from domain.repo_config import SetupSection, TestSection
from harness.baseline import Baseline
from harness.setup.detect import Files, detect_setup, is_needed, must_fail_without
from harness.setup.ecosystems import is_manifest
from harness.setup.plan import SetupPlan
from harness.testing.cases import Case, CaseOutcome, Observed
from harness.testing.diagnosis import EnvironmentProblem, ProblemKind
from harness.testing.plan import Runner, TestPlan

PROJECT = '[project]\nname = "lamp"\nversion = "1"\n'


def baseline(
    runner: Runner,
    command: str,
    kind: ProblemKind | None = ProblemKind.IMPORT,
    cases: Mapping[str, Case] | None = None,
) -> Baseline:
    run = TestRun(
        name="base", command=command, tree="t", status=RunStatus.FAILED, exit_code=1, seconds=1.0, passed=1
    )
    return Baseline(
        commit="c",
        tree="t",
        section=TestSection(),
        plan=TestPlan(command=command, runner=runner, why="a test"),
        observed=Observed(run=run, cases=cases or {}, output=""),
        problem=EnvironmentProblem(kind=kind, what="x", lines=(), fix="y") if kind else None,
    )


PYTEST = baseline(Runner.PYTEST, "python3 -m pytest")


def find(files: Mapping[str, str], base: Baseline = PYTEST, *programs: str) -> SetupPlan | None:
    """Detect in a repository with these files, on a machine with these programs."""
    read = Files(frozenset(files), lambda path: files[path].encode())
    return detect_setup(read, base.plan, SetupSection(), lambda name: name in programs)


@pytest.mark.parametrize(
    ("files", "wanted", "why"),
    [
        ({"requirements.txt": "six"}, ["-r", "requirements.txt", "pytest"], "requirements.txt"),
        (
            dict.fromkeys(("requirements.txt", "requirements-dev.txt", "requirements/test.txt", "docs/requirements.txt"), "x"),  # noqa: E501
            ["-r", "requirements-dev.txt", "-r", "requirements.txt", "-r", "requirements/test.txt", "pytest"],
            "requirements-dev.txt and requirements.txt and requirements/test.txt",
        ),
        ({"pyproject.toml": PROJECT}, ["-e", ".", "pytest"], "pyproject.toml"),
        (
            {"pyproject.toml": PROJECT + '[project.optional-dependencies]\ntests = ["x"]\ndocs = ["y"]\ndev = []\n'},  # noqa: E501
            ["-e", ".[tests,dev]", "pytest"],
            "pyproject.toml",
        ),
        (
            {"pyproject.toml": PROJECT + '[dependency-groups]\nlint = ["ruff"]\nall = ["b>=2,<3"]\n'
             'test = ["a; python_version>\'3\'", {include-group = "all"}, {include-group = "test"}]\n'},
            ["-e", ".", "a; python_version>'3'", "b>=2,<3", "pytest"],
            "pyproject.toml",
        ),
        ({"setup.py": "setup(extras_require={'test': ['x']})"}, ["-e", ".[test]", "pytest"], "setup.py"),
        ({"pyproject.toml": "[tool.ruff]\n", "requirements.txt": "a"}, ["-r", "requirements.txt", "pytest"], "requirements.txt"),  # noqa: E501
        ({"pyproject.toml": "not [toml", "setup.py": ""}, None, ""),
    ],
)  # fmt: skip
def test_python(files: dict[str, str], wanted: list[str] | None, why: str) -> None:
    plan = find(files)
    if wanted is None:
        assert plan is None
        return
    assert plan is not None and shlex.split(plan.commands[0]) == ["pip", "install", *wanted]
    assert plan.why == why and plan.needs == ("python3",)


def test_uv_is_used_where_it_is() -> None:
    files = {"pyproject.toml": PROJECT, "uv.lock": "version = 1\n"}
    with_uv, without = find(files, PYTEST, "uv"), find(files)
    assert with_uv is not None and with_uv.commands == ("uv sync --frozen --all-groups --all-extras",)
    assert without is not None and without.commands == ("pip install -e . pytest",)


def test_a_version_from_git_is_pretended() -> None:
    plan = find({"pyproject.toml": PROJECT + '[build-system]\nrequires = ["setuptools_scm"]\n'})
    assert plan is not None and plan.env["SETUPTOOLS_SCM_PRETEND_VERSION"]


@pytest.mark.parametrize(
    ("files", "command", "commands", "needs"),
    [
        ({"package.json": "{}", "package-lock.json": "{}"}, "npm test", ("npm ci",), ("node", "npm")),
        ({"package.json": "{}", "pnpm-lock.yaml": ""}, "pnpm test", ("pnpm install --frozen-lockfile",), ("node", "pnpm")),  # noqa: E501
        ({"package.json": "{}", "yarn.lock": ""}, "npm test", ("yarn install --frozen-lockfile",), ("node", "yarn")),  # noqa: E501
        ({"package.json": "{}", "yarn.lock": "", ".yarnrc.yml": ""}, "yarn test", ("yarn install --immutable",), ("node", "yarn")),  # noqa: E501
        ({"package.json": '{"devDependencies": {"a": "1"}}'}, "npm test", ("npm install --no-package-lock",), ("node", "npm")),  # noqa: E501
        ({"package.json": '{"name": "x"}'}, "npm test", None, ()),
        ({"package.json": "nonsense"}, "npm test", None, ()),
        ({"go.mod": "module x\nrequire y v1.0.0\n"}, "go test ./...", ("go mod download",), ("go",)),
        ({"go.mod": "module x\n"}, "go test ./...", None, ()),
        ({"Cargo.toml": "", "Cargo.lock": ""}, "cargo test --offline", ("cargo fetch --locked",), ("cargo",)),
        ({"Gemfile": ""}, "bundle exec rspec", ("bundle install",), ("ruby", "bundle")),
        ({"pom.xml": ""}, "mvn -o test", ("mvn -B -q -DskipTests test",), ("java", "mvn")),
        ({"build.gradle": "", "gradlew": ""}, "./gradlew test", ("sh ./gradlew --no-daemon --console=plain testClasses",), ("java",)),  # noqa: E501
        ({"package.json": "{}", "package-lock.json": "{}", "requirements.txt": "x"}, "npm test", ("npm ci",), ("node", "npm")),  # noqa: E501
        (
            {"package.json": "{}", "package-lock.json": "{}", "requirements.txt": "x"},
            "make test",
            ("pip install -r requirements.txt pytest", "npm ci"),
            ("python3", "node", "npm"),
        ),
        ({"README.md": ""}, "make test", None, ()),
    ],
)  # fmt: skip
def test_the_test_command_chooses(
    files: dict[str, str],
    command: str,
    commands: tuple[str, ...] | None,
    needs: tuple[str, ...],
) -> None:
    plan = find(files, baseline(Runner.OUTPUT, command))
    assert (plan.commands, plan.needs) == (commands, needs) if plan else commands is None


def test_a_setup_is_needed_where_a_suite_does_not_load() -> None:
    said = {"message": "ModuleNotFoundError: No module named 'six'", "outcome": CaseOutcome.FAILED}
    unloaded = Case(id="a", file="a", name="", collection=True, **said)
    failed = Case(id="a::b", file="a", name="b", **said)
    assert is_needed(PYTEST) and is_needed(baseline(Runner.OUTPUT, "npm test", ProblemKind.TOOL_MISSING))
    assert is_needed(baseline(Runner.PYTEST, "pytest", None, {"a": unloaded}))
    assert not is_needed(baseline(Runner.PYTEST, "pytest", None, {"a": failed}))
    for kind in (ProblemKind.TIMEOUT, ProblemKind.NO_TESTS, ProblemKind.NOT_EVIDENCE, ProblemKind.RESOURCES):
        assert not is_needed(baseline(Runner.PYTEST, "pytest", kind))


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        *(
            (name, True)
            for name in ("a/requirements-dev.txt", "requirements/base.in", "go.sum", "x/package.json")
        ),
        *((name, True) for name in ("gradle/libs.versions.toml", "x.gemspec", ".npmrc", "poetry.lock")),
        *((name, False) for name in ("README.md", "src/setup.pyx", "requirements.md", "x/Cargo.toml.bak")),
    ],
)
def test_manifests_are_known_by_their_names(path: str, is_one: bool) -> None:
    assert is_manifest(path) is is_one


GO_MOD = "module lamp\n\ngo 1.19\n\nrequire (\n\texample.org/oil v1.0.0\n)\n"
LOCK = '[[package]]\nname = "oil"\nsource = "registry+https://example.org/index"\n'
JEST = {"package.json": '{"devDependencies": {"jest": "1"}}'}


@pytest.mark.parametrize(
    ("runner", "files", "expected"),
    [
        (Runner.MOCHA, {"package.json": '{"devDependencies": {"mocha": "^11"}}'}, True),
        (Runner.MOCHA, {"package.json": "{}"}, False),
        (Runner.JEST, {**JEST, "node_modules/jest/a.js": ""}, False),
        (Runner.JEST, {**JEST, ".pnp.cjs": ""}, False),
        (Runner.NODE, {"package.json": '{"dependencies": {"oil": "1"}}'}, False),
        (Runner.GO, {"go.mod": GO_MOD}, True),
        (Runner.GO, {"go.mod": "module lamp\n\ngo 1.19\n\nrequire example.org/oil v1.0.0\n"}, True),
        (Runner.GO, {"go.mod": GO_MOD, "vendor/modules.txt": ""}, False),
        (Runner.GO, {"go.mod": "module lamp\n\ngo 1.19\n"}, False),
        (Runner.CARGO, {"Cargo.lock": LOCK}, True),
        (Runner.CARGO, {"Cargo.lock": LOCK, ".cargo/config.toml": ""}, False),
        (Runner.CARGO, {"Cargo.lock": "[[package]]\n"}, False),
        (Runner.PYTEST, {"requirements.txt": "six"}, False),
    ],
)
def test_what_cannot_run_without_its_dependencies_is_known_from_files(
    runner: Runner, files: dict[str, str], expected: bool
) -> None:
    read = Files(frozenset(files), lambda path: files[path].encode())
    assert must_fail_without(read, TestPlan(command="x", runner=runner, why="a test")) is expected
