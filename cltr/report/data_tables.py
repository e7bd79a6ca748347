"""A data set as a table: its splits, list lengths and grades."""

from typing import Any

from rich.console import Console
from rich.table import Table


def print_info(info: dict[str, Any]) -> None:
    """A data set: its splits in a table, the rest in lines."""
    console = Console()
    grades = sorted({g for part in info["splits"].values() for g in part["grades"]}, key=float)
    table = Table("", title=f"{info['name']}: {info['features']:,} features", title_justify="left")
    for column in ("queries", "documents", "list length", "median"):
        table.add_column(column, justify="right")
    table.add_column(f"% of grade {' '.join(grades[:_MOST_GRADES])}")
    for split, part in info["splits"].items():
        length = part["list_length"]
        shares = [part["grades"].get(grade, 0) / max(part["documents"], 1) for grade in grades]
        table.add_row(
            split,
            f"{part['queries']:,}",
            f"{part['documents']:,}",
            f"{length['min']:g}-{length['max']:g}",
            f"{length['median']:g}",
            " ".join(f"{100 * share:.1f}" for share in shares[:_MOST_GRADES]),
        )
    console.print(table)
    barren = sum(part["queries_without_relevant"] for part in info["splits"].values())
    console.print(f"{barren:,} of {info['queries']:,} queries have no relevant document")
    for note in info.get("notes", []):
        console.print(f"note: {note}", highlight=False)
    normalization = f"normalization {info['normalization']}, fingerprint {info['fingerprint']}"
    console.print(f"{normalization}{', ' + info['path'] if 'path' in info else ''}", style="dim")


_MOST_GRADES = 6
