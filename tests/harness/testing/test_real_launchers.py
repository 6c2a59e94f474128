"""Runners behind their launchers, and builds that run tests: tried for real where they are installed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from domain.model import RunStatus
from harness.testing.plan import Runner
from tests.harness.testing import samples
from tests.harness.testing.doubles import PATH
from tests.harness.testing.forgers import GRADLE, MAVEN, MODE
from tests.harness.testing.test_real_runners import check, npm_tools, run

__all__ = ["npm_tools"]

pytestmark = pytest.mark.long
SEARCH = f"{PATH}:{Path.home()}/.cargo/bin"
PYTHON = {
    "lamp.py": "def twice(x):\n    return x + 2\n",
    "tests/test_lamp.py": "import pytest\nfrom lamp import twice\n\n\n"
    "def test_two():\n    assert twice(2) == 4\n\n\n"
    "def test_five():\n    assert twice(5) == 10\n\n\n@pytest.mark.skip\ndef test_later():\n    pass\n",
}
PYTEST = shutil.which("python3", path=PATH)
COMMON = f"skip_install = true\nset_env = PYTHONPATH = {{toxinidir}}\nallowlist_externals = {PYTEST}\n"
RUNS = f"commands = {PYTEST} -m pytest {{posargs}}\n"
TOX = f"[tox]\nno_package = true\nenv_list = unit\n[testenv]\n{COMMON}{RUNS}"
OWN = f"[tox]\nno_package = true\nenv_list = unit\n[testenv:unit]\npass_env = LAMP\n{COMMON}{RUNS}"
TOML = (
    '[tool.tox]\nno_package = true\nenv_list = ["unit"]\n[tool.tox.env_run_base]\nskip_install = true\n'
    f'set_env = {{PYTHONPATH = "{{tox_root}}"}}\nallowlist_externals = ["{PYTEST}"]\n'
    f'commands = [["{PYTEST}", "-m", "pytest"]]\n'
)
NOX = (
    "import nox\n\n\n@nox.session(venv_backend='none')\ndef tests(session):\n"
    f"    session.run('{PYTEST}', '-m', 'pytest', external=True, env={{'PYTHONPATH': '.'}})\n"
)


def needs(tool: str) -> None:
    if shutil.which(tool, path=SEARCH) is None:
        pytest.skip(f"{tool} is not installed")


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("tox", {"tox.ini": TOX}),
        ("tox -q -e unit", {"tox.ini": OWN}),
        ("tox", {"pyproject.toml": TOML}),
        ("make test", {"tox.ini": TOX, "Makefile": "test:\n\ttox -q\n"}),
        ("nox", {"noxfile.py": NOX}),
        ("nox -s tests", {"noxfile.py": NOX}),
    ],
    ids=["tox", "own section", "toml", "make", "nox", "session"],
)
def test_pytest_is_reached_behind_tox_and_nox(tmp_path: Path, command: str, files: dict[str, str]) -> None:
    needs("nox" if "nox" in command else "tox")
    observed, found, _ = run(tmp_path, {**PYTHON, **files}, command)

    assert found is Runner.PYTEST
    check(observed, "tests/test_lamp.py::test_two", "tests/test_lamp.py::test_five")


@pytest.mark.parametrize("command", ["yarn test", "pnpm test", "pnpm run test"])
@pytest.mark.parametrize("runner", ["node", "jest"])
def test_yarn_and_pnpm(tmp_path: Path, npm_tools: Path, command: str, runner: str) -> None:
    needs(command.partition(" ")[0])
    files = samples.NODE if runner == "node" else samples.JEST
    observed, _, _ = run(tmp_path, files, command, tools=npm_tools)
    place = "test" if runner == "node" else "sub"
    check(
        observed, f"{place}/lamp.test.js::twice > two is four", f"{place}/lamp.test.js::twice > five is ten"
    )


def test_nextest_names_each_test_and_runs_single_files(tmp_path: Path) -> None:
    needs("cargo-nextest")
    observed, found, _ = run(tmp_path, samples.CARGO, "cargo nextest run")
    assert found is Runner.NEXTEST
    check(observed, "lamp::tests::two_is_four", "lamp::outside::five_is_ten")
    assert observed.cases["lamp::inner::tests::inside"].file == "src/inner.rs"
    assert "right: 10" in observed.cases["lamp::outside::five_is_ten"].message

    second = tmp_path / "second"
    second.mkdir()
    observed, _, _ = run(second, samples.CARGO, "cargo nextest run", targets=("tests/outside.rs",))
    assert set(observed.cases) == {"lamp::outside::five_is_ten"}


@pytest.mark.parametrize(("tool", "forger"), [("gradle", GRADLE), ("mvn", MAVEN)])
def test_builds_of_java(tmp_path: Path, tool: str, forger: object) -> None:
    needs(tool)
    known = GRADLE if forger is GRADLE else MAVEN
    if not Path(known.needs).exists():
        pytest.skip(f"{known.needs} is not there, and nothing is downloaded for {tool}")
    observed, found, _ = run(tmp_path, {**known.honest, **known.shows, MODE: "honest"}, known.command)

    assert found is (Runner.GRADLE if tool == "gradle" else Runner.MAVEN)
    assert observed.run.status is RunStatus.FAILED, observed.output[-2000:]
    assert observed.run.passed_ids == {"src/test/java/LampTest.java::two"}
    assert observed.run.failed_ids == {"src/test/java/MoreTest.java::five"}


# -- order ------------------------------------------------------------------------------------------

LETTERS = "abcdefgh"
RSPEC = (
    "$l = []\nRSpec.describe 'o' do\n"
    + "".join(f'  it("{c}") {{ $l << "{c}"; expect($l).to eq $l.sort }}\n' for c in LETTERS)
    + "end\n"
)
PHPUNIT = (
    "<?php\nuse PHPUnit\\Framework\\TestCase;\nfinal class OTest extends TestCase {\n    static $l = [];\n"
    + "".join(
        f"    public function test{c}(): void {{ self::$l[] = '{c}'; $s = self::$l; sort($s); "
        "$this->assertSame($s, self::$l); }\n"
        for c in LETTERS
    )
    + "}\n"
)
JS = "const l = [];\n" + "".join(
    f'test("{c}", () => {{ l.push("{c}"); expect(l).toEqual([...l].sort()); }});\n' for c in LETTERS
)
SHUFFLED = {
    "rspec": {
        ".rspec": "--order random\n--require spec_helper\n",
        "spec/spec_helper.rb": "RSpec.configure { |c| c.order = :random }\n",
        "spec/a_spec.rb": RSPEC,
    },
    "phpunit": {
        "phpunit.xml": samples.PHPUNIT["phpunit.xml"].replace(
            "<phpunit>", "<phpunit executionOrder='random'>"
        ),
        "tests/OTest.php": PHPUNIT,
    },
    "vitest": {
        "package.json": json.dumps({"name": "v", "type": "module", "scripts": {"test": "vitest run"}}),
        "vitest.config.js": "export default { test: { sequence: { shuffle: true } } };\n",
        "o.test.js": f'import {{ expect, test }} from "vitest";\n{JS}',
    },
}


@pytest.mark.parametrize("tool", SHUFFLED)
def test_a_suite_that_shuffles_itself_is_run_in_order(
    tmp_path: Path, tool: str, request: pytest.FixtureRequest
) -> None:
    tools = request.getfixturevalue("npm_tools") if tool == "vitest" else needs(tool)
    observed, _, _ = run(tmp_path, SHUFFLED[tool], tools=tools)

    assert observed.run.status is RunStatus.PASSED and observed.run.passed == 8, observed.output[-2000:]
