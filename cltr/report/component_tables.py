"""Installed components as tables: what there is, who provides it, and its options."""

import re
from typing import Any

from rich.table import Table
from rich.text import Text

from cltr.report.terminal import Terminal


def print_components(result: dict[str, Any], *, detailed: bool) -> None:
    """Components by role; with their options when few are asked for."""
    console = Terminal()
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
        told = f" {failure['package']} {failure['version']}: {failure['error']}"
        console.print(Text.assemble(("failed", "red"), told), soft_wrap=True)
        if failure.get("traceback"):
            console.print(failure["traceback"].rstrip(), soft_wrap=True)
    for word, key in (("note", "notes"), ("clash", "clashes")):
        for line in result[key]:
            console.print(Text.assemble((word, "yellow"), f" {line}"), soft_wrap=True)


def _plain_text(summary: str) -> str:
    """Mathematics and quotes of a docstring as they read in a terminal."""
    return re.sub(r":math:`([^`]*)`|``([^`]*)``", r"\1\2", summary)
