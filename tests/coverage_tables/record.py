"""What is measured: one interval of one log, and the share of many that contain the truth."""

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count, takewhile
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

CONFIDENCE = 0.95
"""Nominal coverage, unless a case says otherwise."""
FEW = 200
"""Below so many logs a row can show that an interval fails, but not that it covers."""


class Outcome(NamedTuple):
    """One interval from one log, and the truth; a one-sided bound has an infinite end."""

    quantity: str
    low: float
    high: float
    truth: float
    estimate: float
    method: str

    @property
    def covered(self) -> bool:
        """Whether the interval contains the truth, up to rounding."""
        slack = 1e-9 * max(1.0, abs(self.truth))
        return self.low - slack <= self.truth <= self.high + slack


@dataclass(frozen=True)
class Case:
    """Simulated logs of one kind; the number of a log is its seed."""

    kind: str
    name: str
    measure: Callable[[int], Iterable[Outcome]]
    logs: int = 1000
    one_sided: bool = False
    confidence: float = CONFIDENCE
    """What the tool says of these intervals."""

    @property
    def file(self) -> str:
        """Name of the file that keeps its outcomes."""
        words = "".join(letter if letter.isalnum() else " " for letter in self.name.lower())
        return f"{self.kind}-{'-'.join(words.split())}.csv"


class Row(NamedTuple):
    """One row of the table: a quantity in a case, over all logs."""

    kind: str
    case: str
    quantity: str
    sides: int
    """1 for a bound, 2 for an interval."""
    nominal: float
    """Coverage that the tool promises."""
    logs: int
    printed: int
    """Logs that have an interval; the tool prints none where a log does not support it."""
    covered: int
    too_low: int
    """Logs whose interval lies below the truth."""
    too_high: int
    """Logs whose interval lies above the truth."""
    width: float
    """Mean width of the intervals; of a bound, its mean distance from the estimate."""
    error: float
    """Mean of estimate minus truth."""
    error_se: float
    """Standard error of that mean."""
    methods: str
    """Methods that were used, the most frequent one first."""

    @property
    def share(self) -> float:
        """Coverage of the intervals that are printed."""
        return self.covered / self.printed if self.printed else float("nan")

    @property
    def verdict(self) -> str:
        """Whether coverage is the nominal one within two binomial standard errors."""
        if not self.printed:
            return "not printed"
        low, high = tolerance(self.printed, self.nominal)
        if self.share < low:
            return "no"
        if self.printed < FEW:
            return "rarely printed" if self.logs >= FEW else "too few logs"
        return "yes" if self.share <= high or self.sides == 1 else "yes, wider than needed"


def tolerance(logs: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Shares within two binomial standard errors of the nominal one.

    Example:
        >>> [round(share, 3) for share in tolerance(1000)]
        [0.936, 0.964]
    """
    error = np.sqrt(confidence * (1.0 - confidence) / logs)
    return confidence - 2.0 * float(error), confidence + 2.0 * float(error)


def summarise(case: Case, outcomes: Sequence[Outcome]) -> list[Row]:
    """The rows of a case, one for each quantity, in order of appearance."""
    by_quantity: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_quantity.setdefault(outcome.quantity, []).append(outcome)
    return [_row(case, quantity, found) for quantity, found in by_quantity.items()]


def _row(case: Case, quantity: str, found: Sequence[Outcome]) -> Row:
    low, high, truth, estimate = (
        np.array([getattr(one, name) for one in found])
        for name in ("low", "high", "truth", "estimate")
    )
    printed = np.isfinite(low) | np.isfinite(high)
    covered = printed & np.array([one.covered for one in found])
    width = np.where(np.isinf(low), high - estimate, estimate - low)
    if not case.one_sided:
        width = high - low
    bounded = np.isfinite(width)
    errors = estimate - truth
    used = [one.method for one, shown in zip(found, printed, strict=True) if shown]
    methods = sorted(dict.fromkeys(used), key=used.count, reverse=True)
    return Row(
        kind=case.kind,
        case=case.name,
        quantity=quantity,
        sides=1 if case.one_sided else 2,
        nominal=case.confidence,
        logs=len(found),
        printed=int(printed.sum()),
        covered=int(covered.sum()),
        too_low=int((~covered & (high < truth)).sum()),
        too_high=int((~covered & (low > truth)).sum()),
        width=float(width[bounded].mean()) if bounded.any() else 0.0,
        error=float(errors.mean()),
        error_se=float(errors.std(ddof=1) / np.sqrt(len(errors))) if len(errors) > 1 else 0.0,
        methods="; ".join(methods),
    )


def write_rows(rows: Iterable[Row], path: Path) -> None:
    """Write the table; numbers have six digits."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Row._fields)
        for row in rows:
            writer.writerow(f"{x:.6g}" if isinstance(x, float) else x for x in row)


def read_rows(path: Path) -> list[Row]:
    """The table that :func:`write_rows` wrote."""
    types = Row.__annotations__
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Row(**{name: types[name](value) for name, value in line.items()})
            for line in csv.DictReader(file)
        ]


def run_case(case: Case, folder: Path, *, logs: int, tick: Callable[[], None]) -> list[Outcome]:
    """Outcomes of the first logs of a case; those that an earlier run left are not drawn again."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / case.file
    done = _read_outcomes(path)
    _write_outcomes(done, path)  # without a log that an interruption tore
    with path.open("a", encoding="utf-8", newline="") as file:
        for seed in range(logs):
            if seed not in done:
                done[seed] = list(case.measure(seed))
                _append(seed, done[seed], file)
            tick()
    return [outcome for seed in range(logs) for outcome in done[seed]]


def finished(case: Case, folder: Path) -> list[Outcome]:
    """Outcomes of the logs that are there, from the first one on without a gap."""
    done = _read_outcomes(folder / case.file)
    seeds = takewhile(done.__contains__, count())
    return [outcome for seed in seeds for outcome in done[seed]]


def _append(seed: int, outcomes: Sequence[Outcome], file: IO[str]) -> None:
    """Each line says how many the log has, so that a torn log can be told."""
    rows = [[seed, len(outcomes), *outcome] for outcome in outcomes]
    csv.writer(file, lineterminator="\n").writerows(rows)
    file.flush()


def _write_outcomes(done: dict[int, list[Outcome]], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        for seed, outcomes in done.items():
            _append(seed, outcomes, file)


def _read_outcomes(path: Path) -> dict[int, list[Outcome]]:
    """Whole logs by number."""
    if not path.exists():
        return {}
    found: dict[int, list[Outcome]] = {}
    promised: dict[int, int] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for line in csv.reader(file):
            if len(line) == 2 + len(Outcome._fields):
                seed, promised[int(line[0])] = int(line[0]), int(line[1])
                quantity, *numbers, method = line[2:]
                found.setdefault(seed, []).append(Outcome(quantity, *map(float, numbers), method))
    return {seed: each for seed, each in found.items() if len(each) == promised[seed]}
