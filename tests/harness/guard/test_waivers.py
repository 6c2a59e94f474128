"""Ids of findings: the same for the same objection, another for another; what a maintainer's word does."""

from __future__ import annotations

from datetime import UTC, datetime

from domain.allowing import Allowance
from domain.model import Actor, Finding, Severity
from harness.guard.waivers import waived
from tests.harness.guard.changes import Files, judged

S = "pkg/core.py"
OLD = "def load(path):\n    return read(path)\n\n\ndef save(path):\n    return write(path)\n"
NEW = (
    "def load(path):\n    try:\n        return read(path)\n    except Exception:\n        pass\n\n\n"
    "def save(path):\n    return write(path)\n"
)


def word(identity: str) -> Allowance:
    by = Actor(id="7", login="mika")
    return Allowance(change=identity, by=by, comment_id="3", at=datetime(2026, 1, 2, tzinfo=UTC))


def only(new: str, old: str = OLD) -> Finding:
    (finding,) = [item for item in judged({S: old}, {S: new}) if item.severity is Severity.CRITICAL]
    return finding


def test_an_id_stays_while_lines_move_and_layout_changes() -> None:
    first = only(NEW)

    assert first.id.startswith("RH003-")
    assert only("import os\n\n\n" + NEW, "import os\n\n\n" + OLD).id == first.id
    assert only(NEW.replace("        pass", "            pass")).id == first.id


def test_another_piece_of_code_has_another_id() -> None:
    first = only(NEW)

    assert only(NEW.replace("        pass", "        return 0")).id != first.id
    both = NEW.replace(
        "    return write(path)", "    try:\n        return write(path)\n    except Exception:\n        pass"
    )
    findings = [item for item in judged({S: OLD}, {S: both}) if item.severity is Severity.CRITICAL]
    assert len({item.id for item in findings}) == len(findings) == 2


def test_a_waiver_lets_one_finding_pass_and_no_other() -> None:
    config: Files = {"pytest.ini": "[pytest]\n"}
    findings = judged({S: OLD, **config}, {S: NEW, "pytest.ini": "[pytest]\naddopts = -x\n"})
    swallowed = next(item for item in findings if item.rule == "RH003")

    left = waived(findings, [word(swallowed.id.upper())])

    assert [item.rule for item in left if item.severity is Severity.CRITICAL] == ["RH008"]
    allowed = next(item for item in left if item.rule == "RH003")
    assert allowed.severity is Severity.WARNING
    assert (allowed.allowed_by, allowed.what) == ("mika", swallowed.what)
    assert waived(findings, [word("RH003-0000000000000000")]) == findings


def test_nobody_can_waive_what_does_not_parse() -> None:
    (broken,) = [item for item in judged({S: OLD}, {S: "def f(:\n"}) if item.rule == "RH004"]
    assert waived([broken], [word(broken.id)]) == (broken,)


def test_a_waiver_for_a_file_holds_for_this_text_of_it_only() -> None:
    old: Files = {"pytest.ini": "[pytest]\n"}
    ids = [
        next(item for item in judged(old, {"pytest.ini": text}) if item.rule == "RH008").id
        for text in (
            "[pytest]\naddopts = -x\n",
            "[pytest]\naddopts  =  -x\n",
            "[pytest]\naddopts = -k none\n",
        )
    ]

    assert ids[0] == ids[1] != ids[2]


def test_a_removed_test_is_named_by_its_id_whatever_else_changes() -> None:
    test = "def test_a():\n    assert f(1) == 2\n\n\ndef test_b():\n    assert f(2) == 3\n"
    left = "def test_b():\n    assert f(2) == 3\n"
    old: Files = {"tests/test_f.py": test}
    first = judged(old, {"tests/test_f.py": left})
    second = judged(old, {"tests/test_f.py": "import os\n\n\n" + left})

    assert [item.id for item in first] == [item.id for item in second]
    assert first[0].rule == "RH001"
