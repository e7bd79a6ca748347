"""Fill docs/coverage-tables.md and the summary of docs/coverage.md from docs/coverage.csv.

A table follows ``<!-- coverage KIND -->`` and is written anew from the rows of that kind;
``summary`` counts the rows of each kind by what they say.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from tests.coverage_tables.record import Row

DOCS = Path(__file__).parents[2] / "docs"
PAGE, SUMMARY = DOCS / "coverage-tables.md", DOCS / "coverage.md"
TABLE = DOCS / "coverage.csv"
MARK = re.compile(r"(<!-- coverage (\S+) -->\n)(?:\n?(?:\|.*\n)+)?")
INTERVALS = (
    "case",
    "quantity",
    "logs",
    "printed",
    "promised",
    "contain the truth",
    "covers",
    "mean width",
    "method",
)
BOUNDS = ("case", "bound", "logs", "hold", "covers", "mean distance from the estimate")
SELECTION = ("clicks", "runs", "mean of (reported − true), ± standard error")


def filled(page: str, rows: Sequence[Row]) -> str:
    """The page with the tables that the rows give."""
    return MARK.sub(lambda mark: mark[1] + "\n" + _table(mark[2], rows), page)


KINDS = {
    "off-policy": "values and gains estimated from clicks",
    "fit": "position and trust bias",
    "interval": "means of bounded terms, and the canary",
    "bound": "one-sided bounds",
}
VERDICTS = {
    "covers": ("yes",),
    "wider": ("yes, wider than needed",),
    "too narrow": ("no",),
    "not printed": ("not printed", "rarely printed"),
}


def _summary(rows: Sequence[Row]) -> str:
    lines = [["what", "rows", *VERDICTS], ["---"] * (2 + len(VERDICTS))]
    for kind, title in KINDS.items():
        said = [row.verdict for row in rows if row.kind == kind]
        counts = [sum(one in verdicts for one in said) for verdicts in VERDICTS.values()]
        assert sum(counts) == len(said)
        lines.append([title, str(len(said)), *map(str, counts)])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _table(kind: str, rows: Sequence[Row]) -> str:
    if kind == "summary":
        return _summary(rows)
    chosen = [row for row in rows if row.kind == kind]
    heads = {"bound": BOUNDS, "selection": SELECTION}
    shown = {"bound": _bound, "selection": _selection}
    head, show = heads.get(kind, INTERVALS), shown.get(kind, _interval)
    lines = [head, ["---"] * len(head), *(show(row) for row in chosen)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _interval(row: Row) -> list[str]:
    shares = [f"{row.nominal:.0%}", f"{row.share:.1%}", _said(row), f"{row.width:.3g}", row.methods]
    if not row.printed:
        shares = [f"{row.nominal:.0%}", "–", _said(row), "–", "–"]
    printed = f"{row.printed / row.logs:.0%}" if row.printed in (0, row.logs) else None
    return [row.case, row.quantity, f"{row.logs:,}", printed or f"{row.printed:,}", *shares]


def _bound(row: Row) -> list[str]:
    share, width = f"{row.share:.1%}", f"{row.width:.3g}"
    return [row.case, row.quantity, f"{row.logs:,}", share, _said(row), width]


def _selection(row: Row) -> list[str]:
    error = f"{row.error:+.4f} ± {row.error_se:.4f}"
    return [row.quantity, f"{row.logs:,}", error]


def _said(row: Row) -> str:
    return f"**{row.verdict}**" if row.verdict == "no" else row.verdict
