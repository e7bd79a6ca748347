"""Numbers that may depend on N: ``0.5``, ``100/N``, ``1/log(N)``."""

import math
import re
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer

_NUMBER = r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?"
_PATTERN = re.compile(rf"\s*({_NUMBER})\s*(?:/\s*(N|sqrt\(N\)|log\(N\)|log10\(N\)))?\s*")
_GROWTH = {
    "N": lambda n: n,
    "sqrt(N)": math.sqrt,
    "log(N)": math.log,
    "log10(N)": math.log10,
}


class Schedule:
    """A number, or a number divided by N, sqrt(N), log(N) (natural) or log10(N).

    Example:
        >>> Schedule("100/N")(100_000)
        0.001
        >>> Schedule(0.5)(100_000)
        0.5
    """

    def __init__(self, text: Any) -> None:
        match = _PATTERN.fullmatch(str(text))
        if match is None:
            raise ValueError(
                "input should be a number or a schedule such as "
                "100/N, 1/sqrt(N), 1/log(N), 1/log10(N)"
            )
        self.text = str(text).replace(" ", "")
        self._scale = float(match[1])
        self._growth = match[2]
        if self._scale <= 0 or not math.isfinite(self._scale):
            raise ValueError("input should be positive and finite")

    @property
    def constant(self) -> float | None:
        """The number, if it does not depend on N."""
        return None if self._growth else self._scale

    def __call__(self, n: int) -> float:
        """The value at N, at most 1 where it depends on N."""
        if self._growth is None:
            return self._scale
        growth = _GROWTH[self._growth](n) if n > 0 else 0.0
        return min(1.0, self._scale / growth) if growth > 0 else 1.0

    def __repr__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schedule) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def plain(self) -> float | str:
        """As it is written in a run file."""
        return self.text if self.constant is None else self.constant


def _parse(value: Any) -> Schedule:
    return value if isinstance(value, Schedule) else Schedule(value)


ScheduleOption = Annotated[
    Any, BeforeValidator(_parse), PlainSerializer(lambda schedule: schedule.plain())
]
"""Type of an option that takes a number or a schedule."""
