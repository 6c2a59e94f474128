"""Charts as numbers: where the bars and the line of a drawing are. Pure; the template writes the SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from domain.budget import show_money
from domain.model import Money

WIDTH = 960
HEIGHT = 240
LEFT = 56
RIGHT = 56
TOP = 16
BOTTOM = 28


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One day: its bar's place and size, and what is said of it."""

    day: str
    label: str
    x: float
    y: float
    width: float
    height: float
    spent: Money
    total: Money


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A line across the chart at an amount; `total` is what the cumulative line means there."""

    y: float
    label: str
    total: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendChart:
    """Bars by day, and the sum so far as points of a line ("x,y x,y")."""

    bars: tuple[Bar, ...]
    line: str
    ticks: tuple[Tick, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    base: int = HEIGHT - BOTTOM


def spend_chart(by_day: dict[str, Money], first: date, days: int) -> SpendChart:
    """Draw some days from `first` on; a day that is not named cost nothing."""
    names = [(first + timedelta(days=at)).isoformat() for at in range(days)]
    amounts = [by_day.get(name, Money(0)) for name in names]
    sums: list[Money] = []
    for amount in amounts:
        sums.append((sums[-1] if sums else Money(0)) + amount)
    top, most = nice_top(max(amounts, default=Money(0))), nice_top(sums[-1] if sums else Money(0))
    room = HEIGHT - TOP - BOTTOM
    step = (WIDTH - LEFT - RIGHT) / max(1, days)
    bars, points = [], []
    for at, (name, amount) in enumerate(zip(names, amounts, strict=True)):
        height = float(amount / top) * room
        x = LEFT + at * step
        bars.append(
            Bar(
                day=name,
                label=name[8:].lstrip("0") if days <= 31 else name[5:],
                x=round(x + step * 0.14, 1),
                y=round(HEIGHT - BOTTOM - height, 1),
                width=round(step * 0.72, 1),
                height=round(height, 1),
                spent=amount,
                total=sums[at],
            )
        )
        points.append(f"{x + step / 2:.1f},{HEIGHT - BOTTOM - float(sums[at] / most) * room:.1f}")
    return SpendChart(bars=tuple(bars), line=" ".join(points), ticks=_ticks(top, most, room))


def nice_top(amount: Money) -> Money:
    """Return the round amount at or above this one that a scale ends with; 1 for nothing."""
    if amount <= 0:
        return Money(1)
    unit = Decimal(10) ** amount.adjusted()
    return next(unit * factor for factor in (1, 2, 4, 5, 8, 10) if unit * factor >= amount)


def bar_width(part: Money | float, whole: Money | float) -> int:
    """Return a part of a whole in per cent, 0 to 100; something is at least 1."""
    if whole <= 0 or part <= 0:
        return 0
    return max(1, min(100, round(100 * float(part) / float(whole))))


def _ticks(top: Money, most: Money, room: int) -> tuple[Tick, ...]:
    steps: Sequence[int] = (0, 1, 2, 3, 4)
    return tuple(
        Tick(
            y=round(HEIGHT - BOTTOM - room * at / 4, 1),
            label=show_money(top * at / 4),
            total=show_money(most * at / 4),
        )
        for at in steps
    )
