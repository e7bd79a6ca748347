"""What a log says, for questions to look at; each quantity is computed once, when asked for."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cltr.checks.contradiction import contradiction, most_ranks
from cltr.checks.rank_swaps import RankSwaps, rank_swaps
from cltr.exposure.production_ranker import misfit
from cltr.interfaces import ClickModel
from cltr.logs.log_file import LogFile
from cltr.policies import Deterministic, PlackettLuce
from cltr.types import ClickStatistics, Floats, Integers, Lists

SMALL_SHARE = 0.01
"""Of anything: less is hardly worth a word."""
CARE_ERROR = 0.25
"""Standard error of log examination beyond which it is not used: a factor of 1.6 either way."""

HALF_CLICKS = 0.5
"""Share of clicks below the first rank that must lie at ranks whose examination is known."""


@dataclass(frozen=True)
class Evidence:
    """A log, and the click model that is known from elsewhere, if any."""

    log: LogFile
    click_model: ClickModel | None = None

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

    @property
    def alone(self) -> bool:
        """Whether the log stands alone, without features of its documents."""
        return self.log.lists is not None

    @property
    def shared(self) -> bool:
        """Whether training and validation lie on the same lists."""
        return self.alone or bool(self.log.description.get("shared_lists"))

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
    def swaps(self) -> RankSwaps:
        """What documents shown at several ranks say about position bias."""
        return rank_swaps(self.whole)

    @cached_property
    def rank_distribution(self) -> tuple[Floats, str]:
        """P(rank(d) = k) as far as it is known, ``[docs, K]``, and how.

        Scores stand for rankings drawn from them, or sorted by them, whichever the log shows.
        """
        rows, top_k = slice(int(self.whole.offsets[-1])), self.whole.top_k
        if self.log.scores is not None:
            scores = self.log.scores[rows]
            drawn = PlackettLuce().rank_distribution(scores, self.lists, top_k)
            ordered = Deterministic().rank_distribution(scores, self.lists, top_k)
            if misfit(ordered, self.whole) < misfit(drawn, self.whole):
                return ordered, "sorted scores"
            return drawn, "scores"
        if self.log.propensities is not None:
            return self.log.propensities[rows], "propensities"
        displays = np.maximum(self.whole.displays_per_document, 1)[:, None]
        return self.whole.impressions / displays, "counts"

    @cached_property
    def knows_model(self) -> bool:
        """Whether a click model is known from elsewhere, and the log does not contradict it."""
        return self.click_model is not None and not contradiction(self.click_model, *self.by_rank)

    @property
    def shows_bias(self) -> bool:
        """Whether the log itself determines position bias, if only roughly."""
        return self.swaps.determined(CARE_ERROR) >= HALF_CLICKS

    @property
    def counted(self) -> bool:
        """Whether exposure can only be counted from the log."""
        return self.rank_distribution[1] == "counts"

    @cached_property
    def examination(self) -> Floats:
        """Examination by rank: of the click model given, of the log's swaps, or else 1/rank."""
        top_k = self.whole.top_k
        if self.click_model is not None:
            n_ranks = most_ranks(self.click_model, top_k)
            if n_ranks:
                return self.click_model.require_affine(n_ranks).examination
        guess = 1.0 / np.arange(1, top_k + 1)
        known = np.flatnonzero(self.swaps.errors <= CARE_ERROR)
        if not len(known):
            return guess
        found = self.swaps.examination[known]
        examination = guess * float(found.sum() / guess[known].sum())
        examination[known] = found
        return examination
