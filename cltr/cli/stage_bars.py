"""A bar for each stage of long work, on stderr."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)


class StageBars:
    """Stages one after the other; a stage that begins ends the one before."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._task: TaskID | None = None

    def begin(self, text: str, *, total: int | None = None) -> None:
        """A new stage."""
        self.end()
        self._task = self._bars.add_task(text, total=total, note="")

    def advance(self, n: int) -> None:
        """So many more are done."""
        if self._task is not None:
            self._bars.advance(self._task, n)

    def update(self, **fields: Any) -> None:
        """What the stage's bar shows: ``completed``, ``total``, ``note``."""
        if self._task is not None:
            self._bars.update(self._task, **fields)

    def end(self) -> None:
        """The stage is over."""
        if self._task is not None:
            done = self._bars.tasks[self._task].completed or 1
            self._bars.update(self._task, total=done, completed=done)


@contextmanager
def stage_bars(*, width: int) -> Iterator[StageBars]:
    """Bars while work goes on, with so many columns for the stage's name."""
    columns = (
        SpinnerColumn(finished_text="[green]✓"),
        TextColumn(f"{{task.description:<{width}}}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.fields[note]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bars:
        stages = StageBars(bars)
        yield stages
        stages.end()
