"""Documentation on real runs: its code blocks, its build, and what is said of both."""

from __future__ import annotations

import os
import subprocess
import venv
from pathlib import Path

import pytest

from domain.model import Category, RunStatus, Verdict
from domain.repo_config import DocsSection, RepoConfig
from harness.document_builds import build_plan
from tests.harness.test_verify import BASE, Bench
from tests.harness.testing.doubles import PATH, PlainSandbox

SHAKY = "# Lamp\n\n```json\n{,}\n```\n\n```sh\nls |\n```\n"
GOOD = "```python\nx = 1\n```\n\n```bash\nfor x in a b; do echo $x; done\n```\n\n```go\nfunc (\n```\n"
BUILD = "if grep -q broken README.md; then echo 'README.md is broken'; exit 1; fi; mkdir -p site"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    config = RepoConfig(docs=DocsSection(command=BUILD))
    return Bench(tmp_path_factory.mktemp("documents"), {**BASE, "README.md": SHAKY}, config)


def results(verdict: Verdict) -> dict[str, RunStatus]:
    return {check.name: check.status for check in verdict.checks}


@pytest.mark.long
def test_documentation_whose_code_is_sound_is_verified_and_it_is_said_what_was_checked(bench: Bench) -> None:
    verdict = bench.verified({"README.md": SHAKY + GOOD}, Category.DOCS)

    assert results(verdict) == dict.fromkeys(
        ("links", "code blocks", "documentation build"), RunStatus.PASSED
    )
    (code,) = (check.what for check in verdict.checks if check.name == "code blocks")
    assert code.startswith("syntax of those added or edited: 1 python, 1 shell, 1 of other languages,")


@pytest.mark.long
@pytest.mark.parametrize(
    ("block", "said"),
    [
        ("```python\nx = (\n```\n", "`README.md` line 12: '(' was never closed (python)"),
        (
            "```bash\nls\nif true; then\n```\n",
            "`README.md` line 14: syntax error: unexpected end of file (bash)",
        ),
    ],
)
def test_a_code_block_that_is_broken_is_refused(bench: Bench, block: str, said: str) -> None:
    verdict = bench.refused({"README.md": SHAKY + "\n" + block}, Category.DOCS)

    assert said in verdict.summary and "{,}" not in verdict.summary
    assert results(verdict)["code blocks"] is RunStatus.FAILED


@pytest.mark.long
def test_a_block_that_was_broken_already_may_be_edited(bench: Bench) -> None:
    edited = SHAKY.replace("{,}", '{"a": 1,}').replace("ls |", "ls -l |")

    assert results(bench.verified({"README.md": edited}, Category.DOCS))["code blocks"] is RunStatus.PASSED


@pytest.mark.long
def test_a_build_that_the_change_broke_is_refused(bench: Bench) -> None:
    verdict = bench.refused({"README.md": SHAKY + "\nbroken\n"}, Category.DOCS)

    assert "cannot be built any more" in verdict.summary
    assert [run.name for run in verdict.runs[1:]] == ["base documentation", "documentation"]
    assert "README.md is broken" in verdict.runs[-1].tail


@pytest.mark.long
@pytest.mark.parametrize("command", ["exit 1", "mkdocs-is-not-here build", BUILD.replace("broken", "Lamp")])
def test_a_build_that_fails_on_the_base_too_is_not_held_against_the_change(
    tmp_path: Path, command: str
) -> None:
    config = RepoConfig(docs=DocsSection(command=command))
    bench = Bench(tmp_path, {**BASE, "README.md": SHAKY}, config)

    verdict = bench.verified({"README.md": SHAKY + "More.\n"}, Category.DOCS)

    assert results(verdict)["documentation build"] is RunStatus.COULD_NOT_TELL


@pytest.mark.long
def test_without_a_builder_it_is_said_that_nothing_was_built(tmp_path: Path) -> None:
    verdict = Bench(tmp_path, {**BASE, "README.md": SHAKY}).verified({"README.md": "# Lamp\n"}, Category.DOCS)

    assert results(verdict)["documentation build"] is RunStatus.COULD_NOT_RUN


@pytest.mark.long
def test_what_is_watched_is_left_to_ci(tmp_path: Path) -> None:
    config = RepoConfig.model_validate({"ci_monitor": {"enabled": True}})
    verdict = Bench(tmp_path, BASE, config).verified({"README.md": "# Lamp\n"}, Category.DOCS)

    assert results(verdict)["this repository's own CI"] is RunStatus.LEFT_TO_CI


@pytest.mark.parametrize(
    ("paths", "place", "begins"),
    [
        (["mkdocs.yml"], "", "python3 -m mkdocs build --strict"),
        (["docs/conf.py", "docs/index.rst"], "", "python3 -m sphinx -b html -W"),
        (["doc/source/conf.py", "doc/source/index.md"], "", "python3 -m sphinx"),
        (["a/docs/conf.py", "a/docs/index.rst"], "a", "python3 -m sphinx"),
        (["a/docs/conf.py", "a/docs/index.rst"], "", ""),
        (["conf.py", "docs/conf.py", "a.py"], "", ""),
    ],
)
def test_a_builder_is_found_where_it_is_set_up(paths: list[str], place: str, begins: str) -> None:
    plan = build_plan(DocsSection(), paths, place)

    assert plan is None if not begins else plan is not None and plan.command.startswith(begins)


CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "fixwright-tests" / "documents"
MKDOCS = {
    "mkdocs.yml": "site_name: Lamp\nvalidation:\n  anchors: warn\n",
    "docs/index.md": "# Lamp\n",
    "docs/b.md": "# B\n",
}
SPHINX = {
    "docs/conf.py": "project = 'lamp'\nextensions = ['sphinx.ext.autodoc']\nhtml_theme = 'basic'\n",
    "docs/index.rst": "Lamp\n====\n\n.. automodule:: calc\n   :members:\n",
}


@pytest.fixture(scope="module")
def builders() -> str:
    """A directory of programs with MkDocs and Sphinx, installed once into a cache directory."""
    if not (CACHE / "bin" / "sphinx-build").exists():
        venv.create(CACHE, with_pip=True)
        command = [str(CACHE / "bin/python"), "-m", "pip", "install", "-q", "mkdocs~=1.6", "sphinx~=8.1"]
        done = subprocess.run([*command, "pytest~=8.3"], capture_output=True, timeout=300, check=False)
        if done.returncode:
            pytest.skip(f"pip could not install the builders: {done.stderr.decode()[-200:]}")
    return f"{CACHE}/bin:{PATH}"


@pytest.mark.long
@pytest.mark.parametrize(
    ("files", "path", "sound", "broken"),
    [
        (MKDOCS, "docs/index.md", "# Lamp\n\nSee [B](b.md).\n", "# Lamp\n\n[B](b.md#gone)\n"),
        (SPHINX, "docs/index.rst", "Lamp\n====\n\nMore.\n", "Lamp\n==\n\n:ref:`nowhere`\n"),
    ],
)
def test_the_real_builders(
    tmp_path: Path, builders: str, files: dict[str, str], path: str, sound: str, broken: str
) -> None:
    bench = Bench(tmp_path, {**BASE, **files}, sandbox=PlainSandbox(builders))

    assert results(bench.verified({path: sound}, Category.DOCS))["documentation build"] is RunStatus.PASSED
    assert "cannot be built any more" in bench.refused({path: broken}, Category.DOCS).summary
