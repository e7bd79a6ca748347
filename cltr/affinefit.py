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
from cltr.relevance import Estimate, Regression, Table
from cltr.types import Affine, Dataset, Floats

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
    summit = climb_affine(counts, start, table, Table(options.smoothing, 0.5), options)
    relevant, irrelevant, relevance = summit.state
    affine = Affine(relevant - irrelevant, irrelevant)
    affine, relevance = fix_scale(affine, relevance, counts)
    shown = counts.by_document(counts.impressions) > 0
    prior = float(relevance[shown].mean().clip(1e-6, 1 - 1e-6))
    if estimate is None:
        relevance = infer_relevance(counts, affine, smoothing=options.smoothing, prior=prior)
    return AffineFit(affine, relevance, prior, summit.convergence)


def climb_affine(
    counts: CellCounts, start: Affine, documents: Estimate, cells: Table, options: FitOptions
) -> Climb:
    """EM from ``start``; the state is A = examination + trust, B = trust, and relevance."""
    from cltr import affinefit_kernel

    entries = Entries(counts)
    shown = counts.by_cell(counts.impressions)
    trials = counts.by_document(counts.impressions)
    relevant, irrelevant = np.clip(start.examination + start.trust, 0.0, 1.0), start.trust
    above = replace(cells, prior=relevant)
    below = replace(cells, prior=irrelevant)

    def step(state: State) -> tuple[State, float]:
        relevant, irrelevant, relevance = state
        hits, sums, value = affinefit_kernel.expect(*entries.arrays, *state)
        value += above.penalty(relevant) + below.penalty(irrelevant) + documents.penalty(relevance)
        trust = below.update(sums[2], shown - sums[1])
        ahead = (
            above.update(sums[0], sums[1]),
            np.where(irrelevant > 0, trust, 0.0),
            documents.update(hits, trials),
        )
        return ahead, value

    first = documents.update(np.zeros(counts.n_documents), np.zeros(counts.n_documents))
    walk = leap if isinstance(documents, Table) else climb
    with entries.threads():
        return walk(
            step,
            (relevant, irrelevant, first),
            iterations=options.iterations,
            tolerance=options.tolerance,
        )


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


def fix_scale(affine: Affine, relevance: Floats, counts: CellCounts) -> tuple[Affine, Floats]:
    """Examination, trust and relevance on the scale of the convention; clicks stay as likely."""
    if (affine.trust > 0).any():
        shown = counts.by_document(counts.impressions)
        low, high = _quantiles(relevance, shown, (ANCHOR, 1.0 - ANCHOR))
        if high <= low:
            return affine, relevance
    else:
        low, high = 0.0, 1.0 / max(float(affine.examination.max()), 1e-12)
    scaled = Affine((high - low) * affine.examination, affine.trust + low * affine.examination)
    return scaled, np.clip((relevance - low) / (high - low), 0.0, 1.0)


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
        networks={f"relevance/{name}": w for name, w in network.weights.items()} if network else {},
        query_ids=None if dataset is None else document_queries(dataset),
        document_ids=None if dataset is None else dataset.document_ids,
    )


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
