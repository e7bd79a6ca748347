"""Progress bars on stderr: in a terminal, or if the caller asks for them.

Each function here takes ``show``: True and False decide; None shows bars if stderr is a terminal.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

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
from rich.progress import Progress as Bars

from cltr.clicks.model_comparison import FitProgress
from cltr.experiment.progress import Progress
from cltr.files.table_files import OnShare, silent
from cltr.report.visible import visible

if TYPE_CHECKING:
    from cltr.studies.runner import Progressed
    from cltr.training.loop import TrainingOptions, TrainingState


def wanted(show: bool | None) -> bool:
    """Return True if progress bars are drawn."""
    return sys.stderr.isatty() if show is None else show


class StageBars:
    """Progress bars of stages; a new stage ends the one before it."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._task: TaskID | None = None

    def begin(self, text: str, *, total: int | None = None) -> None:
        """Begin a new stage."""
        self.end()
        self._task = self._bars.add_task(escape(visible(text)), total=total, note="")

    def advance(self, n: int) -> None:
        """Add to the number of finished steps."""
        if self._task is not None:
            self._bars.advance(self._task, n)

    def update(self, **fields: Any) -> None:
        """Change what the bar shows: ``completed``, ``total``, ``note``."""
        if self._task is not None:
            self._bars.update(self._task, **fields)

    def end(self) -> None:
        """End the stage."""
        if self._task is not None:
            done = self._bars.tasks[self._task].completed or 1
            self._bars.update(self._task, total=done, completed=done)


@contextmanager
def stage_bars(*, width: int) -> Iterator[StageBars]:
    """Show bars during the work; ``width`` is the width of its name."""
    columns = (
        SpinnerColumn(finished_text="[green]✓"),
        TextColumn(f"{{task.description:<{width}}}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("[dim]{task.fields[note]}"),
    )
    with Bars(*columns, console=Console(stderr=True)) as bars:
        stages = StageBars(bars)
        yield stages
        stages.end()


class RunBars(Progress):
    """One bar per stage."""

    def __init__(self, bars: StageBars) -> None:
        self._bars = bars

    def stage(self, text: str) -> None:
        self._bars.begin(text)

    def epoch(self, state: "TrainingState", options: "TrainingOptions") -> None:
        value = state.history[-1].get("valid_value")
        note = "" if value is None else f"value {value:.4f}, best epoch {state.best_epoch}"
        self._bars.update(completed=state.epoch, total=options.epochs, note=note)


@contextmanager
def run_progress(show: bool | None = None) -> Iterator[Progress]:
    """Show bars on stderr during a run."""
    if not wanted(show):
        yield Progress()
        return
    with stage_bars(width=18) as bars:
        yield RunBars(bars)


class FitBars(FitProgress):
    """One bar per stage."""

    def __init__(self, bars: StageBars) -> None:
        self._bars = bars

    def stage(self, text: str, total: int | None = None) -> None:
        self._bars.begin(text, total=total)

    def advance(self, n: int = 1) -> None:
        self._bars.advance(n)

    def note(self, text: str) -> None:
        self._bars.update(note=escape(visible(text)))


@contextmanager
def fit_progress(show: bool | None = None) -> Iterator[FitProgress]:
    """Show bars on stderr while models are fitted."""
    if not wanted(show):
        yield FitProgress()
        return
    with stage_bars(width=20) as bars:
        yield FitBars(bars)


@contextmanager
def byte_progress() -> Iterator[Callable[[str, int, int], None]]:
    """Show a bar of bytes read for each stage, on stderr."""
    columns = (
        TextColumn("{task.description:<18}"),
        BarColumn(bar_width=24),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, TaskID] = {}

        def update(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield update


@contextmanager
def share_progress(show: bool | None = None) -> Iterator[OnShare]:
    """Show a bar for each stage, on stderr."""
    if not wanted(show):
        yield silent
        return
    columns = (
        TextColumn("{task.description:<18}"),
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, TaskID] = {}

        def update(stage: str, done: float) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=1.0)
            bars.update(tasks[stage], completed=done)

        yield update


@contextmanager
def cell_progress(show: bool | None = None) -> Iterator[Callable[["Progressed"], None]]:
    """Show a bar of finished runs with the estimated remaining time."""
    if not wanted(show):
        yield lambda progressed: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=28),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.fields[note]}"),
    )
    bars = Bars(*columns, console=Console(stderr=True))
    task = bars.add_task("cells", total=None, left="", note="")
    try:

        def update(progressed: "Progressed") -> None:
            bars.start()  # with the first news: what is refused before shows no bar
            elapsed = bars.tasks[task].elapsed or 0.0
            new = progressed.done - progressed.found_before
            rest = progressed.total - progressed.done
            left = f"[cyan]{_clock(elapsed / new * rest)} left[/]" if new and rest else ""
            notes = [f"{progressed.found_before} from before"] if progressed.found_before else []
            notes += [f"[red]{progressed.failed} failed[/]"] if progressed.failed else []
            bars.update(
                task,
                completed=progressed.done,
                total=progressed.total,
                left=left,
                note=", ".join(notes),
            )

        yield update
    finally:
        if bars.live.is_started:
            bars.stop()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
