"""A log as a doctor sees it, and what a finding is."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from cltr.interfaces import ClickModel
from cltr.logs.log_file import LogFile
from cltr.policies import PlackettLuce
from cltr.types import ClickStatistics, Floats, Integers, Lists

Level: TypeAlias = Literal["good", "note", "warning", "fatal"]
FEW_DISPLAYS = 10
"""Lists of a query from which exposure cannot be counted."""
SMALL_SHARE = 0.01
"""Of anything: less is hardly worth a word."""


@dataclass(frozen=True)
class Finding:
    """Something found, with its number, why it matters and what to do about it."""

    name: str
    level: Level
    number: float | None
    text: str
    why: str
    advice: str = ""

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class Evidence:
    """A log as a doctor sees it."""

    log: LogFile
    click_model: ClickModel

    @property
    def train(self) -> ClickStatistics:
        return self.log.statistics["train"]

    @property
    def valid(self) -> ClickStatistics:
        return self.log.statistics["valid"]

    @property
    def test(self) -> ClickStatistics | None:
        """The test part, if there is one; no estimate is made of its clicks."""
        return self.log.statistics.get("test")

    @property
    def n_interactions(self) -> int:
        """Of all parts of the log, as what was noted when it was ingested is of all parts."""
        return sum(part.n_interactions for part in self.log.statistics.values())

    @cached_property
    def shared(self) -> bool:
        """Whether training and validation lie on the same lists."""
        return self.log.lists is not None

    @cached_property
    def whole(self) -> ClickStatistics:
        """Training and validation where they share lists; else what is on training queries."""
        return self.train + self.valid if self.shared else self.train

    @cached_property
    def lists(self) -> Lists:
        return Lists.of_offsets(self.whole.offsets)

    @cached_property
    def by_rank(self) -> tuple[Integers, Integers]:
        """Impressions and clicks by rank, ``[K]`` each, of training and validation."""
        parts = (self.train, self.valid)
        impressions, clicks = (
            sum(getattr(part, name).sum(0) for part in parts) for name in ("impressions", "clicks")
        )
        return np.asarray(impressions), np.asarray(clicks)

    @property
    def interactions(self) -> Mapping[str, Any]:
        """What was noted of interactions when the log was ingested."""
        noted = self.log.description.get("interactions")
        return noted if isinstance(noted, Mapping) else {}

    @cached_property
    def rank_distribution(self) -> tuple[Floats, str]:
        """P(rank(d) = k) as far as it is known, ``[docs, K]``, and how."""
        rows, top_k = slice(int(self.whole.offsets[-1])), self.whole.top_k
        if self.log.scores is not None:
            scores = self.log.scores[rows]
            return PlackettLuce().rank_distribution(scores, self.lists, top_k), "scores"
        if self.log.propensities is not None:
            return self.log.propensities[rows], "propensities"
        displays = np.maximum(self.whole.displays_per_document, 1)[:, None]
        return self.whole.impressions / displays, "counts"

    @cached_property
    def median_displays(self) -> float:
        """Interactions of the median query that came at all."""
        logged = self.whole.displays[self.whole.displays > 0]
        return float(np.median(logged)) if len(logged) else 0.0

    @property
    def well_counted(self) -> bool:
        """Whether exposure is known, or counted from enough lists."""
        return self.rank_distribution[1] != "counts" or self.median_displays >= FEW_DISPLAYS
