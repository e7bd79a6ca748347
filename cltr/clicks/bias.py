"""What a log says of position and trust bias, and how surely: fitted, harvested, with intervals."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cltr.clicks.fit_data import FitData
from cltr.clicks.harvesting import adjacent_chain, all_pairs, pivot, randomised
from cltr.clicks.intervals import (
    Interval,
    Spread,
    fitted_intervals,
    in_turn,
    jackknife,
    relations,
)
from cltr.errors import CltrError, DataError
from cltr.interfaces import ClickModel, Fittable
from cltr.types import Affine, Booleans, ClickLog, ClickStatistics, Floats

FINE, ROUGH = 1e-13, 1e-10
"""Tolerance of all pairs: for the estimate, and with groups of queries left out."""

Tick = Callable[[], None]
"""Called after each estimate of position bias."""


def affine_of(model: ClickModel, top_k: int) -> Affine | None:
    """Examination and trust by rank, or None where there are none for so many ranks."""
    try:
        return model.affine(top_k)
    except CltrError:
        return None


def bias_of(model: Fittable, source: FitData, *, intervals: bool = False) -> dict[str, Any] | None:
    """Examination and trust of a fitted affine model: what is determined, and how well.

    Args:
        model: fitted.
        source: what it was fitted to.
        intervals: whether to give them; a fit that has not converged has none.
    """
    affine = affine_of(model, source.top_k)
    fitted = model.fitted
    if affine is None or fitted is None:
        return None
    found: dict[str, Any] = {
        "examination": affine.examination.tolist(),
        "trust": affine.trust.tolist(),
        **{key: value.tolist() for key, value in relations(affine)._asdict().items()},
    }
    if intervals:
        known = fitted.covariance if fitted.convergence.converged else None
        found["intervals"] = _plain(fitted_intervals(affine, known))
    return found


@dataclass(frozen=True)
class _Harvest:
    """Examination against the first rank, by each way of harvesting."""

    random: Booleans | None
    """Ranks that were shown at random; None if there are none with clicks."""
    tolerance: float

    def __call__(self, drawn: ClickStatistics) -> dict[str, Floats]:
        found = {"pivot": pivot(drawn), "adjacent_chain": adjacent_chain(drawn)}
        try:
            found["all_pairs"] = all_pairs(drawn, tolerance=self.tolerance)
        except DataError:
            found["all_pairs"] = np.full(drawn.top_k, np.nan)
        if self.random is not None:
            found["randomised"] = randomised(drawn, self.random)
        return found


def harvested(
    source: FitData,
    *,
    intervals: bool = False,
    tick: Tick = lambda: None,
    spread: Spread | None = None,
) -> dict[str, Any]:
    """Examination against the first rank by each way of harvesting that the log allows.

    Args:
        source: the log.
        intervals: whether to give intervals.
        tick: called after each estimate.
        spread: makes the estimates that intervals need on a cluster; here by default.
    """
    statistics = source.whole
    which = source.random_ranks()
    random = bool(which.any() and statistics.clicks[which].sum() > 0)

    known = which if random else None
    result: dict[str, Any] = {
        key: each.tolist() for key, each in _Harvest(known, FINE)(statistics).items()
    }
    tick()
    if intervals:
        rough = _Harvest(known, ROUGH)
        found = jackknife(rough, statistics, seed=source.seed, spread=spread or _ticking(tick))
        tick()
        result["intervals"] = _plain(found)
    return result


def _ticking(tick: Tick) -> Spread:
    def spread(function: Callable[[Any], Any], things: Sequence[Any]) -> list[Any]:
        def then_tick(thing: Any) -> Any:
            found = function(thing)
            tick()
            return found

        return in_turn(then_tick, things)

    return spread


def examination_by_rank(model: Fittable, source: FitData) -> Floats | None:
    r"""How much of what is shown at each rank is examined under a fitted model, ``[K]``.

    Examination itself where clicks are affine; elsewhere clicks that the model expects on held-out
    lists, over those that it would expect if users examined all that they were shown:
    :math:`\sum_i P(C_{ir}=1) / \sum_i a_{ir}`. None for a model without relevance.
    """
    affine = affine_of(model, source.top_k)
    if affine is not None:
        return affine.examination
    tables = model.fitted.documents if model.fitted else {}
    if not tables or not source.has_sessions:
        return None
    attraction = tables.get("attraction", next(iter(tables.values())))
    clicks = possible = np.zeros(source.top_k)
    for chunk in source.to_score():
        clicks = clicks + model.predict(chunk).sum(0)
        possible = possible + _attraction(attraction, chunk)
    unknown = np.full(len(clicks), np.nan)
    shares: Floats = np.divide(clicks, possible, out=unknown, where=possible > 0)
    return shares


def _attraction(values: Floats, chunk: ClickLog) -> Floats:
    total: Floats = np.where(chunk.documents >= 0, values[chunk.documents], 0.0).sum(0)
    return total


def _plain(intervals: dict[str, Interval]) -> dict[str, Any]:
    return {
        name: {"low": interval.low.tolist(), "high": interval.high.tolist()}
        for name, interval in intervals.items()
    }
