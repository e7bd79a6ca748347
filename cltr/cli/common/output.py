"""Results to stdout; progress goes to stderr, in modules of its own."""

import json
from typing import Any

import click
from rich.console import Console

from cltr.cli.common.json_stdout import json_stdout
from cltr.files.storage import finite


def print_json(value: Any) -> None:
    """Exactly one JSON object; what is not a number in JSON is null."""
    click.echo(json.dumps(finite(value), indent=2, allow_nan=False), file=json_stdout())


def print_result(result: dict[str, Any], *, as_json: bool) -> None:
    """A run's result, for machines or for people."""
    if as_json:
        print_json(result)
        return
    from cltr.report.run_tables import result_tables

    console = Console()
    for table in result_tables(result):
        console.print(table)


def end_with(result: dict[str, Any]) -> None:
    """Exit code 1 where cells failed; what there is has been shown."""
    if result.get("failed"):
        raise SystemExit(1)
