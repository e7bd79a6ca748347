r"""How well a click model predicts clicks: log-likelihood and perplexity, overall and by rank.

The **log-likelihood** of an interaction is exact by the chain rule,
:math:`\sum_r \log P(c_r | c_{<r})`. **Perplexity** at rank r is
:math:`2^{-\frac{1}{N} \sum_i c_{ir} \log_2 q_{ir} + (1 - c_{ir}) \log_2 (1 - q_{ir})}` with the
marginal click probability q: 1 is perfect, 2 is a coin. With conditional probabilities in its
place it is the conditional perplexity. Scores add up, so a log is scored chunk by chunk.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cltr.types import Booleans, ClickLog, ClickStatistics, Floats, Integers, Lists

if TYPE_CHECKING:
    from cltr.interfaces import Fittable

FLOOR = 1e-6
"""Least probability in scores, so that one click that a model excludes does not decide alone."""


@dataclass(frozen=True)
class ClickScores:
    """Sums over interactions, ``[K]`` each; scores of the same depth add up."""

    shown: Floats
    """Impressions by rank."""
    given_clicks: Floats
    """Sum of the log-probabilities given the clicks above."""
    marginal: Floats
    """Sum of the log-probabilities from marginal click probabilities."""
    by_query: Floats
    """``given_clicks`` of each query, ``[queries]``."""
    displays: Integers
    """Interactions of each query, ``[queries]``."""

    def __add__(self, other: "ClickScores") -> "ClickScores":
        names = [field.name for field in fields(self)]
        return ClickScores(*(getattr(self, name) + getattr(other, name) for name in names))

    @property
    def interactions(self) -> int:
        return int(self.displays.sum())

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


class Difference(NamedTuple):
    """Of two models' log-likelihoods, a mean over interactions."""

    value: float
    standard_error: float
    """Over queries: interactions of one query share its documents. NaN for a single query."""


def difference(first: ClickScores, second: ClickScores) -> Difference:
    """By how much the first model predicts the same held-out clicks better, and how surely.

    Example:
        >>> displays, ranks = np.array([10, 10]), np.zeros(1)
        >>> one = ClickScores(ranks, np.array([-6.0]), ranks, np.array([-2.0, -4.0]), displays)
        >>> two = ClickScores(ranks, np.array([-9.0]), ranks, np.array([-3.5, -5.5]), displays)
        >>> difference(one, two)
        Difference(value=0.15, standard_error=0.0)
    """
    apart, displays = first.by_query - second.by_query, first.displays
    n, queries = max(first.interactions, 1), int((displays > 0).sum())
    value = float(apart.sum() / n)
    if queries < 2:
        return Difference(value, float("nan"))
    spread = float(((apart - value * displays) ** 2).sum()) * queries / (queries - 1)
    return Difference(value, float(np.sqrt(spread) / n))


def log_probability(expected: Floats, clicks: Booleans, shown: Booleans) -> Floats:
    """Log-probability of what came, click or none; 0 where nothing was shown.

    Example:
        >>> log_probability(np.array([0.25, 1.0]), np.array([True, False]), np.ones(2, bool))
        array([-1.38629436,        -inf])
    """
    with np.errstate(divide="ignore"):
        logs = np.where(clicks, np.log(expected), np.log1p(-np.minimum(expected, 1.0)))
    return np.where(shown, logs, 0.0)


def score_chunk(model: "Fittable", chunk: ClickLog, *, n_queries: int) -> ClickScores:
    """Scores of a fitted model on one chunk of a log."""
    shown = chunk.documents >= 0

    def logs(expected: Floats) -> Floats:
        inside = np.clip(expected, FLOOR, 1.0 - FLOOR)
        return log_probability(inside, chunk.clicks, shown)

    given_clicks = logs(model.predict_given_clicks(chunk))
    by_query = np.bincount(chunk.queries, given_clicks.sum(1), minlength=n_queries)
    return ClickScores(
        shown.sum(0).astype(np.float64),
        given_clicks.sum(0),
        logs(model.predict(chunk)).sum(0),
        by_query.astype(np.float64, copy=False),
        np.bincount(chunk.queries, minlength=n_queries),
    )


def score_statistics(model: "Fittable", statistics: ClickStatistics) -> ClickScores:
    """Scores of a fitted model on counts; its clicks must be independent given the list."""
    clicks, shown = statistics.clicks, statistics.impressions
    ranks = np.arange(statistics.top_k)
    logs = np.zeros(clicks.shape)
    for rank in ranks:  # lists of one document each, at this rank
        rows = np.flatnonzero(shown[:, rank])
        documents = np.where(ranks == rank, rows[:, None], -1)
        lists = ClickLog(np.zeros_like(rows), documents, np.zeros(documents.shape, bool))
        expected = np.clip(model.predict(lists)[:, rank], FLOOR, 1.0 - FLOOR)
        clicked, skipped = clicks[rows, rank], shown[rows, rank] - clicks[rows, rank]
        logs[rows, rank] = clicked * np.log(expected) + skipped * np.log1p(-expected)
    sums = logs.sum(0)
    owners = Lists.of_offsets(statistics.offsets).owners
    by_query: Floats = np.bincount(owners, logs.sum(1), minlength=len(statistics.displays)).astype(
        np.float64
    )
    return ClickScores(shown.sum(0).astype(np.float64), sums, sums, by_query, statistics.displays)


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
    held_clicks = rng.binomial(clicks, share).astype(clicks.dtype, copy=False)
    held_skips = rng.binomial(shown - clicks, share).astype(shown.dtype, copy=False)
    held_shown = held_clicks + held_skips
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
