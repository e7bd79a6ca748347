"""Results to stdout; progress goes to stderr, in modules of its own."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from cltr.cli.common.json_stdout import json_stdout
from cltr.files.storage import finite

if TYPE_CHECKING:
    from cltr.report.rendering import Tables

UNFOLDED = 10_000
"""Columns of a file or a pipe."""


def print_json(value: Any) -> None:
    """Exactly one JSON object; what is not a number in JSON is null."""
    click.echo(json.dumps(finite(value), indent=2, allow_nan=False), file=json_stdout())


def show(result: Any, tables: "Tables", *, as_json: bool, width: int | None = None) -> None:
    """A result, for machines or for people.

    Args:
        result: ready for JSON.
        tables: the same for people; lazy, so that it costs nothing where nobody looks.
        as_json: print exactly one JSON object.
        width: columns; those of the terminal by default.
    """
    if as_json:
        print_json(result)
        return
    from cltr.report.rendering import print_tables
    from cltr.report.terminal import Terminal

    print_tables(tables, Terminal(width=width))


def terminal_width() -> int:
    """Columns of the terminal; in a file or a pipe nothing needs to be folded."""
    console = Console()
    return console.width if console.is_terminal else UNFOLDED


def end_with(result: Mapping[str, Any]) -> None:
    """Exit code 1 where cells failed; what there is has been shown."""
    if result.get("failed"):
        raise SystemExit(1)
