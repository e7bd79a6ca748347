"""The result of a comparison of methods."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cltr.api.report import Reported
from cltr.report.page.subject import Subject
from cltr.report.rendering import Tables
from cltr.report.study_tables import study_tables
from cltr.studies.summary import read_results


class Comparison(Reported):
    """The result of a study. :meth:`to_frame` has one row for each run.

    Args:
        result: as ``cltr compare --json`` prints it.
    """

    def __init__(self, result: Mapping[str, Any]) -> None:
        self.result = result

    def _subject(self) -> Subject:
        return Subject("study", str(self.path), self.result)

    @property
    def path(self) -> Path:
        """The folder with all files of the study."""
        return Path(self.result["results"]).parent

    @property
    def measure(self) -> str:
        """The metric that is compared, such as ``ndcg@5`` on test queries."""
        return str(self.result["measure"])

    @property
    def interactions(self) -> list[int]:
        """Numbers of training interactions."""
        return list(self.result["interactions"])

    @property
    def pictures(self) -> list[Path]:
        """Picture files of the curves."""
        return [Path(path) for path in self.result["pictures"]]

    @property
    def failed(self) -> list[dict[str, Any]]:
        """Runs without a result, with the error of each."""
        return list(self.result["failed"])

    def means(self, users: str | None = None) -> dict[str, list[float]]:
        """Return the mean over seeds by method, for each number of interactions.

        Args:
            users: kind of users; not needed if there is only one.
        """
        curves = self.result["curves"]
        chosen = next(iter(curves)) if users is None and len(curves) == 1 else users
        if chosen not in curves:
            raise KeyError(f"no users '{chosen}'; there are: {', '.join(curves)}")
        return {method: list(curve["mean"]) for method, curve in curves[chosen].items()}

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        return read_results(Path(self.result["results"]))

    def _tables(self, width: int) -> Tables:
        del width
        return study_tables(self.result)
