"""The whole load, small: two real processes and the yardstick, and a verdict as one line of JSON."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("huey", reason="only for the load's yardstick: pip install '.[bench]'")


@pytest.mark.long
@pytest.mark.journey
def test_a_small_load_loses_nothing_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from evals import load

    monkeypatch.setattr(load, "SINGLES", 2)
    monkeypatch.setattr("sys.argv", ["load", "--deliveries", "300", "--connections", "8"])
    status = load.main()
    verdict = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert verdict["violations"] == 0
    assert verdict["deliveries"] == 300
    assert status == (0 if verdict["passed"] else 1)
