r"""How well a click model predicts clicks: log-likelihood and perplexity, overall and by rank.

The **log-likelihood** of an interaction is exact by the chain rule,
:math:`\sum_r \log P(c_r | c_{<r})`. **Perplexity** at rank r is
:math:`2^{-\frac{1}{N} \sum_i c_{ir} \log_2 q_{ir} + (1 - c_{ir}) \log_2 (1 - q_{ir})}` with the
marginal click probability q: 1 is perfect, 2 is a coin. With conditional probabilities in its
place it is the conditional perplexity. Scores add up, so a log is scored chunk by chunk.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cltr.errors import DataError
from cltr.fitting import add_up
from cltr.types import Booleans, ClickLog, ClickStatistics, Floats

if TYPE_CHECKING:
    from cltr.interfaces import ClickModel

FLOOR = 1e-6
"""Least probability in scores, so that one click that a model excludes does not decide alone."""


def log_probability(expected: Floats, clicks: Booleans, shown: Booleans) -> Floats:
    """Log-probability of what came, click or none; 0 where nothing was shown.

    Example:
        >>> log_probability(np.array([0.25, 1.0]), np.array([True, False]), np.ones(2, bool))
        array([-1.38629436,        -inf])
    """
    with np.errstate(divide="ignore"):
        logs = np.where(clicks, np.log(expected), np.log1p(-np.minimum(expected, 1.0)))
    return np.where(shown, logs, 0.0)


@dataclass(frozen=True)
class ClickScores:
    """Sums over interactions, ``[K]`` each; scores of the same depth add up."""

    shown: Floats
    """Impressions by rank."""
    given_clicks: Floats
    """Sum of the log-probabilities given the clicks above."""
    marginal: Floats
    """Sum of the log-probabilities from marginal click probabilities."""
    interactions: int

    def __add__(self, other: "ClickScores") -> "ClickScores":
        return ClickScores(
            self.shown + other.shown,
            self.given_clicks + other.given_clicks,
            self.marginal + other.marginal,
            self.interactions + other.interactions,
        )

    @property
    def log_likelihood(self) -> float:
        """Mean over interactions."""
        return float(self.given_clicks.sum() / max(self.interactions, 1))

    @property
    def perplexity_by_rank(self) -> Floats:
        """One for each rank, ``[K]``; NaN where none was shown."""
        return _perplexity(self.marginal, self.shown)

    @property
    def perplexity(self) -> float:
        """Mean over the ranks that were shown."""
        return float(np.nanmean(self.perplexity_by_rank))

    @property
    def conditional_perplexity_by_rank(self) -> Floats:
        """One for each rank, ``[K]``; NaN where none was shown."""
        return _perplexity(self.given_clicks, self.shown)

    @property
    def conditional_perplexity(self) -> float:
        """Mean over the ranks that were shown."""
        return float(np.nanmean(self.conditional_perplexity_by_rank))


def _perplexity(logs: Floats, shown: Floats) -> Floats:
    mean = np.divide(logs, shown, out=np.full(len(shown), np.nan), where=shown > 0)
    values: Floats = np.exp(-mean)
    return values


def score_chunk(model: "ClickModel", chunk: ClickLog) -> ClickScores:
    """Scores of a fitted model on one chunk of a log."""
    shown = chunk.documents >= 0

    def total(expected: Floats) -> Floats:
        inside = np.clip(expected, FLOOR, 1.0 - FLOOR)
        sums: Floats = log_probability(inside, chunk.clicks, shown).sum(0)
        return sums

    return ClickScores(
        shown.sum(0).astype(np.float64),
        total(model.predict_given_clicks(chunk)),
        total(model.predict(chunk)),
        len(chunk),
    )


def score_log(model: "ClickModel", chunks: Iterable[ClickLog]) -> ClickScores:
    """Scores of a fitted model on a log, chunk by chunk."""
    total = add_up(score_chunk(model, chunk) for chunk in chunks)
    if total is None:
        raise DataError("the log is empty: it has no interactions to score")
    return total


def score_statistics(model: "ClickModel", statistics: ClickStatistics) -> ClickScores:
    """Scores of a fitted model on counts; its clicks must be independent and affine."""
    examination, trust = model.affine(statistics.top_k)
    expected = np.clip(model.relevance()[:, None] * examination + trust, FLOOR, 1.0 - FLOOR)
    clicks, shown = statistics.clicks, statistics.impressions
    logs = (clicks * np.log(expected) + (shown - clicks) * np.log1p(-expected)).sum(0)
    return ClickScores(shown.sum(0).astype(np.float64), logs, logs, statistics.n_interactions)


def hold_out(
    chunks: Iterable[ClickLog], *, share: float = 0.2, seed: int = 0
) -> Iterable[tuple[ClickLog, ClickLog]]:
    """Each chunk as two: interactions to fit on, and a random share of them to score on."""
    rng = np.random.default_rng(seed)
    for chunk in chunks:
        held = rng.random(len(chunk)) < share
        yield _rows(chunk, ~held), _rows(chunk, held)


def hold_out_statistics(
    statistics: ClickStatistics, *, share: float = 0.2, seed: int = 0
) -> tuple[ClickStatistics, ClickStatistics]:
    """Counts as two: every impression is held out with the same probability."""
    rng = np.random.default_rng(seed)
    shown, clicks = statistics.impressions, statistics.clicks
    held_clicks = rng.binomial(clicks, share)
    held_shown = held_clicks + rng.binomial(shown - clicks, share)
    held_displays = rng.binomial(statistics.displays, share)
    offsets = statistics.offsets
    return (
        ClickStatistics(
            shown - held_shown, clicks - held_clicks, statistics.displays - held_displays, offsets
        ),
        ClickStatistics(held_shown, held_clicks, held_displays, offsets),
    )


def _rows(chunk: ClickLog, kept: Booleans) -> ClickLog:
    return ClickLog(
        chunk.queries[kept],
        chunk.documents[kept],
        chunk.clicks[kept],
        {name: column[kept] for name, column in chunk.context.items()},
    )
