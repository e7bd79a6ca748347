"""``make bench`` and a whole run of an earlier version and of this one, in turn: writes one JSON.

    git clone . ../earlier && git -C ../earlier checkout COMMIT
    python tests/benchmarks/before_after.py ../earlier --out docs/before-after.json

Both use this interpreter and its libraries. What is slower and what is faster is compared by
processor time, the smaller of the turns; the whole run by the clock. Rows that only one of both
versions has are left out. ``python docs/fill_results.py`` writes the table of the page.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.benchmarks.conftest import clock

ROOT = Path(__file__).parents[2]
BENCH = ("-m", "pytest", "tests/benchmarks", "-p", "no:xdist", "-q", "--benchmark-quiet")
CHOSEN = ("-o", "python_files=bench_*.py", "-o", "python_functions=bench_*")
WHOLE = "tests/benchmarks/whole_run.py"
Row = dict[str, Any]


def python(checkout: Path, *words: str) -> str:
    """Run Python with the packages of a checkout; what it prints."""
    packages = [checkout, *sorted((checkout / "plugins").iterdir())]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, packages))}
    done = subprocess.run(
        [sys.executable, *words],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(
            f"{checkout}: {' '.join(words)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    return done.stdout


def bench(checkout: Path) -> dict[tuple[str, str], float]:
    """Seconds of the processor, by stage and work."""
    (checkout / ".benchmarks").mkdir(exist_ok=True)
    python(checkout, *BENCH, *CHOSEN)
    rows = json.loads((checkout / ".benchmarks" / "rows.json").read_text(encoding="utf-8"))["rows"]
    timed = (row for row in rows if isinstance(row.get("ours"), float))
    return {(row["stage"], row["work"]): row["ours"] for row in timed}


def whole_run(checkout: Path, data: Path) -> dict[tuple[str, str], float]:
    """Seconds of the clock, by stage."""
    for name in (WHOLE, "tests/benchmarks/memory.py"):
        if not (checkout / name).exists():
            shutil.copy(ROOT / name, checkout / name)
    told = python(checkout, WHOLE, "--data", str(data))
    found = re.findall(r"^\| (.+?) \| ([\d.]+) \|", told, re.MULTILINE)
    return {("whole run, by the clock", stage): float(seconds) for stage, seconds in found}


def commit_of(checkout: Path) -> str:
    """Its short name."""
    words = ["git", "-C", str(checkout), "log", "-1", "--format=%h"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def measure(before: Path, turns: int, data: Path) -> list[Row]:
    """All rows that both versions have."""
    found: dict[Path, dict[tuple[str, str], float]] = {before: {}, ROOT: {}}
    for _ in range(turns):
        for checkout, best in found.items():
            for measured in (bench(checkout), whole_run(checkout, data)):
                for row, seconds in measured.items():
                    best[row] = min(seconds, best.get(row, seconds))
    return [
        {"stage": row[0], "work": row[1], "before": seconds, "after": found[ROOT][row]}
        for row, seconds in found[before].items()
        if row in found[ROOT]
    ]


def table(measured: dict[str, Any]) -> str:
    """For the page: the largest gains first."""
    rows = sorted(measured["rows"], key=lambda row: row["after"] / row["before"])
    lines = [
        f"Measured on: {measured['machine']}; commits {measured['before']} and "
        f"{measured['after']}.",
        "",
        "| stage | work | before | after | times as fast |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        times = (clock(row[which]) for which in ("before", "after"))
        factor = row["before"] / row["after"]
        lines.append(f"| {row['stage']} | {row['work']} | {' | '.join(times)} | {factor:.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", type=Path, help="a checkout of the earlier version")
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--data", type=Path, default=Path("whole-run.h5"), help="made if missing")
    parser.add_argument("--out", type=Path, default=Path("before-after.json"))
    arguments = parser.parse_args()
    before = arguments.before.resolve()
    rows = measure(before, arguments.turns, arguments.data.resolve())
    latest = json.loads((ROOT / ".benchmarks" / "rows.json").read_text(encoding="utf-8"))
    found = {
        "machine": latest["machine"],
        "before": commit_of(before),
        "after": commit_of(ROOT),
        "rows": rows,
    }
    arguments.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(table(found) + "\n")


if __name__ == "__main__":
    main()
