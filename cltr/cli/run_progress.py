"""Progress of a run, on stderr."""

from collections.abc import Iterator
from contextlib import contextmanager

from cltr.cli.stage_bars import StageBars, stage_bars
from cltr.pipeline import Progress
from cltr.training import TrainingOptions, TrainingState


class LiveProgress(Progress):
    """One bar per stage."""

    def __init__(self, bars: StageBars) -> None:
        self._bars = bars

    def stage(self, text: str) -> None:
        self._bars.begin(text)

    def epoch(self, state: TrainingState, options: TrainingOptions) -> None:
        value = state.history[-1].get("valid_value")
        note = "" if value is None else f"value {value:.4f}, best epoch {state.best_epoch}"
        self._bars.update(completed=state.epoch, total=options.epochs, note=note)


@contextmanager
def live_progress() -> Iterator[Progress]:
    """Bars on stderr while a run works."""
    with stage_bars(width=18) as bars:
        yield LiveProgress(bars)
