"""Numbers to places in a picture: linear and logarithmic axes with round ticks."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Scale:
    """An axis between two numbers, drawn between two places."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """Where a number lies.

        Example:
            >>> Scale(0, 10, 100, 200)(5)
            150.0
        """
        low, high, value = (self._flat(one) for one in (self.low, self.high, value))
        share = 0.5 if high == low else (value - low) / (high - low)
        return self.start + share * (self.end - self.start)

    def _flat(self, value: float) -> float:
        return math.log10(max(value, 1e-300)) if self.logarithmic else value

    @property
    def ticks(self) -> list[float]:
        """Round numbers on the axis."""
        if self.logarithmic:
            first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            step = max(1, (last - first) // 5)
            return [10.0**power for power in range(first, last + 1, step)]
        distance = _step(self.high - self.low)
        first = math.ceil(self.low / distance - 1e-9)
        last = math.floor(self.high / distance + 1e-9)
        return [number * distance for number in range(first, last + 1)]


def _step(span: float, most: int = 5) -> float:
    """A round distance of ticks, at most so many of them."""
    rough = span / most
    size = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    return next(size * step for step in STEPS if size * step >= rough * (1 - 1e-9))


def around(
    values: Sequence[float], *, room: float = 0.06, zero: bool = False
) -> tuple[float, float]:
    """Limits that show all values.

    Args:
        values: finite numbers.
        room: share of the span that stays free at each side.
        zero: whether 0 must be among them.

    Example:
        >>> around([1.0, 3.0], room=0.5)
        (0.0, 4.0)
    """
    known = [value for value in values if math.isfinite(value)] + ([0.0] if zero else [])
    low, high = min(known, default=0.0), max(known, default=1.0)
    span = high - low or abs(high) or 1.0
    return low - room * span, high + room * span


def tick_text(value: float, ticks: Sequence[float]) -> str:
    """A tick's number, with as many digits as the ticks need.

    Example:
        >>> tick_text(0.5, [0.0, 0.5, 1.0]), tick_text(1e6, [1e3, 1e6]), tick_text(-2, [-2, 0])
        ('0.5', '1M', '−2')
    """
    largest = max(map(abs, ticks), default=1.0)
    if largest >= 1e4:
        for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
            if abs(value) >= size:
                return f"{value / size:g}{letter}"
    step = min((b - a for a, b in pairwise(ticks)), default=1.0)
    digits = max(0, min(6, -math.floor(math.log10(step) + 1e-9))) if step > 0 else 0
    if step > 0 and abs(step * 10**digits - round(step * 10**digits)) > 1e-6:
        digits += 1
    return f"{value:.{digits}f}".replace("-", "−")
