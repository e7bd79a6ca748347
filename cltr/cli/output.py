"""Results to stdout, progress to stderr."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.progress import (
    Progress as RichBars,
)
from rich.table import Table

from cltr.pipeline import Progress
from cltr.runs import finite
from cltr.training import TrainingOptions, TrainingState


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


class LiveProgress(Progress):
    """One bar per stage."""

    def __init__(self, bars: RichBars) -> None:
        self._bars = bars
        self._task: TaskID | None = None

    def stage(self, text: str) -> None:
        self._finish()
        self._task = self._bars.add_task(text, total=None, note="")

    def epoch(self, state: TrainingState, options: TrainingOptions) -> None:
        if self._task is None:
            return
        value = state.history[-1].get("valid_value")
        note = "" if value is None else f"value {value:.4f}, best epoch {state.best_epoch}"
        self._bars.update(self._task, completed=state.epoch, total=options.epochs, note=note)

    def _finish(self) -> None:
        if self._task is not None:
            task = self._bars.tasks[self._task]
            self._bars.update(self._task, total=task.completed or 1, completed=task.completed or 1)


@contextmanager
def live_progress() -> Iterator[Progress]:
    """Bars on stderr while a run works."""
    columns = (
        SpinnerColumn(finished_text="[green]✓"),
        TextColumn("{task.description:<18}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.fields[note]}"),
    )
    with RichBars(*columns, console=Console(stderr=True)) as bars:
        progress = LiveProgress(bars)
        yield progress
        progress._finish()


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


@contextmanager
def byte_progress() -> Iterator[Callable[[str, int, int], None]]:
    """A bar of bytes read, by stage, on stderr."""
    columns = (
        TextColumn("{task.description:<18}"),
        BarColumn(bar_width=24),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with RichBars(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, TaskID] = {}

        def update(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield update


def print_info(info: dict[str, Any]) -> None:
    """A data set: its splits in a table, the rest in lines."""
    console = Console()
    table = Table(title=f"{info['name']}: {info['features']:,} features", title_justify="left")
    grades = sorted({grade for part in info["splits"].values() for grade in part["grades"]})
    table.add_column("")
    for column in ("queries", "documents", "list length", "median"):
        table.add_column(column, justify="right")
    for grade in grades[:6]:
        table.add_column(f"grade {grade}", justify="right")
    for split, part in info["splits"].items():
        length = part["list_length"]
        table.add_row(
            split,
            f"{part['queries']:,}",
            f"{part['documents']:,}",
            f"{length['min']:g}-{length['max']:g}",
            f"{length['median']:g}",
            *(f"{part['grades'].get(g, 0) / max(part['documents'], 1):.1%}" for g in grades[:6]),
        )
    console.print(table)
    barren = sum(part["queries_without_relevant"] for part in info["splits"].values())
    console.print(f"{barren:,} of {info['queries']:,} queries have no relevant document")
    for note in info.get("notes", []):
        console.print(f"note: {note}", highlight=False)
    normalization = f"normalization {info['normalization']}, fingerprint {info['fingerprint']}"
    console.print(f"{normalization}{', ' + info['path'] if 'path' in info else ''}", style="dim")
