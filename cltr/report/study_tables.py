"""A study as tables: methods by interactions, the paper's statements, Figure 1."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from cltr.looks import POINT, label

COLUMNS = 5


def study_tables(result: Mapping[str, Any]) -> Iterator[Table | Text]:
    """Mean and interval of each method at some numbers of interactions."""
    if result["title"]:
        yield Text.assemble((result["title"], "bold"), f", data {result['data']}")
    n = result["interactions"]
    shown = sorted({round(i) for i in np.linspace(0, len(n) - 1, min(len(n), COLUMNS))})
    many = len(result["curves"]) > 1
    for users, curves in result["curves"].items():
        table = Table(
            title=f"{result['measure']}, users {users}" if many else result["measure"],
            title_justify="left",
            caption=_caption(result),
            caption_justify="left",
        )
        table.add_column("N", min_width=10)
        for i in shown:
            table.add_column(_short(n[i]), justify="right")
        for name, value in result["references"].items():
            table.add_row(name, *[_band(value["mean"], value["high"])] * len(shown), style="dim")
        for name, curve in curves.items():
            table.add_row(name, *(_band(curve["mean"][i], curve["high"][i]) for i in shown))
        yield table
    yield from _failures(result["failed"])
    for statement in result["statements"]:
        word = ("holds", "green") if statement["holds"] else ("fails", "yellow")
        yield Text.assemble(word, f" {statement['claim']}")
        for numbers in statement["numbers"].split("; "):
            yield Text(f"      {numbers}", "dim")
    yield from _files(result)


def panel_tables(result: Mapping[str, Any]) -> Iterator[Table | Text]:
    """The safety panel: a line for each method, then each kind of users."""
    yield Text.assemble((result["title"], "bold"), f", data {result['data']}")
    table = Table(
        title=f"gain of {result['measure']} on production, as a share of it",
        title_justify="left",
        caption="worst: the worst seed. below: runs more than 1% below production. worst case:\n"
        f"NDCG points ({POINT}) that can be lost whatever users find relevant, mean over seeds.",
        caption_justify="left",
        box=box.SIMPLE,
        padding=(0, 1, 0, 0),
    )
    table.add_column("method", no_wrap=True)
    for heading in PANEL_COLUMNS:
        table.add_column(heading, justify="right")
    for line in result["methods"]:
        table.add_row(label(line["method"]), *panel_cells(line))
    yield table
    yield from _failures(result["failed"])
    yield from _files(result)


PANEL_COLUMNS = (
    "as\nassumed\nmean",
    "other\nusers\nmean",
    "other\nusers\nworst",
    "\nrandom\nworst",
    "adver-\nsarial\nworst",
    "\n\nbelow",
    "worst\ncase,\npoints",
)
"""Headings of the panel's short table."""


def panel_cells(line: Mapping[str, Any]) -> list[str]:
    """A method's numbers, in the order of the headings."""
    gains = ("as_assumed", "otherwise", "otherwise_worst", "random_worst", "adversarial_worst")
    shown = ["-" if line[key] is None else f"{line[key]:+.1%}" for key in gains]
    return [*shown, f"{line['runs_below']:.1%}", f"{100 * line['worst_case']:.1f}"]


def _failures(failed: list[dict[str, Any]]) -> Iterator[Text]:
    """Cells without a result, those with the same error together."""
    for error, rows in groupby(failed, key=lambda row: str(row["error"])):
        first, *others = rows
        where = f"{first['method']}, N {first['interactions']}, seed {first['seed']}"
        more = f" and {len(others)} more" if others else ""
        yield Text.assemble(("failed", "red"), f" {where}{more}: {error}")


def _files(result: Mapping[str, Any]) -> Iterator[Text]:
    for path in (result["results"], *result["pictures"]):
        yield Text(path, "dim", no_wrap=True)


def _caption(result: Mapping[str, Any]) -> str:
    n = len(result["seeds"])
    interval = f"half width of the {result['interval']:.0%} prediction interval"
    return f"mean of {n} seeds, {interval}" if n > 1 else "one seed"


def clipping_tables(result: Mapping[str, Any]) -> Iterator[Table | Text]:
    """The numbers of Figure 1."""
    ranks = sorted({row["new_rank"] for row in result["rows"]})
    for reward in (1.0, -1.0):
        table = Table(
            title=f"r = {reward:+.0f}: weight ratio by new rank; * where it is clipped",
            title_justify="left",
            box=box.SIMPLE,
            padding=0,
        )
        table.add_column("from")
        for rank in ranks:
            table.add_column(str(rank), justify="right")
        rows = [row for row in result["rows"] if row["reward"] == reward]
        for origin in dict.fromkeys(row["rank"] for row in rows):
            table.add_row(str(origin), *(_ratio(row) for row in rows if row["rank"] == origin))
        yield table
    yield from _files(result)


def _ratio(row: dict[str, Any]) -> str:
    return f"{row['clipped']:.2f}{' ' if row['clipped'] == row['ratio'] else '*'}"


def _band(mean: float | None, high: float | None) -> Text:
    if mean is None or not np.isfinite(mean):
        return Text("-")
    half = 0.0 if high is None or not np.isfinite(high) else high - mean
    return Text.assemble(f"{mean:.4f}", (f" ±{half:.3f}" if half else "", "dim"))


def _short(n: int) -> str:
    return f"{n:,}" if n < 1e6 else f"{n:.2g}"
