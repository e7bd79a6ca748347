"""A data set as a table: its splits, list lengths and grades."""

from collections.abc import Iterator
from typing import Any

from rich.table import Table

from cltr.report.terminal import Terminal


def print_info(info: dict[str, Any]) -> None:
    """A data set: its splits in a table, the rest in lines."""
    console = Terminal()
    grades = sorted({g for part in info["splits"].values() for g in part["grades"]}, key=float)
    table = Table("", title=f"{info['name']}: {info['features']:,} features", title_justify="left")
    for column in ("queries", "documents", "list length", "median"):
        table.add_column(column, justify="right")
    if grades:
        listed = " ".join(grades[:_MOST_GRADES])
        table.add_column(f"% of documents\nof grade {listed}")
    splits = info["splits"]
    if info.get("shared"):
        splits = {"all": splits["train"]}
    for split, part in splits.items():
        length = part["list_length"]
        total = max(sum(part["grades"].values()), 1)
        shares = [part["grades"].get(grade, 0) / total for grade in grades]
        table.add_row(
            split,
            f"{part['queries']:,}",
            f"{part['documents']:,}",
            f"{length['min']:g}"
            if length["min"] == length["max"]
            else f"{length['min']:g}-{length['max']:g}",
            f"{length['median']:g}",
            *[" ".join(f"{100 * share:.1f}" for share in shares[:_MOST_GRADES])][: len(grades)],
        )
    console.print(table)
    for line in _judgements(info):
        console.print(line)
    if info.get("feature_names"):
        console.print(f"features: {_listed(info['feature_names'])}")
    for note in info.get("notes", []):
        console.print(f"note: {note}")
    normalization = f"normalization {info['normalization']}, fingerprint {info['fingerprint']}"
    path = f", {info['path']}" if "path" in info else ""
    path += f" ({info['shards']} shards)" if "shards" in info else ""
    console.print(f"{normalization}{path}", style="dim")


def _judgements(info: dict[str, Any]) -> Iterator[str]:
    judged, queries = info["judged_queries"], info["queries"]
    if not judged:
        yield "no judgements: rankings can be judged by clicks only"
        return
    if judged < queries:
        yield f"{judged:,} of {queries:,} queries have judgements"
    barren = sum(part["queries_without_relevant"] for part in info["splits"].values())
    yield f"{barren:,} of {judged:,} queries have no relevant document"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


_MOST_NAMES = 12
_MOST_GRADES = 6
