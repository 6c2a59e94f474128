"""`fixwright eval profile`: commands by what they are for, and sums over stored transcripts."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import cli
from app.evaluation.activity import Activity, activities, shares
from app.evaluation.profile import read_profile
from domain.errors import ConfigurationError
from domain.text import Redactor
from harness.transcript import Transcript, pack
from store.database import Database

S, R, E, T = Activity.SEARCHING, Activity.READING, Activity.EDITING, Activity.TESTING

COMMANDS: list[tuple[str, set[Activity]]] = [
    ("grep -rn 'def parse' src", {S}),
    ("cd /work && rg --files | head -20", {S}),
    ("search -i 'time out' src/", {S}),
    ("find . -name '*.py' -exec grep -l edit {} +", {S}),
    ("sed -n '10,60p' src/a.py", {R}),
    ("cat a.py; git log --oneline -5", {R}),
    ("view src/a.py 10 40", {R}),
    ("git diff", {R}),
    ("sed -i 's/a/b/' src/a.py", {E}),
    ("edit src/a.py <<'EOF'\nOLD\ngrep -rn pytest\nEOF", {E}),
    ("cat > repro.py <<'EOF'\nimport a\nprint(a.f())\nEOF", {E}),
    ("cat <<'EOF' > repro.py && python repro.py\nimport a\nEOF", {E, T}),
    ("python - <<'EOF'\nfrom pathlib import Path\nPath('a.py').write_text('x')\nEOF", {E}),
    ("python -c \"open('a.py', 'w').write('x')\"", {E}),
    ("python -c 'import a; print(a.f(1))'", {T}),
    ("python -m pytest -q tests/test_a.py 2>&1 | tail -5", {T}),
    ("PYTHONPATH=src pytest -k 'grep or cat'", {T}),
    ("go test ./... && go vet ./...", {T}),
    ("npm test -- --watch=false", {T}),
    ("npm install", {E}),
    ("make check", {T}),
    ("cargo test > /dev/null", {T}),
    ("git apply fix.patch", {E}),
    ("cd src", set()),
    ("echo done > marker", {E}),
    ("frobnicate --all", {Activity.OTHER}),
]


@pytest.mark.parametrize(("command", "wanted"), COMMANDS, ids=[command[:30] for command, _ in COMMANDS])
def test_what_a_command_is_for(command: str, wanted: set[Activity]) -> None:
    assert set(activities(command)) == wanted


def test_a_step_is_shared_between_what_it_does() -> None:
    assert shares(("grep x a.py && cat a.py", "pytest")) == {
        S: Fraction(1, 3),
        R: Fraction(1, 3),
        T: Fraction(1, 3),
    }
    assert shares(()) == {Activity.OTHER: Fraction(1)} and shares(("cd src",)) == {
        Activity.OTHER: Fraction(1)
    }


def _step(number: int, command: str, cost: str | None, kind: str = "step") -> dict[str, object]:
    extra = {"command": command, "seconds": 2.0} if command else {}
    messages = [{"role": "assistant", "extra": {}}, {"role": "tool", "extra": extra}]
    usage = {"input_tokens": 1000, "output_tokens": 50}
    return {"kind": kind, "step": number, "messages": messages, "usage": usage, "cost": cost, "seconds": 1.5}


@pytest.fixture
def transcripts(tmp_path: Path) -> Path:
    first, second = (Transcript(tmp_path / f"attempt-{number}.jsonl", Redactor([])) for number in (7, 12))
    first.append(_step(1, "", "0.10", "restatement"))
    first.append(_step(2, "grep -rn x .", "0.20"))
    first.append(_step(3, "sed -i s/a/b/ a.py && pytest", "0.30"))
    first.append({"kind": "end", "step": 4, "messages": [{"role": "exit", "extra": {}}], "cost": None})
    first.append({"summary": "it was hard"})
    second.append(_step(1, "cat a.md", None))
    with (tmp_path / "attempt-7.jsonl").open("ab") as file:
        file.write(b'{"kind": "step", "step": 9, "mess')
    pack(tmp_path / "attempt-12.jsonl")
    (tmp_path / "categories.json").write_text('{"7": "bug", "12": "docs"}')
    (tmp_path / "notes.txt").write_text("no transcript")
    return tmp_path


def test_sums_by_category_role_and_activity(transcripts: Path) -> None:
    found = read_profile(transcripts, None)

    assert found.attempts == 2 and found.unpriced == 1
    assert found.total().steps == 4 and str(found.total("bug").dollars) == "0.60"
    assert found.total("bug", "restating").steps == 1
    assert found.total("bug", "working", "searching").steps == 1
    assert found.total("bug", "working", "editing").steps == Fraction(1, 2)
    assert str(found.total("bug", "working", "testing").dollars) == "0.15"
    assert found.total("docs", "working", "reading").command_seconds == 2.0
    assert sum(found.total(activity=each.value).steps for each in Activity) == 4


def test_a_table_and_json(transcripts: Path) -> None:
    said = CliRunner().invoke(cli, ["eval", "profile", str(transcripts)])
    rows = [line.split() for line in said.output.splitlines()]
    assert rows[1][:6] == ["bug", "working", "searching", "1.0", "33", "%"], said.output
    assert "1 steps have no price on record" in said.output

    found = json.loads(CliRunner().invoke(cli, ["eval", "profile", str(transcripts), "--json"]).output)
    whole = next(row for row in found["rows"] if row["category"] == row["role"] == row["activity"] == "all")
    assert (whole["steps"], whole["dollars"], whole["input_tokens"]) == (4.0, "0.60", 4000)


def test_where_there_is_nothing_it_is_said(tmp_path: Path) -> None:
    for directory, words in ((tmp_path, "there is no attempt-N.jsonl"), (tmp_path / "no", "is no directory")):
        said = CliRunner().invoke(cli, ["eval", "profile", str(directory)])
        assert isinstance(said.exception, ConfigurationError) and words in str(said.exception)


def test_the_service_s_own_transcripts_have_their_kind_from_its_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIXWRIGHT_DATA_DIR", str(tmp_path))
    Transcript(tmp_path / "transcripts" / "attempt-1.jsonl", Redactor([])).append(_step(1, "ls", "0.1"))

    said = CliRunner().invoke(cli, ["eval", "profile"])
    assert isinstance(said.exception, ConfigurationError) and "fixwright.sqlite3" in str(said.exception)

    with Database(tmp_path / "fixwright.sqlite3") as database:
        database.migrate()
    assert "unknown" in CliRunner().invoke(cli, ["eval", "profile"]).output
