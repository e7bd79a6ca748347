"""Measure the coverage of every interval that the tool prints, and write the page.

    python -m tests.coverage_tables

writes docs/coverage.csv and the tables of docs/coverage*.md. Interrupt it at any time; the same
command resumes. ``--only WORDS`` measures the cases whose name or kind contains the words, and
``--finished`` writes the tables from the logs that are finished.
"""

import argparse
import sys
import time
from pathlib import Path

from tests.coverage_tables import all_cases
from tests.coverage_tables.page import PAGE, SUMMARY, TABLE, filled
from tests.coverage_tables.record import (
    Case,
    Row,
    finished,
    read_rows,
    run_case,
    summarise,
    write_rows,
)


def measure(case: Case, folder: Path, *, logs: int) -> None:
    """Draw the logs of a case, with progress on stderr."""
    began, done = time.perf_counter(), 0

    def tick() -> None:
        nonlocal done
        done += 1
        if sys.stderr.isatty() or done in (logs // 4, logs // 2, logs):
            spent = time.perf_counter() - began
            end = "\n" if done == logs else "\r"
            sys.stderr.write(f"{case.kind}: {case.name}: {done} of {logs} logs, {spent:.0f} s{end}")
            sys.stderr.flush()

    run_case(case, folder, logs=logs, tick=tick)


def main() -> None:
    """Measure, then write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, help="Logs of each case. [as many as the page says]")
    parser.add_argument("--only", default="", help="Measure only cases that contain these words.")
    parser.add_argument("--work", type=Path, default=Path("runs/coverage"), help="Finished logs.")
    parser.add_argument("--table", type=Path, default=TABLE, help="The CSV file to write.")
    parser.add_argument(
        "--finished", action="store_true", help="Draw no log; write tables from finished ones."
    )
    options = parser.parse_args()
    known: dict[tuple[str, str], list[Row]] = {}
    for row in read_rows(options.table) if options.table.exists() else []:
        known.setdefault((row.kind, row.case), []).append(row)
    cases = all_cases()
    for case in cases:
        if options.only not in f"{case.kind}: {case.name}":
            continue
        if not options.finished:
            measure(case, options.work, logs=min(options.logs or case.logs, case.logs))
        if outcomes := finished(case, options.work):
            known[case.kind, case.name] = summarise(case, outcomes)
    rows = [row for case in cases for row in known.get((case.kind, case.name), [])]
    write_rows(rows, options.table)
    if options.table == TABLE:
        for page in (PAGE, SUMMARY):
            page.write_text(filled(page.read_text(encoding="utf-8"), rows), encoding="utf-8")


if __name__ == "__main__":
    main()
