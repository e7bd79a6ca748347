"""Progress of a run, on stderr."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import Progress as RichBars

from cltr.pipeline import Progress
from cltr.training import TrainingOptions, TrainingState


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
