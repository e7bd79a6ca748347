"""EM steps of :mod:`cltr.clicks.affine_fit`: over cells, and over documents in three ways."""

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cltr.clicks.counts import CellCounts
from cltr.clicks.fit_tools import Climb, Convergence, FitOptions, State, Step, Threads, climb, leap
from cltr.clicks.relevance import (
    Regression,
    RelevanceModel,
    RelevanceTable,
    Spread,
)
from cltr.types import Affine, Booleans, Floats, Integers

LEVELS = 20
"""Levels of relevance that are integrated over, denser towards 0 and 1; vectors hold four each."""
TINY = 1e-300
"""In place of a probability of 0, where its logarithm is taken."""
HEAVY = 200
"""Impressions from which a document has a relevance of its own."""
STRATA = 5
"""Documents shown higher have a distribution of their own: rankers put better ones there."""
CELL_SMOOTHING = 1.0
"""Impressions that the start is worth in each cell, for cells that hardly ever came."""
SAMPLE = 30_000
"""Entries on which a climb begins where there are far more."""
ROUNDS = 5
"""Updates of the cells on one pass over the documents."""


class Summit(NamedTuple):
    """Where a climb ended; relevance as values with weights."""

    affine: Affine
    levels: Floats
    documents: Floats
    """How many documents have that relevance."""
    impressions: Floats
    """How many impressions have that relevance."""
    convergence: Convergence
    strata: Floats
    """Expected documents of levels by stratum, ``[strata, levels]``."""


class Climber:
    r"""EM from a start. Its cells are :math:`A = \alpha + \beta` and :math:`\beta / A`.

    Each may be anything in [0, 1], so no extrapolated step can leave what is allowed. Cells that
    are ``fixed`` stay as they start, and only relevance is fitted.
    """

    def __init__(
        self,
        counts: CellCounts,
        start: Affine,
        *,
        smoothing: float = CELL_SMOOTHING,
        fixed: bool = False,
    ) -> None:
        self.counts = counts
        self.fixed = fixed
        self.start = start
        self.shown = counts.by_document(counts.impressions)
        self.by_cell = counts.by_cell(counts.impressions)
        self.above = np.clip(start.examination + start.trust, 1e-12, 1.0)
        self.share = start.trust / self.above
        self.smoothing = smoothing

    @property
    def mean(self) -> float:
        """Relevance of what was shown, were the start right: clicks less trust, over all."""
        corrected = self.counts.clicks.sum() - self.by_cell @ self.start.trust
        examined = max(self.by_cell @ self.start.examination, 1e-12)
        return float(np.clip(corrected / examined, 0.05, 0.95))

    def tabulate(self, documents: RelevanceModel, options: FitOptions) -> Climb:
        """A relevance for each document; the state is A, share of trust, relevance."""
        from cltr.kernels import affine_steps

        arrays = self.counts.arrays

        def step(state: State) -> tuple[State, float]:
            above, share, relevance = state
            hits, sums, value = affine_steps.expect(*arrays, above, above * share, relevance)
            value += self._penalty(above, share) + documents.penalty(relevance)
            cells = self._cells(share, sums)
            return (*cells, documents.update(hits, self.shown)), value

        nothing = np.zeros(self.counts.n_documents)
        first = documents.update(nothing, nothing)
        walk = leap if isinstance(documents, RelevanceTable) else climb
        return self._walk(walk, step, (self.above, self.share, first), options)

    def regress(self, network: Regression, options: FitOptions) -> Summit:
        """Relevance from features."""
        (above, share, relevance), convergence = self.tabulate(network, options)
        affine = Affine(above * (1.0 - share), above * share)
        seen = (self.shown > 0).astype(np.float64)
        return Summit(affine, relevance, seen, self.shown, convergence, np.empty((0, 0)))

    def integrate(self, options: FitOptions) -> Summit:
        """A distribution of relevance, and a relevance for documents with many impressions."""
        from cltr.kernels import affine_cells, affine_levels, affine_tiles

        heavy = self.shown >= HEAVY
        tiles, shown = self.counts.tiles(heavy), self.shown[heavy]
        strata, levels = self._strata(~heavy & (self.shown > 0)), levels_of_relevance()
        groups = self.counts.only(~heavy).grouped(strata)
        rounds = 0 if self.fixed else 1 if heavy.any() else ROUNDS

        def passes(state: State) -> tuple[Floats, Floats, Floats, Floats, float]:
            above, share, weights, relevance = state
            clicks, skips = _probabilities(above, share, levels)
            priors = np.maximum(_normalised(weights), TINY)
            logs = _logs(clicks), _logs(skips)
            sums, documents, value = affine_levels.integrate(*groups, *logs, priors)
            hits, own, more = affine_tiles.expect(*tiles, above, above * share, relevance)
            return sums, documents, hits, own, value + more

        def step(state: State) -> tuple[State, float]:
            above, share, _, relevance = state
            sums, documents, hits, own, value = passes(state)
            value += self._penalty(above, share)
            above, share = affine_cells.update_from_levels(
                sums, own, (above, share), levels, *self._fixed, rounds
            )
            moved = np.divide(hits, shown, out=relevance.copy(), where=shown > 0)
            return (above, share, _normalised(documents), moved.clip(0.0, 1.0)), value

        summit = self._walk(leap, step, self._first(heavy, options), options)
        above, share, _, relevance = summit.state
        sums, documents, *_ = passes(summit.state)
        return Summit(
            Affine(above * (1.0 - share), above * share),
            np.concatenate([levels, relevance]),
            np.concatenate([documents.sum(0), np.ones(len(relevance))]),
            np.concatenate([sums[1].sum(0), shown]),
            summit.convergence,
            documents,
        )

    def _compact(self, which: Booleans) -> tuple[Integers, Integers, Floats, Floats]:
        """The entries of some documents, as if there were no others."""
        starts, cells, shown, clicked = self.counts.only(which).arrays
        kept: Integers = np.append(starts[:-1][which], starts[-1])
        return kept, cells, shown, clicked

    def _first(self, heavy: Booleans, options: FitOptions) -> State:
        """Where to start: on a large log, where a tenth of its documents leads."""
        above, share, weights = self.above, self.share, np.ones((STRATA, LEVELS))
        relevance = np.full(int(heavy.sum()), self.mean)
        stride = min(10, len(self.counts.keys) // SAMPLE)
        if stride < 2:
            return above, share, _normalised(weights), relevance
        rough = options.model_copy(update={"tolerance": 10 * options.tolerance})
        sample = self._sample(stride).integrate(rough)
        above = sample.affine.examination + sample.affine.trust
        if heavy.any():
            from cltr.kernels import affine_steps

            found = affine_steps.likeliest(
                *self._compact(heavy), above, sample.affine.trust, 0.0, self.mean
            )
            relevance = found.clip(1e-6, 1.0 - 1e-6)
        weights = _normalised(sample.strata + 1e-3)
        return above, sample.affine.trust / np.maximum(above, 1e-12), weights, relevance

    def _sample(self, stride: int) -> "Climber":
        """The same climb on one in so many documents, always the same ones."""
        seen = np.flatnonzero(self.shown)
        chosen = np.random.default_rng(0).permutation(seen)[: len(seen) // stride]
        counts = self.counts.only(np.isin(np.arange(len(self.shown)), chosen))
        return Climber(counts, self.start, smoothing=self.smoothing, fixed=self.fixed)

    def spread(self) -> Spread:
        """Mean and spread of relevance over documents, were the start right."""
        sample = self._sample(max(1, round(len(self.counts.keys) / SAMPLE)))
        sample.fixed = True
        found = sample.integrate(FitOptions(tolerance=1e-6))
        if not found.documents.sum() > 0:
            return Spread(0.5, 1.0)
        mean = np.average(found.levels, weights=found.documents)
        variance = np.average((found.levels - mean) ** 2, weights=found.documents)
        return Spread.of_moments(float(mean), float(variance))

    def _walk(
        self, walk: Callable[..., Climb], step: Step, first: State, options: FitOptions
    ) -> Climb:
        with Threads(len(self.counts.keys)):
            return walk(step, first, iterations=options.iterations, tolerance=options.tolerance)

    def _strata(self, which: Booleans) -> Integers:
        """Of documents, by how much they were examined on average, were the start right."""
        counts = self.counts
        examined = counts.by_document(counts.impressions * self.start.examination[counts.cells])
        mean = examined / np.maximum(self.shown, 1.0)
        order = np.flatnonzero(which)[np.argsort(mean[which], kind="stable")]
        strata = np.zeros(len(mean), np.int64)
        if len(order) and mean[order[0]] < mean[order[-1]]:
            strata[order] = np.arange(len(order)) * STRATA // len(order)
        return strata

    def _penalty(self, above: Floats, share: Floats) -> float:
        """What is added to the log-likelihood for the priors of the cells."""
        from cltr.kernels import affine_cells

        if self.smoothing == 0.0:
            return 0.0
        return float(affine_cells.penalty(above, share, self._priors, self.smoothing))

    @cached_property
    def _priors(self) -> Floats:
        """Of clicks on relevant, on irrelevant, and on all documents, ``[3, cells]``."""
        trusted = self.above * self.share
        return np.stack([self.above, trusted, self.above * (1.0 + self.share) / 2])

    @property
    def _fixed(self) -> tuple[Floats, Floats, float]:
        """What the M-step of the cells needs beside the expected clicks."""
        return self.by_cell, self._priors, self.smoothing

    def _cells(self, share: Floats, expected: Floats) -> tuple[Floats, Floats]:
        """The M-step of the cells: clicks over impressions, of relevant and of irrelevant."""
        from cltr.kernels import affine_cells

        found: tuple[Floats, Floats] = affine_cells.update(share, expected, *self._fixed)
        return found


def levels_of_relevance() -> Floats:
    """From 0 to 1, denser towards both ends, where clicks tell more."""
    levels: Floats = np.sin(np.pi / 2 * np.arange(LEVELS) / (LEVELS - 1)) ** 2
    return levels


def _logs(probabilities: Floats) -> Floats:
    """Logarithms, and a very low number for what cannot be: times no clicks at all it is 0."""
    logs: Floats = np.log(np.maximum(probabilities, TINY))
    return logs


def _normalised(weights: Floats) -> Floats:
    """Rows that sum to 1; those of nothing are equal everywhere."""
    totals = weights.sum(-1, keepdims=True)
    equal = np.full(weights.shape, 1.0 / weights.shape[-1])
    rows: Floats = np.divide(weights, totals, out=equal, where=totals > 0)
    return rows


def _probabilities(above: Floats, share: Floats, levels: Floats) -> tuple[Floats, Floats]:
    """Of a click and of none, ``[cells, levels]`` each."""
    relevant, irrelevant = above[:, None], (above * share)[:, None]
    clicks = relevant * levels + irrelevant * (1.0 - levels)
    skips = (1.0 - relevant) * levels + (1.0 - irrelevant) * (1.0 - levels)
    return clicks, skips
