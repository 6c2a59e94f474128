"""A small history with one fix in it, and the orders to build cases of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from app.evaluation.build import Order
from tests.harness.git_world import person

TOOLS = Path(__file__).resolve().parents[3] / ".tools"
SOURCE = "def twice(n):\n    return n + n\n\n\ndef half(n):\n    return n // 2\n"
TEST = "from calc import half, twice\n\n\ndef test_twice():\n    assert twice(2) == 4\n"
HALF = "\n\ndef test_half():\n    assert half(3) == 1.5\n"
STEPS: list[tuple[str, Mapping[str, str]]] = [
    ("First", {"calc.py": SOURCE, "test_calc.py": TEST, "CHANGES.md": "none\n"}),
    (
        "Fix half of odd numbers (#12)\n\nhalf(3) gives 1, see calc.py.",
        {
            "calc.py": SOURCE.replace("n // 2", "n / 2"),
            "test_calc.py": TEST + HALF,
            "CHANGES.md": "half is right\n",
        },
    ),
    ("Add thrice", {"calc.py": SOURCE.replace("n // 2", "n / 2") + "\n\ndef thrice(n):\n    return 3 * n\n"}),
    ("Fix typo", {"CHANGES.md": "half is right now\n"}),
    (
        "Fix nothing that a test shows",
        {"calc.py": SOURCE.replace("n // 2", "n / 2.0"), "test_calc.py": TEST + HALF + "\n# more\n"},
    ),
    (
        "Fix it badly",
        {"calc.py": SOURCE.replace("n // 2", "n / 3"), "test_calc.py": TEST + HALF + "\n# two\n"},
    ),
]


def make_history(place: Path, steps: int = len(STEPS)) -> Path:
    """Make a repository of the first steps."""
    place.mkdir()
    person("init", "-q", "-b", "main", ".", at=place)
    for message, files in STEPS[:steps]:
        for path, text in files.items():
            (place / path).write_text(text)
        person("add", "-A", at=place)
        person("commit", "-q", "-m", message, at=place)
    return place


def order(history: Path, limit: int = 20) -> Order:
    """Return an order for all of a history."""
    return Order(repository=history, out=history.parent / "cases", limit=limit, scan=100, tools=[TOOLS])
