"""A log file, and the result of checking it."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from cltr.api.shown import Shown, by_rank
from cltr.checks import log_check
from cltr.logs.log_file import LogFile, open_log
from cltr.logs.stored_sessions import has_sessions
from cltr.report.log_tables import checked_tables, log_tables
from cltr.report.rendering import Tables
from cltr.types import Dataset


class Log(Shown):
    """A log file from ``cltr ingest`` or ``cltr simulate``.

    Args:
        path: path of the file.
        report: what ``ingest`` or ``simulate`` reported, if the file was made just now.
    """

    def __init__(
        self, path: "str | PathLike[str]", *, report: Mapping[str, Any] | None = None
    ) -> None:
        self.path = Path(path)
        self.report = report or {}
        self._file  # noqa: B018  # errors come now, not when it is first shown

    @cached_property
    def _file(self) -> LogFile:
        return open_log(self.path)

    @property
    def n_interactions(self) -> dict[str, int]:
        """Number of interactions by part: ``train``, ``valid``, and ``test`` if there is one."""
        return {part: one.n_interactions for part, one in self._file.statistics.items()}

    @property
    def n_clicks(self) -> dict[str, int]:
        """Number of clicks by part."""
        return {part: int(one.clicks.sum()) for part, one in self._file.statistics.items()}

    @property
    def top_k(self) -> int:
        """Number of ranks."""
        return self._file.statistics["train"].top_k

    @property
    def impressions(self) -> list[int]:
        """Impressions by rank, in all parts together."""
        parts = [part.impressions.sum(0) for part in self._file.statistics.values()]
        return [int(n) for n in np.sum(parts, axis=0)]

    @property
    def click_rate(self) -> list[float]:
        """Clicks per impression by rank, in all parts together."""
        clicks = np.sum([part.clicks.sum(0) for part in self._file.statistics.values()], axis=0)
        return [float(rate) for rate in clicks / np.maximum(self.impressions, 1)]

    @property
    def problems(self) -> list[dict[str, Any]]:
        """Problems that were found when the log was ingested, and what was done about them."""
        return list(self._file.description.get("problems", []))

    @property
    def lists(self) -> Dataset | None:
        """The log's own lists of documents; None if it belongs to a data set."""
        return self._file.lists

    @property
    def has_sessions(self) -> bool:
        """True if the log has every interaction, not only counts."""
        return has_sessions(self.path)

    @property
    def has_scores(self) -> bool:
        """True if the log has production's scores."""
        return self._file.scores is not None

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        return by_rank(self.impressions, self.click_rate)

    def _tables(self, width: int) -> Tables:
        del width
        return log_tables(
            {
                "log": str(self.path),
                "n_interactions": self.n_interactions,
                "clicks": self.n_clicks,
                "impressions_by_rank": self.impressions,
                "click_rate": self.click_rate,
                "problems": self.problems,
                "simulated": "format" not in self._file.description,
            }
        )


class LogCheck(Shown, log_check.LogVerdicts):
    """What a log can be used for, and all findings."""

    __repr__ = Shown.__repr__

    @property
    def usable(self) -> bool:
        """True if the log can be used for something, at least with care."""
        return any(map(self.supports, self.verdicts))

    @property
    def click_rate(self) -> list[float]:
        """Clicks per impression by rank."""
        return list(self.numbers["click_rate"])

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        columns = ("name", "level", "number", "text", "why", "advice")
        return [{key: getattr(one, key) for key in columns} for one in self.findings]

    def _tables(self, width: int) -> Tables:
        del width
        return checked_tables(self)
