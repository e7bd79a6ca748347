"""What a run tells while it works."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cltr.training.loop import TrainingOptions, TrainingState


class Progress:
    """Told of stages and epochs; this one says nothing."""

    def stage(self, text: str) -> None:
        """A new stage begins."""

    def epoch(self, state: "TrainingState", options: "TrainingOptions") -> None:
        """An epoch of the current stage ended."""
