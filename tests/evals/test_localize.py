"""The localizer's bench: scores, training on a toy, and the run over cases with sources at hand."""

from __future__ import annotations

import hashlib
import json
import math
import tarfile
from pathlib import Path

import pytest

from evals.localize import bench as bench_module
from evals.localize import fitting
from evals.localize.bench import main as bench
from evals.localize.cases import Case, read_cases
from evals.localize.scoring import Prediction, score
from evals.localize.training import Choice, fit, fit_without, likelihoods, surprise
from harness.localize.weights import Form, Weight, read_weights


def case(name: str, *files: str, functions: tuple[str, ...] = ()) -> Case:
    return Case(
        id=name,
        repository="acme/shop",
        package="pypi:shop==1",
        archive="shop-1.tar.gz",
        sha256="",
        issue="x",
        files=files,
        functions=functions,
        names_the_file=False,
    )


def test_all_places_must_be_among_the_first() -> None:
    cases = [case("one", "a.py"), case("two", "a.py", "c.py"), case("absent", "a.py")]
    said = {
        "one": Prediction(case="one", files=["a.py", "b.py"], functions=[]),
        "two": Prediction(case="two", files=["a.py", "b.py", "c.py"], functions=[]),
    }
    found = score(cases, said)

    assert found.cases == 3
    assert [round(found.all_of[k], 2) for k in (1, 3)] == [0.33, 0.67]
    assert [round(found.any_of[k], 2) for k in (1, 3)] == [0.67, 0.67]
    assert round(found.mrr, 2) == 0.67
    assert score(cases, said, functions=True).cases == 0


LINES = [Weight("good", Form.PLAIN, 0), Weight("noise", Form.PLAIN, 0), Weight("package file", Form.PLAIN, 0)]


def test_training_finds_what_tells_the_right_file() -> None:
    choices = [Choice("a", [[1, n % 2, 0], [0, 1, 1], [0, 0, 1]], range(1)) for n in range(6)]
    weights = fit(choices, LINES)

    assert weights[0] > 1 and weights[1] < 0.5
    assert weights[2] < 0, "a circumstance may speak against a place"
    assert likelihoods(choices[0], weights)[0] > 0.8
    assert surprise(choices, weights) < surprise(choices, [0.0, 0.0, 0.0])
    assert fit(choices, LINES) == weights


def test_weights_are_held_back_but_circumstances_are_not() -> None:
    choices = [Choice("a", [[1, 0, 0], [0, 0, 1]], range(1)) for _ in range(6)]
    free, held = fit(choices, LINES, ridge=0.0), fit(choices, LINES, ridge=1.0)

    assert held[0] < free[0]
    assert held[2] < -1, "to come after all else may be learned freely"


def test_without_a_repository_its_cases_are_not_learned_from() -> None:
    ours = [Choice("a", [[1, 0, 0], [0, 1, 0]], range(1)) for _ in range(4)]
    theirs = [Choice("b", [[0, 1, 0], [1, 0, 0]], range(1)) for _ in range(8)]
    weights = fit_without("b", [*ours, *theirs], LINES, 0.01, [0.5, 0.5, 0.5])

    assert weights[0] > weights[1]
    assert fit_without("a", [*ours, *theirs], LINES, 0.01, [0.5, 0.5, 0.5])[1] > 1


def test_places_without_a_kind_of_evidence() -> None:
    choice = Choice("a", [[1, 0, 0], [0, 3, 0], [0, 0, 0]], range(1))

    assert choice.last_place([1, 1, 1]) == 2
    assert choice.without(1).last_place([1, 1]) == 1
    assert Choice("a", choice.rows, range(1), absent=1).last_place([1, 1, 1]) == math.inf


@pytest.fixture
def development(tmp_path: Path) -> Path:
    source = tmp_path / "shop-1"
    (source / "shop").mkdir(parents=True)
    (source / "shop" / "prices.py").write_text("def total(items):\n    return sum(items)\n")
    (source / "shop" / "orders.py").write_text("def cancel(order):\n    return order\n")
    data = tmp_path / "data"
    data.mkdir()
    with tarfile.open(data / "shop-1.tar.gz", "w:gz") as archive:
        archive.add(source, "shop-1")
    line = {
        "instance_id": "acme-1",
        "repo": "acme/shop",
        "pkg": "shop",
        "version": "1",
        "sdist_file": "shop-1.tar.gz",
        "sdist_sha256": hashlib.sha256((data / "shop-1.tar.gz").read_bytes()).hexdigest(),
        "problem_statement": "cancel an order twice",
        "gold_files": ["shop/orders.py"],
        "gold_functions": ["shop/orders.py:cancel"],
        "flags": {"names_gold_file": False},
    }
    (data / "dev.jsonl").write_text(json.dumps(line) + "\n")
    return data


@pytest.mark.long
def test_the_bench_ends_with_its_figures(
    development: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(development), "--archives", str(development), "--cache", str(tmp_path / "cache")]
    status = bench([*arguments, "--predictions", str(tmp_path / "said")])
    figures = json.loads(capsys.readouterr().out.strip().splitlines()[-1])

    assert status == 0
    assert figures["strategies"]["full"]["acc1"] == figures["strategies"]["full"]["functions5"] == 100.0
    assert figures["strategies"]["null"]["acc5"] == 0.0
    said = json.loads((tmp_path / "said" / "full.jsonl").read_text())
    assert said["functions"][0] == "shop/orders.py:cancel"


def test_a_bar_that_is_missed_is_a_failure(
    development: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (development / "dev.jsonl").write_text(
        (development / "dev.jsonl").read_text().replace('["shop/orders.py"]', '["shop/absent.py"]')
    )
    arguments = [str(development), "--archives", str(development), "--cache", str(tmp_path / "cache")]

    assert bench([*arguments, "--strategies", "full"]) == 1
    assert '"ok": false' in capsys.readouterr().out


@pytest.mark.long
def test_fitting_says_what_weights_are_worth_elsewhere(
    development: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(development), "--archives", str(development), "--cache", str(tmp_path / "cache")]

    tables = [tmp_path / "one.json", tmp_path / "two.json"]
    for table in tables:
        assert fitting.main([*arguments, "--write", "--table", str(table)]) == 0
        said = capsys.readouterr().out
        figures = json.loads(said.strip().splitlines()[-1])

        assert "left out" in said
        assert figures["gap"].keys() == {"acc1", "acc3", "acc5", "functions5"}
    assert tables[0].read_bytes() == tables[1].read_bytes()
    assert read_weights(tables[0])["full"].files
    assert read_weights(tables[0])["bm25"] == read_weights()["bm25"]
    assert len(list((tmp_path / "cache" / "evidence").iterdir())) == 1, "worked out once"


@pytest.mark.long
def test_an_ablation_takes_each_feature_away(
    development: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(development), "--archives", str(development), "--cache", str(tmp_path / "cache")]

    assert fitting.main([*arguments, "--without"]) == 0
    figures = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert {"(nothing)", "text", "vendored"} <= figures.keys()


def test_cases_of_other_languages_name_their_packages() -> None:
    cases = read_cases(Path(bench_module.__file__).with_name("languages.jsonl"))

    assert {case.package for case in cases} == {"npm:express@4.17.3", "pypi:ruff==0.4.2"}
    assert all(case.files for case in cases)


def test_cases_that_are_not_there_are_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench([str(tmp_path)]) == 2
    assert "cannot be read" in capsys.readouterr().err
