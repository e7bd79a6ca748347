"""Results to stdout; progress goes to stderr, in modules of its own."""

import json
import re
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cltr.storage import finite


def print_json(value: Any) -> None:
    """Exactly one JSON object; what is not a number in JSON is null."""
    click.echo(json.dumps(finite(value), indent=2, allow_nan=False))


def print_result(result: dict[str, Any], *, as_json: bool) -> None:
    """A run's result, for machines or for people."""
    if as_json:
        print_json(result)
        return
    from cltr.report import result_tables

    console = Console()
    for table in result_tables(result):
        console.print(table)


def print_simulation(result: dict[str, Any]) -> None:
    """What was drawn, and how often each rank was clicked."""
    console = Console()
    console.print(
        f"{result['n_interactions']:,} training interactions of users [bold]{result['users']}[/], "
        f"{result['clicks']['train']:,} clicks, in {result['seconds']:.1f} s: {result['log']}"
    )
    table = Table("rank", "clicks per impression", "")
    highest = max(result["click_rate"], default=0.0) or 1.0
    for rank, rate in enumerate(result["click_rate"], start=1):
        table.add_row(str(rank), f"{rate:.4f}", "█" * round(30 * rate / highest))
    console.print(table)


def print_components(result: dict[str, Any], *, detailed: bool) -> None:
    """Components by role; with their options when few are asked for."""
    console = Console()
    table = Table("role", "name", "package", "what it is")
    for row in result["components"]:
        package = f"{row['package']} {row['version']}".strip()
        table.add_row(row["role"], row["name"], package, _plain_text(row["summary"]))
    console.print(table)
    for row in result["components"] if detailed else ():
        options = Table("option", "default", "meaning", title=f"{row['role']} {row['name']}")
        options.title_justify = "left"
        for key, option in row["options"].items():
            options.add_row(key, str(option["default"]), option["description"])
        if row["options"]:
            console.print(options)
    for failure in result["failed"]:
        console.print(
            f"[red]failed[/] {failure['package']} {failure['version']}: {failure['error']}",
            highlight=False,
        )
    for clash in result["clashes"]:
        console.print(f"[yellow]clash[/] {clash}", highlight=False)


def _plain_text(summary: str) -> str:
    """Mathematics and quotes of a docstring as they read in a terminal."""
    return escape(re.sub(r":math:`([^`]*)`|``([^`]*)``", r"\1\2", summary))
