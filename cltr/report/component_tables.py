"""Installed components as tables: what there is, who provides it, and its options."""

import re
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table


def print_components(result: dict[str, Any], *, detailed: bool) -> None:
    """Components by role; with their options when few are asked for."""
    console = Console()
    table = Table("role", "name", "package", "what it is")
    for row in result["components"]:
        package = f"{row['package']} {row['version']}".strip()
        table.add_row(row["role"], row["name"], package, _plain_text(row["summary"]))
    if result["components"]:
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
            f"[red]failed[/] {escape(failure['package'])} {escape(failure['version'])}: "
            f"{escape(failure['error'])}",
            highlight=False,
            soft_wrap=True,
        )
        if failure.get("traceback"):
            console.print(escape(failure["traceback"].rstrip()), highlight=False, soft_wrap=True)
    for note in result["notes"]:
        console.print(f"[yellow]note[/] {escape(note)}", highlight=False, soft_wrap=True)
    for clash in result["clashes"]:
        console.print(f"[yellow]clash[/] {escape(clash)}", highlight=False)


def _plain_text(summary: str) -> str:
    """Mathematics and quotes of a docstring as they read in a terminal."""
    return escape(re.sub(r":math:`([^`]*)`|``([^`]*)``", r"\1\2", summary))
