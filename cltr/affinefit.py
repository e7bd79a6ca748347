r"""Fit :math:`P(C=1|d,j) = \alpha_j R_d + \beta_j` to counts: position bias, trust bias, and UBM.

EM over whether each impression was relevant, on counts by document and cell: its cost does not
depend on the number of interactions. A trust :math:`\beta` that starts at 0 stays 0, so the same
steps fit the position-based model.

*What clicks cannot tell.* :math:`R \to (R - m)/s`, :math:`\alpha \to s\alpha`,
:math:`\beta \to \beta + m\alpha` leaves all click probabilities as they are (without trust:
:math:`m = 0`). Only how the click probability at one rank follows from that at another is
determined. So a convention picks the scale: without trust, the best cell is always examined;
with trust, the least relevant impressions (a share of them) are irrelevant and the most relevant
ones relevant. Where relevance does not span [0, 1] this gives relevance on a scale of its own,
in the same order.

References: Wang et al. (WSDM'18); Agarwal et al. (WWW'19); Oosterhuis (TOIS'23).
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cltr.cells import CellCounts
from cltr.errors import DataError, UsageError
from cltr.fitting import (
    Climb,
    Convergence,
    FitOptions,
    Parameters,
    State,
    climb,
    document_queries,
    leap,
)
from cltr.relevance import Estimate, Regression, Table, rescale_relevance
from cltr.types import Affine, ClickStatistics, Dataset, Floats

ANCHOR = 0.05
"""Share of the impressions at either end of relevance that anchors its scale."""
SMALL = 200_000
"""Entries below which one thread is faster than waiting for others."""


@dataclass(frozen=True)
class AffineFit:
    """Click probabilities by cell and relevance by document."""

    affine: Affine
    relevance: Floats
    """``[docs]``"""
    prior: float
    """Mean relevance of what was shown: what an unseen document gets."""
    ends: tuple[float, float]
    """What became relevance 0 and 1 when the scale was fixed."""
    convergence: Convergence


def fit_affine(
    counts: CellCounts,
    start: Affine,
    options: FitOptions,
    *,
    estimate: Estimate | None = None,
) -> AffineFit:
    """Fit examination, trust and relevance together.

    Args:
        counts: impressions and clicks by document and cell.
        start: where the climb starts; trust that is 0 stays 0.
        options: smoothing, iterations, tolerance.
        estimate: where relevance comes from; a table if None.
    """
    if not counts.clicks.sum() > 0:
        raise DataError("the log has no clicks, so no click model can be fitted to it")
    prior = mean_relevance(counts, start)
    # A prior on relevance would pick a scale of its own where clicks leave it open, and bend the
    # examination; it comes into the table only after the scale is fixed.
    table = estimate or Table(0.0, prior)
    summit = climb_affine(counts, start, table, options)
    relevant, share, relevance = summit.state
    affine = Affine(relevant * (1.0 - share), relevant * share)
    ends = scale_ends(affine, relevance, counts)
    affine, relevance = rescale(affine, *ends), rescale_relevance(relevance, *ends)
    shown = counts.by_document(counts.impressions) > 0
    prior = float(relevance[shown].mean().clip(1e-6, 1 - 1e-6))
    if estimate is None:
        relevance = infer_relevance(counts, affine, smoothing=options.smoothing, prior=prior)
    return AffineFit(affine, relevance, prior, ends, summit.convergence)


def climb_affine(
    counts: CellCounts, start: Affine, documents: Estimate, options: FitOptions
) -> Climb:
    r"""EM from ``start``, with :math:`\alpha \ge 0`.

    The state is :math:`A = \alpha + \beta`, :math:`\beta / A`, both by cell, and relevance: each
    may be anything in [0, 1], so no extrapolated step can leave what is allowed.
    """
    from cltr import affinefit_kernel

    entries = Entries(counts)
    shown = counts.by_cell(counts.impressions)
    trials = counts.by_document(counts.impressions)
    relevant = np.clip(start.examination + start.trust, 1e-12, 1.0)
    above = Table(options.smoothing, relevant)
    below = Table(options.smoothing, start.trust)

    def step(state: State) -> tuple[State, float]:
        relevant, share, relevance = state
        irrelevant = relevant * share
        hits, sums, value = affinefit_kernel.expect(
            *entries.arrays, relevant, irrelevant, relevance
        )
        value += above.penalty(relevant) + below.penalty(irrelevant) + documents.penalty(relevance)
        trusted = np.where(share > 0, below.update(sums[2], shown - sums[1]), 0.0)
        clicked = above.update(sums[0], sums[1])
        # Where irrelevant documents would be clicked more, the best that is allowed is the same.
        both = replace(
            above, smoothing=2 * options.smoothing, prior=(above.prior + below.prior) / 2
        )
        pooled = both.update(sums[0] + sums[2], shown)
        clicked = np.where(trusted > clicked, pooled, clicked)
        share = np.divide(
            np.minimum(trusted, clicked), clicked, out=np.zeros(len(share)), where=clicked > 0
        )
        return (clicked, share, documents.update(hits, trials)), value

    nothing = np.zeros(counts.n_documents)
    first = (relevant, start.trust / relevant, documents.update(nothing, nothing))
    walk = leap if isinstance(documents, Table) else climb
    with entries.threads():
        return walk(step, first, iterations=options.iterations, tolerance=options.tolerance)


def mean_relevance(counts: CellCounts, affine: Affine) -> float:
    """Of what was shown, if these were the examination and trust, ``clicks - trust`` over all."""
    shown = counts.by_cell(counts.impressions)
    corrected = counts.clicks.sum() - shown @ affine.trust
    return float(np.clip(corrected / max(shown @ affine.examination, 1e-12), 0.05, 0.95))


def infer_relevance(
    counts: CellCounts, affine: Affine, *, smoothing: float, prior: float
) -> Floats:
    """The likeliest relevance of each document when examination and trust are known, ``[docs]``.

    Example:
        >>> keys = np.zeros(10, int)  # one document, ten times at rank 1, clicked four times
        >>> counts = CellCounts.of_keys(keys, np.arange(10) < 4, 1, offsets=np.array([0, 1]))
        >>> trust_bias = Affine(np.array([0.5]), np.array([0.1]))
        >>> infer_relevance(counts, trust_bias, smoothing=0.0, prior=0.5).round(6)  # (.4 - .1) / .5
        array([0.6])
    """
    from cltr import affinefit_kernel

    entries = Entries(counts)
    with entries.threads():
        found: Floats = affinefit_kernel.likeliest(
            *entries.arrays, affine.examination + affine.trust, affine.trust, smoothing, prior
        )
    return found


def infer_statistics(
    statistics: ClickStatistics, affine: Affine, *, smoothing: float, prior: float | None = None
) -> Floats:
    """The same from clicks and impressions by rank; the prior is the log's own mean if None."""
    counts = CellCounts.of_statistics(statistics)
    mean = mean_relevance(counts, affine) if prior is None else prior
    return infer_relevance(counts, affine, smoothing=smoothing, prior=mean)


def scale_ends(affine: Affine, relevance: Floats, counts: CellCounts) -> tuple[float, float]:
    """Which relevance the convention calls 0, and which 1."""
    if not (affine.trust > 0).any():
        return 0.0, 1.0 / max(float(affine.examination.max()), 1e-12)
    shown = counts.by_document(counts.impressions)
    low, high = _quantiles(relevance, shown, (ANCHOR, 1.0 - ANCHOR))
    return (low, high) if high > low else (0.0, 1.0)


def rescale(affine: Affine, low: float, high: float) -> Affine:
    """Examination and trust when relevance ``low`` becomes 0 and ``high`` 1."""
    return Affine((high - low) * affine.examination, affine.trust + low * affine.examination)


def _quantiles(values: Floats, weights: Floats, shares: tuple[float, ...]) -> list[float]:
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order]) / weights.sum()
    places = np.minimum(np.searchsorted(reached, shares), len(values) - 1)
    return [float(value) for value in values[order][places]]


def fit_cells(
    counts: CellCounts, start: Affine, options: FitOptions, dataset: Dataset | None = None
) -> Parameters:
    """Fit, and tell what clicks leave open: ``examination``, ``trust`` and ``relevance``."""
    network = None
    if options.relevance == "regression":
        features = require_features(dataset)
        network = Regression(features, prior=mean_relevance(counts, start), hidden=options.hidden)
    found = fit_affine(counts, start, options, estimate=network)
    return Parameters(
        shared={"examination": found.affine.examination, "trust": found.affine.trust},
        documents={"relevance": found.relevance},
        unseen={"relevance": found.prior},
        convergence=replace(found.convergence, notes=_notes(counts, found, tabular=not network)),
        networks=_network(network, found.ends) if network else {},
        query_ids=None if dataset is None else document_queries(dataset),
        document_ids=None if dataset is None else dataset.document_ids,
    )


def _network(network: Regression, ends: tuple[float, float]) -> dict[str, Floats]:
    weights = network.weights | {"ends": np.array(ends)}
    return {f"relevance/{name}": values for name, values in weights.items()}


def require_features(dataset: Dataset | None) -> NDArray[np.float32]:
    """The features that a regression needs, or one clear error."""
    if dataset is None or dataset.n_features == 0:
        raise UsageError(
            "relevance by regression needs features, and the log comes without them; "
            "give the data set, or use relevance=table"
        )
    return dataset.features


def _notes(counts: CellCounts, found: AffineFit, *, tabular: bool) -> tuple[str, ...]:
    trust = bool((found.affine.trust > 0).any())
    scale = (
        "examination and trust are determined only up to an affine map of relevance, which "
        f"clicks cannot tell; here the {ANCHOR:.0%} least relevant impressions count as irrelevant "
        f"and the {ANCHOR:.0%} most relevant as relevant"
        if trust
        else "examination is determined only up to its scale; its highest value is set to 1"
    )
    apart = unconnected(counts) if tabular else ()
    lonely = f"cells {', '.join(map(str, apart))} share no document with the others, so their "
    return (scale, *([lonely + "examination is a guess"] if apart else []))


def unconnected(counts: CellCounts) -> tuple[int, ...]:
    """Cells (from 1) that no chain of shared documents links to the cell shown most.

    Example:
        >>> keys = np.array([0, 1, 5])  # document 0 in cells 0 and 1, document 1 in cell 2
        >>> unconnected(CellCounts.of_keys(keys, keys > 9, 3, offsets=np.array([0, 2])))
        (3,)
    """
    same = counts.documents[1:] == counts.documents[:-1]
    linked = np.eye(counts.n_cells, dtype=bool)
    linked[counts.cells[:-1][same], counts.cells[1:][same]] = True
    linked |= linked.T
    shown = counts.by_cell(counts.impressions)
    reached = np.arange(counts.n_cells) == shown.argmax()
    for _ in range(counts.n_cells):
        reached = linked[reached].any(0)
    return tuple(int(cell) + 1 for cell in np.flatnonzero((shown > 0) & ~reached))


class Entries:
    """The arrays of counts as the compiled steps take them, and how many threads they deserve."""

    def __init__(self, counts: CellCounts) -> None:
        self.arrays = (counts.starts, counts.cells, counts.impressions, counts.clicks)

    def threads(self) -> "Threads":
        return Threads(len(self.arrays[1]))


class Threads:
    """One thread for small work; the results are the same for any number."""

    def __init__(self, size: int) -> None:
        self.few = size < SMALL

    def __enter__(self) -> None:
        import numba

        self.before = numba.get_num_threads()
        if self.few:
            numba.set_num_threads(1)

    def __exit__(self, *exception: object) -> None:
        import numba

        numba.set_num_threads(self.before)
