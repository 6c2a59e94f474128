"""Reading a transcript on: whole lines, from any byte, packed or not, and nothing that is no transcript."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.api import tail
from app.api.tail import read_piece, size_of, transcript_file
from domain.model import Attempt
from domain.text import Redactor
from harness.transcript import Transcript, pack
from tests.app.stories import NOON
from worker.task_work import transcript_path


def test_the_file_is_the_one_that_the_worker_writes(tmp_path: Path) -> None:
    attempt = Attempt(id=31, task_id=1, number=2, started_at=NOON)
    assert transcript_file(tmp_path, 31) == transcript_path(tmp_path, attempt)


def test_lines_are_read_once_each_and_from_where_the_last_ended(tmp_path: Path) -> None:
    path = tmp_path / "attempt-1.jsonl"
    transcript = Transcript(path, Redactor())
    transcript.append({"step": 1, "text": "ä\u2028b"})
    first = read_piece(path, 0)
    assert [line.record for line in first.lines] == [{"step": 1, "text": "ä\u2028b"}]
    assert read_piece(path, first.lines[-1].end).lines == ()
    transcript.append({"step": 2})
    assert [line.record for line in read_piece(path, first.lines[-1].end).lines] == [{"step": 2}]


def test_a_line_that_is_still_being_written_waits(tmp_path: Path) -> None:
    path = tmp_path / "attempt-1.jsonl"
    path.write_bytes(b'{"step": 1}\n{"step": 2, "mess')
    piece = read_piece(path, 0)
    assert [line.record for line in piece.lines] == [{"step": 1}]
    assert piece.lines[0].end == len(b'{"step": 1}\n')
    # the life after a crash begins a new line, and the half one is no record
    path.write_bytes(path.read_bytes() + b'\n{"step": 2}\n')
    assert [line.record for line in read_piece(path, piece.lines[0].end).lines] == [None, {"step": 2}]


def test_what_is_packed_is_read_at_the_same_bytes(tmp_path: Path) -> None:
    path = tmp_path / "attempt-1.jsonl"
    transcript = Transcript(path, Redactor())
    for step in range(50):
        transcript.append({"step": step, "text": "x" * step})
    plain, size = read_piece(path, 0), size_of(path)
    pack(path)
    assert not path.exists()
    assert read_piece(path, 0) == plain
    middle = plain.lines[20].end
    assert read_piece(path, middle).lines == plain.lines[21:]
    assert size_of(path) not in (0, size)


def test_more_than_a_piece_is_read_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "PIECE", 100)
    path = tmp_path / "attempt-1.jsonl"
    written = [{"step": step, "text": "y" * (step * 17 % 300)} for step in range(40)]
    path.write_text("".join(json.dumps(each) + "\n" for each in written))
    found, start = [], 0
    for _ in range(200):
        piece = read_piece(path, start)
        found += [line.record for line in piece.lines]
        if piece.is_last:
            break
        start = piece.lines[-1].end
    assert found == written


def test_a_line_without_an_end_in_sight_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "PIECE", 100)
    monkeypatch.setattr(tail, "LONGEST_LINE", 500)
    path = tmp_path / "attempt-1.jsonl"
    path.write_bytes(b'{"step": 1}\n"' + b"z" * 3000 + b'"\n{"step": 2}\n')
    records, start = [], 0
    while True:
        piece = read_piece(path, start)
        records += [line.record for line in piece.lines]
        if piece.is_last:
            break
        start = piece.lines[-1].end
    assert records == [{"step": 1}, None, {"step": 2}]


@pytest.mark.parametrize("line", [b"[1, 2]\n", b"nonsense\n", b"\xff\xfe\n", b"\n", b"[" * 100_000 + b"\n"])
def test_what_is_no_record_is_none(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "attempt-1.jsonl"
    path.write_bytes(line)
    assert [each.record for each in read_piece(path, 0).lines] == [None]


def test_nothing_but_a_file_is_opened(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text('{"step": 1}\n')
    link = tmp_path / "attempt-1.jsonl"
    link.symlink_to(secret)
    with pytest.raises(OSError):
        read_piece(link, 0)
    (tmp_path / "attempt-2.jsonl").mkdir()
    with pytest.raises(OSError):
        read_piece(tmp_path / "attempt-2.jsonl", 0)
    assert read_piece(tmp_path / "attempt-3.jsonl", 0).lines == ()
    (tmp_path / "attempt-4.jsonl.gz").write_bytes(b"no gzip at all")
    with pytest.raises(OSError):
        read_piece(tmp_path / "attempt-4.jsonl", 0)
