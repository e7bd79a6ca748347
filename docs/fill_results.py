"""Write the tables of the pages from the files of results: python docs/fill_results.py.

``safety.md`` from safety.csv, ``training.md`` from training.csv, ``variance.md`` from variance.csv,
``benchmarks.md`` and ``performance.md`` from benchmarks.json, before-after.json and
arithmetic-*.csv, ``scale.md`` from scaling.json. Each page names the command that measures its
file. Numbers in the sentences of ``performance.md`` come from the same rows and stand between
``<!-- number NAME -->`` and ``<!-- end -->``.
``--benchmarks`` first takes over what the last ``make bench`` left in .benchmarks.
"""

import importlib.util
import json
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path.insert(0, str(ROOT))


def _module(path: str) -> ModuleType:
    """A script of the repository as a module."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def tables() -> dict[tuple[str, str], str]:
    """All tables, by page and name."""
    tradeoff, training = (
        _module(f"examples/{name}.py") for name in ("safety_tradeoff", "training_table")
    )
    variance, scaling, before_after, arithmetic = (
        _module(f"tests/benchmarks/{name}.py")
        for name in ("variance", "scaling", "before_after", "arithmetic")
    )
    found = {
        ("safety.md", "tradeoff"): tradeoff.table(tradeoff.read(DOCS / "safety.csv")),
        ("variance.md", "variance"): variance.table(variance.read_rows()),
    }
    found["training.md", "training"] = training.table(training.read(DOCS / "training.csv"))
    found["benchmarks.md", "benchmarks"] = benchmarks()
    found["scale.md", "scaling"] = scaling.table(_read("scaling.json"))
    found["benchmarks.md", "before and after"] = before_after.table(_read("before-after.json"))
    for runs in ("AMD", "Intel", "regression"):
        results = DOCS / f"arithmetic-{runs.lower()}.csv"
        found["performance.md", f"arithmetic, {runs}"] = arithmetic.table(results)
    found["performance.md", "highlights"] = benchmarks(HIGHLIGHTS)
    return found


def _read(name: str) -> dict[str, Any]:
    """A file of results."""
    found: dict[str, Any] = json.loads((DOCS / name).read_text(encoding="utf-8"))
    return found


HIGHLIGHTS = (
    ("step, `exact`", "120 documents, K=5, score scale 1", "scorer alone"),
    ("step, `exact`", "1000 documents, K=5, score scale 1", "scorer alone"),
    ("step, `exact`", "120 documents, K=5, score scale 1", "textbook"),
    ("1000 rankings", "120 documents, K=5, score scale 6", ""),
    ("epoch, `exact`", "", ""),
    ("gradient, `exact`", "120 documents, K=5", ""),
    ("gradient, `exact`", "1000 documents, K=300", ""),
    ("import", "", ""),
    ("cltr ingest", "", ""),
    ("fit, `pbm`", "", ""),
    ("NDCG@5 of a ranking", "", ""),
    ("one candidate, IPS", "", ""),
    ("memory, train", "", ""),
    ("`cltr --help`", "", ""),
)
"""Stage, and how work and rival begin, of the rows that performance.md shows."""


def benchmarks(chosen: Sequence[tuple[str, str, str]] = ()) -> str:
    """What ``make bench`` measured, and on which machine; some rows, or all."""
    machine, heads, cells = _measured()
    if chosen:
        cells = [_row(cells, one) for one in chosen]
    lines = [f"Measured on: {machine}.", "", "| " + " | ".join(heads) + " |"]
    lines.append("|" + "---|" * len(heads))
    return "\n".join([*lines, *("| " + " | ".join(one) + " |" for one in cells)])


def _measured() -> tuple[str, Sequence[str], list[list[str]]]:
    """Machine, heads and rows. A row is what was measured, or the cells that were printed."""
    conftest = _module("tests/benchmarks/conftest.py")
    measured = _read("benchmarks.json")
    cells = [row if isinstance(row, list) else conftest.cells_of(row) for row in measured["rows"]]
    return measured["machine"], conftest.HEADS, cells


def numbers() -> dict[str, str]:
    """Numbers for sentences, by name."""
    rows = _measured()[2]

    def ratios(
        ranks: int, *documents: int, peaked: bool = True, rival: str = "scorer alone"
    ) -> str:
        """Of a step to the network alone, by torch or our own."""
        found = [
            float(row[4])
            for row in rows
            if row[0] == "step, `exact`"
            and row[3].startswith(rival)
            and any(row[1].startswith(f"{n} documents, K={ranks},") for n in documents)
            and (peaked or not row[1].endswith("scale 40"))
        ]
        return f"{min(found):.1f} to {max(found):.1f}"

    start = _row(rows, ("`cltr train`, start", "", ""))
    blocks = _row(rows, ("score", "1,000 queries", "65,536 rows"))
    return {
        "steps of 5": ratios(5, 120, 1000),
        "steps of 5, short": ratios(5, 10),
        "steps of 10": ratios(10, 120, 1000, peaked=False),
        "steps of 20": ratios(20, 120, 1000, peaked=False),
        "own steps of 5": ratios(5, 120, 1000, rival="own"),
        "own steps of 10": ratios(10, 120, 1000, peaked=False, rival="own"),
        "own steps of 20": ratios(20, 120, 1000, peaked=False, rival="own"),
        "start": start[2],
        "imports": re.sub(r".*numba ", "", start[3]),
        "blocks": f"{1 / float(blocks[4]):.1f}",
    }


def with_numbers(page: str) -> str:
    """The page with the numbers of its sentences."""
    found = numbers()
    return re.sub(
        r"(<!-- number (.*?) -->).*?(<!-- end -->)", lambda m: m[1] + found[m[2]] + m[3], page
    )


def _row(rows: list[list[str]], wanted: tuple[str, str, str]) -> list[str]:
    stage, work, rival = wanted
    found = [
        row
        for row in rows
        if row[0] == stage and row[1].startswith(work) and row[3].startswith(rival)
    ]
    if not found:
        raise ValueError(f"no row {wanted} in benchmarks.json")
    return found[0]


def main() -> None:
    """Fill all tables."""
    from tests.page_tables import write_table

    if "--benchmarks" in sys.argv:
        shutil.copy(ROOT / ".benchmarks" / "rows.json", DOCS / "benchmarks.json")
    for (page, name), table in tables().items():
        write_table(DOCS / page, name, table)
    page = DOCS / "performance.md"
    page.write_text(with_numbers(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
