"""Contests: the same work done two ways, in turn, in the same run; one table, one JSON at the end.

Times are of the processor, which other work on the machine bends least; each side takes its turn in
every round, and a ratio is the median over the rounds. Peaks of memory are those of a process of
its own. Everything lands in the extra information of pytest-benchmark's JSON.
"""

import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cltr.experiment.library_setup import set_up_libraries

set_up_libraries()

HEADS = ("stage", "work", "ours", "against", "ratio", "bar", "peak MB")
ROWS: list[dict[str, Any]] = []
OUT = Path(__file__).parents[2] / ".benchmarks"

collect_ignore = ["clax_worker.py"]
"""Runs in an environment of its own, which has CLAX."""


class Contest:
    """Runs one benchmark's contestants and keeps what was found."""

    def __init__(self, benchmark: Any) -> None:
        self._benchmark = benchmark
        self._rows: list[dict[str, Any]] = []

    def __call__(
        self,
        stage: str,
        ours: Callable[[], Any],
        *,
        work: str,
        per: float = 1,
        bar: float | None = None,
        rounds: int = 9,
        **rivals: Callable[[], Any],
    ) -> dict[str, float]:
        """Measure ours against each rival.

        Args:
            stage: first column of the table.
            ours: what is to be fast.
            work: what both do, in words.
            per: how many units (queries, sessions) one call works on.
            bar: the most that the ratio to the first rival should be.
            rounds: turns; a first one warms up.
            rivals: by name, underscores for spaces.
        """
        sides = {"": ours, **rivals}
        spent = self._take_turns(sides, rounds)
        mine = min(spent[""]) / per
        for number, name in enumerate(rivals):
            pairs = zip(spent[""], spent[name], strict=True)
            self.row(
                stage=stage,
                work=work,
                ours=mine,
                against=f"{name.replace('_', ' ')} {clock(min(spent[name]) / per)}",
                ratio=statistics.median(own / other for own, other in pairs),
                bar=bar if number == 0 else None,
            )
        if not rivals:
            self.row(stage=stage, work=work, ours=mine)
        self._benchmark.pedantic(ours, rounds=1)
        self._benchmark.extra_info["rows"] = self._rows
        return {name: min(times) / per for name, times in spent.items()}

    @staticmethod
    def _take_turns(sides: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
        spent: dict[str, list[float]] = {name: [] for name in sides}
        for call in sides.values():
            call()
        for _ in range(rounds):
            for name, call in sides.items():
                start = time.process_time()
                call()
                spent[name].append(max(time.process_time() - start, 1e-9))
        return spent

    def row(self, **cells: Any) -> None:
        """A line of the table; ``ours`` in seconds."""
        self._rows.append(cells)
        ROWS.append(cells)

    def done(self, **cells: Any) -> None:
        """The only line, measured elsewhere, such as in a process of its own."""
        self.row(**cells)
        self.finish()

    def finish(self) -> None:
        """Hand the lines that were measured elsewhere to pytest-benchmark."""
        self._benchmark.extra_info["rows"] = self._rows
        self._benchmark.pedantic(lambda: None, rounds=1)


@pytest.fixture
def contest(benchmark: Any) -> Contest:
    """Contestants take turns; see :class:`Contest`."""
    return Contest(benchmark)


def clock(seconds: float) -> str:
    """A time for people.

    Example:
        >>> clock(0.00123)
        '1.23 ms'
    """
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def _ratio(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def cells_of(row: dict[str, Any]) -> list[str]:
    """A row as text."""
    shown = {
        **row,
        "ours": clock(row["ours"]) if isinstance(row.get("ours"), float) else row.get("ours"),
        "ratio": _ratio(row["ratio"]) if row.get("ratio") is not None else "",
        "bar": f"≤ {row['bar']:g}" if row.get("bar") is not None else "",
        "peak MB": f"{row['peak']:.0f}" if row.get("peak") is not None else "",
    }
    return [str(shown.get(head) or "") for head in HEADS]


def machine() -> str:
    """The machine in one line."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text().splitlines()
        model = next((x.split(":")[1].strip() for x in lines if x.startswith("model name")), model)
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}; load {load}"


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The table, in markdown, on the screen and in .benchmarks/table.md."""
    if not ROWS:
        return
    lines = ["| " + " | ".join(HEADS) + " |", "|" + "---|" * len(HEADS)]
    lines += ["| " + " | ".join(cells_of(row)) + " |" for row in ROWS]
    OUT.mkdir(exist_ok=True)
    (OUT / "table.md").write_text("\n".join([machine(), "", *lines]) + "\n")
    (OUT / "rows.json").write_text(json.dumps({"machine": machine(), "rows": ROWS}, indent=1))
    terminalreporter.write_line("")
    terminalreporter.write_line(machine())
    for line in lines:
        terminalreporter.write_line(line)
