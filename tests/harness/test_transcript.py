"""The transcript survives a crash in mid-line, keeps secrets out, and is never rewritten."""

from __future__ import annotations

from pathlib import Path

from domain.text import Redactor
from harness.transcript import Transcript, pack, packed_path


def test_records_come_back_in_order(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "deep" / "t.jsonl", Redactor())
    for n in range(3):
        transcript.append({"step": n, "text": "ünï\ncode"})
    assert [record["step"] for record in transcript.read()] == [0, 1, 2]
    assert transcript.read()[0]["text"] == "ünï\ncode"


def test_a_line_cut_short_is_ignored_and_does_not_spoil_the_next(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    transcript = Transcript(path, Redactor())
    transcript.append({"step": 1})
    with path.open("ab") as file:
        file.write(b'{"step": 2, "text": "cut off he')
    transcript.append({"step": 3})
    assert [record["step"] for record in transcript.read()] == [1, 3]


def test_nothing_is_rewritten(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    transcript = Transcript(path, Redactor())
    transcript.append({"step": 1})
    before = path.read_bytes()
    transcript.append({"step": 2})
    assert path.read_bytes().startswith(before)


def test_secrets_and_odd_characters(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    transcript = Transcript(path, Redactor(["sk-very-secret"]))
    transcript.append({"text": "key is sk-very-secret", "odd": "\ud800 \x00"})
    assert b"very-secret" not in path.read_bytes()
    assert path.stat().st_mode & 0o077 == 0
    assert len(transcript.read()) == 1


def test_no_file_yet(tmp_path: Path) -> None:
    assert Transcript(tmp_path / "none.jsonl", Redactor()).read() == []


def test_a_packed_transcript_is_read_and_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    transcript = Transcript(path, Redactor())
    transcript.append({"step": 1, "text": "x" * 5000})
    plain_size = path.stat().st_size

    packed = pack(path)
    assert packed == packed_path(path) and not path.exists()
    assert packed.stat().st_size < plain_size / 10
    assert [record["step"] for record in transcript.read()] == [1]

    transcript.append({"step": 2})
    assert path.exists() and not packed.exists()
    assert [record["step"] for record in transcript.read()] == [1, 2]


def test_a_crash_while_packing_leaves_one_of_the_two_whole(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    transcript = Transcript(path, Redactor())
    transcript.append({"step": 1})
    plain = path.read_bytes()
    packed = pack(path)
    path.write_bytes(plain)  # died before the plain one was removed
    packed.with_name(f".{packed.name}.new").write_bytes(b"half")
    assert [record["step"] for record in transcript.read()] == [1]
    pack(path)
    assert [record["step"] for record in transcript.read()] == [1]
    assert [each.name for each in tmp_path.iterdir()] == ["t.jsonl.gz"]
