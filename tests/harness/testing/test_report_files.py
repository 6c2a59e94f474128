"""Report files below a checkout: only those that the run itself has written."""

from __future__ import annotations

from pathlib import Path

from domain.model import RunStatus
from harness.testing.report_files import find_reports, fingerprints, new_reports
from tests.harness.testing.test_run import run

PATTERN = ("target/surefire-reports/TEST-*.xml",)
GREEN = '<testsuite><testcase name="a" classname="T"/></testsuite>'


def test_reports_are_found_at_any_depth_and_links_are_not_followed(tmp_path: Path) -> None:
    for module in ("", "a/", "a/b/"):
        place = tmp_path / f"{module}target/surefire-reports"
        place.mkdir(parents=True)
        (place / "TEST-x.xml").write_text(module)
        (place / "other.xml").write_text("")
    (tmp_path / "target/surefire-reports/TEST-link.xml").symlink_to("/etc/passwd")
    (tmp_path / "linked").symlink_to(tmp_path / "a")

    found = find_reports(tmp_path, PATTERN, 100)

    assert sorted(found.values()) == [b"", b"a/", b"a/b/"]
    assert find_reports(tmp_path, (), 100) == {}


def test_what_was_there_before_does_not_count(tmp_path: Path) -> None:
    before = fingerprints({"old": b"1", "rewritten": b"1"})

    assert new_reports({"old": b"1", "rewritten": b"2", "new": b"3"}, before) == (b"3", b"2")


def test_a_report_in_the_repository_is_no_result(tmp_path: Path) -> None:
    files = {"pom.xml": "", "mvnw": "exit 0\n", "target/surefire-reports/TEST-T.xml": GREEN}
    observed = run(tmp_path, files, command="sh ./mvnw test")
    assert observed.run.status is RunStatus.COULD_NOT_TELL

    files["mvnw"] = f"echo '{GREEN}' > target/surefire-reports/TEST-U.xml\n"
    (tmp_path / "second").mkdir()
    observed = run(tmp_path / "second", files, command="sh ./mvnw test")
    assert observed.run.status is RunStatus.PASSED and observed.run.passed == 1
