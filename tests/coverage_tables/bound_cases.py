"""The bounds of ``cltr.evaluation.bounds`` on terms and clusters with a known mean."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from cltr.evaluation.bounds import (
    ClusterTotals,
    Limits,
    bernstein_lower,
    betting_interval,
    betting_lower,
    cluster_betting_lower,
    cluster_interval,
    hoeffding_lower,
    running_bounds,
    smoothed_lower,
    smoothing_rate,
)
from cltr.types import Floats
from tests.coverage_tables.record import CONFIDENCE, Case, Outcome

UNIT = Limits(0.0, 1.0)
LARGEST = 100.0
"""The most interactions of a cluster."""


class Sample(NamedTuple):
    """Cluster means and sizes, and the mean that a bound should contain."""

    values: Floats
    counts: Floats
    truth: float

    @property
    def totals(self) -> ClusterTotals:
        """What clustered bounds take."""
        return ClusterTotals(self.values * self.counts, self.counts)


Draw = Callable[[np.random.Generator], Sample]


def equal(n: int, a: float, b: float) -> Draw:
    """Clusters of one size with Beta(a, b) means."""
    return lambda rng: Sample(rng.beta(a, b, n), np.ones(n), a / (a + b))


def uneven(n: int) -> Draw:
    """Log-normal traffic, at most 100 times its median; sizes say nothing about means."""

    def draw(rng: np.random.Generator) -> Sample:
        counts = np.exp(1.5 * rng.normal(size=n)).clip(max=LARGEST)
        return Sample(rng.beta(5.0, 5.0, n), counts, 0.5)

    return draw


def rare_losses(n: int) -> Draw:
    """0.5% of the clusters lose everything; the others gain a little."""

    def draw(rng: np.random.Generator) -> Sample:
        lost = rng.random(n) < 0.005
        values = np.where(lost, 0.0, rng.uniform(0.50, 0.52, n))
        return Sample(values, np.ones(n), 0.995 * 0.51)

    return draw


SAMPLES: dict[str, Draw] = {
    "near normal, 150 terms": equal(150, 5.0, 5.0),
    "near normal, 1,000 terms": equal(1000, 5.0, 5.0),
    "10 terms": equal(10, 5.0, 5.0),
    "skewed losses, 150 terms": equal(150, 5.0, 0.3),
    "0.5 % lose everything, 150 terms": rare_losses(150),
    "100 uneven clusters": uneven(100),
}


def lower_bounds(sample: Sample, seed: int) -> Iterator[tuple[str, float]]:
    """Each lower bound that is valid for such terms."""
    if (sample.counts == 1).all():
        terms = sample.values
        yield "betting", betting_lower(terms, UNIT, confidence=CONFIDENCE, seed=seed)
        yield "Maurer-Pontil", bernstein_lower(terms, UNIT, confidence=CONFIDENCE)
        yield "Hoeffding", hoeffding_lower(terms, UNIT, confidence=CONFIDENCE)
    else:
        yield (
            "cluster betting",
            cluster_betting_lower(
                sample.totals, UNIT, largest_count=LARGEST, confidence=CONFIDENCE, seed=seed
            ),
        )


def one_sided(name: str, draw: Draw) -> Case:
    """Lower bounds."""

    def measure(seed: int) -> Iterator[Outcome]:
        sample = draw(np.random.default_rng([3, seed]))
        for method, low in lower_bounds(sample, seed):
            estimate = sample.totals.value
            yield Outcome(f"{method} lower", low, np.inf, sample.truth, estimate, method)

    return Case("bound", name, measure, one_sided=True)


def two_sided(name: str, draw: Draw) -> Case:
    """Intervals: what :func:`cluster_interval` chooses, and betting."""

    def measure(seed: int) -> Iterator[Outcome]:
        sample = draw(np.random.default_rng([3, seed]))
        chosen = [
            cluster_interval(
                sample.totals, confidence=CONFIDENCE, target="new queries", seed=seed, limits=UNIT
            )
        ]
        if (sample.counts == 1).all():
            bets = betting_interval(
                sample.values, UNIT, confidence=CONFIDENCE, seed=seed, target="new queries"
            )
            chosen.append(bets)
        for quantity, one in zip(("t or wild bootstrap", "betting"), chosen, strict=False):
            yield Outcome(quantity, one.low, one.high, sample.truth, one.value, one.method)

    return Case("interval", name, measure)


def canary() -> Case:
    """Running bounds on 2,000 requests, looked at after each: the worst look counts."""

    def measure(seed: int) -> Iterator[Outcome]:
        rng = np.random.default_rng([4, seed])
        share, rate = np.repeat([0.1, 0.5], 1000), np.linspace(0.2, 0.6, 2000)
        treated = rng.random(2000) < share
        outcome = (rng.random(2000) < rate + 0.02 * treated).astype(np.float64)
        terms = np.where(treated, outcome / share, -outcome / (1.0 - share))
        low, high = running_bounds(terms, Limits(-2.0, 10.0), confidence=CONFIDENCE)
        # The mean of each term is 0.02, so the highest low and the lowest high must keep it.
        method = "running empirical Bernstein"
        yield Outcome("all 2,000 looks", low.max(), high.min(), 0.02, terms.mean(), method)
        yield Outcome("last look", low[-1], high[-1], 0.02, terms.mean(), method)

    return Case("interval", "canary with drift, 2,000 requests", measure)


def smoothing() -> Case:
    """Logarithmic smoothing of 500 clicks with Pareto weights (index 2.5), mean 0.3."""

    def measure(seed: int) -> Iterator[Outcome]:
        rng = np.random.default_rng([5, seed])
        terms = 0.6 * (1.0 + rng.pareto(2.5, 500)) * (rng.random(500) < 0.3)
        rate = smoothing_rate(0.3 * 0.36 * 2.5 / 0.5, 500, confidence=CONFIDENCE)
        low = smoothed_lower(terms, rate=rate, confidence=CONFIDENCE)
        method = "logarithmic smoothing"
        yield Outcome(f"{method} lower", low, np.inf, 0.3, terms.mean(), method)

    return Case("bound", "weights without a limit, 500 terms", measure, one_sided=True)


def cases() -> list[Case]:
    """All of them."""
    return [
        *(one_sided(name, draw) for name, draw in SAMPLES.items()),
        smoothing(),
        *(two_sided(name, draw) for name, draw in SAMPLES.items()),
        canary(),
    ]
