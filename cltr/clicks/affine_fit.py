r"""Fit :math:`P(C=1|d,j) = \alpha_j R_d + \beta_j` to counts: position bias, trust bias, and UBM.

EM over whether each impression was relevant, on counts by document and cell: its cost does not
depend on the number of interactions. A trust :math:`\beta` that starts at 0 stays 0, so the same
steps fit the position-based model.

*Documents with few impressions.* A relevance of their own for each would fit chance, and bend what
all share however many they are. So relevance is integrated over: its distribution over documents
(weights of levels in [0, 1]) is fitted together with examination and trust, and only documents with
many impressions get a number of their own. Then each document's relevance is estimated given its
clicks, with that distribution for a prior.

*What clicks cannot tell.* :math:`R \to (R - m)/s`, :math:`\alpha \to s\alpha`,
:math:`\beta \to \beta + m\alpha` leaves all click probabilities as they are (without trust:
:math:`m = 0`). Only how the click probability at one rank follows from that at another is
determined. So a convention picks the scale: without trust, the best cell is always examined;
with trust, the least relevant impressions (a share of them) are irrelevant and the most relevant
ones relevant. Where relevance does not span [0, 1] this gives relevance on a scale of its own,
in the same order.

References: Wang et al. (WSDM'18); Agarwal et al. (WWW'19); Oosterhuis (TOIS'23); for the
distribution of relevance Laird (JASA'78).
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cltr.clicks.affine_em import Climber
from cltr.clicks.counts import CellCounts
from cltr.clicks.fit_tools import Convergence, FitOptions, Parameters, Threads, document_queries
from cltr.clicks.relevance import Regression, Spread, rescale_relevance
from cltr.errors import DataError, UsageError
from cltr.types import Affine, ClickStatistics, Dataset, Floats

IRRELEVANT, RELEVANT = 0.05, 0.002
"""Shares of the impressions, least and most relevant, that anchor the scale: irrelevant documents
are many, while beyond the most relevant ones no click probability could be told any more."""


@dataclass(frozen=True)
class AffineFit:
    """Click probabilities by cell and relevance by document."""

    affine: Affine
    relevance: Floats
    """``[docs]``"""
    spread: Spread
    """Of relevance over documents; an unseen one gets the mean."""
    ends: tuple[float, float]
    """What became relevance 0 and 1 when the scale was fixed."""
    convergence: Convergence


def fit_affine(
    counts: CellCounts, start: Affine, options: FitOptions, *, network: Regression | None = None
) -> AffineFit:
    """Fit examination, trust and relevance together.

    Args:
        counts: impressions and clicks by document and cell.
        start: where the climb starts; trust that is 0 stays 0.
        options: smoothing, iterations, tolerance.
        network: where relevance comes from; a table if None.
    """
    if not counts.clicks.sum() > 0:
        raise DataError("the log has no clicks, so no click model can be fitted to it")
    climber = Climber(counts, start)
    summit = climber.regress(network, options) if network else climber.integrate(options)
    ends = scale_ends(summit.affine, summit.levels, summit.impressions)
    affine = rescale(summit.affine, *ends)
    levels = rescale_relevance(summit.levels, *ends)
    mean = np.average(levels, weights=summit.documents)
    variance = np.average((levels - mean) ** 2, weights=summit.documents)
    spread = Spread.of_moments(mean, variance)
    relevance = (
        levels if network else infer_relevance(counts, affine, spread, smoothing=options.smoothing)
    )
    return AffineFit(affine, relevance, spread, ends, summit.convergence)


def infer_relevance(
    counts: CellCounts, affine: Affine, spread: Spread, *, smoothing: "float | str" = "auto"
) -> Floats:
    """The likeliest relevance of each document when examination and trust are known, ``[docs]``.

    Example:
        >>> keys = np.zeros(10, int)  # one document, ten times at rank 1, clicked four times
        >>> counts = CellCounts.of_keys(keys, np.arange(10) < 4, 1, offsets=np.array([0, 1]))
        >>> trust_bias = Affine(np.array([0.5]), np.array([0.1]))
        >>> infer_relevance(counts, trust_bias, Spread(0.5, 1.0), smoothing=0.0).round(6)
        array([0.6])
    """
    from cltr.kernels import affine_steps

    prior = spread.table(smoothing)
    with Threads(len(counts.keys)):
        found: Floats = affine_steps.likeliest(
            *counts.arrays,
            affine.examination + affine.trust,
            affine.trust,
            prior.smoothing,
            prior.prior,
        )
    return found


def infer_cells(
    counts: CellCounts, affine: Affine, options: FitOptions, fitted: Parameters | None = None
) -> Floats:
    """The same with the spread of relevance of a fit, or that of these counts if None."""
    spread = spread_of(fitted) if fitted else Climber(counts, affine).spread()
    return infer_relevance(counts, affine, spread, smoothing=options.smoothing)


def infer_statistics(
    statistics: ClickStatistics,
    affine: Affine,
    options: FitOptions | None = None,
    fitted: Parameters | None = None,
) -> Floats:
    """The same from clicks and impressions by rank."""
    counts = CellCounts.of_statistics(statistics)
    return infer_cells(counts, affine, options or FitOptions(), fitted)


def scale_ends(affine: Affine, levels: Floats, impressions: Floats) -> tuple[float, float]:
    """Which relevance the convention calls 0, and which 1."""
    if not (affine.trust > 0).any():
        return 0.0, 1.0 / max(float(affine.examination.max()), 1e-12)
    order = np.argsort(levels, kind="stable")
    reached = np.cumsum(impressions[order]) / impressions.sum()
    places = np.minimum(np.searchsorted(reached, (IRRELEVANT, 1.0 - RELEVANT)), len(levels) - 1)
    low, high = levels[order][places]
    return (float(low), float(high)) if high > low else (0.0, 1.0)


def rescale(affine: Affine, low: float, high: float) -> Affine:
    """Examination and trust when relevance ``low`` becomes 0 and ``high`` 1."""
    return Affine((high - low) * affine.examination, affine.trust + low * affine.examination)


def compared_impressions(counts: CellCounts, affine: Affine) -> Floats:
    r"""Impressions in each cell that tell this cell from others, ``[cells]``.

    A document that was shown in one cell only says nothing of how cells differ; one that was shown
    in several compares them. The information on a cell, and the variance of its residual clicks,
    grow with :math:`\sum_d n_{dj} (1 - n_{dj}\alpha_j / \sum_i n_{di}\alpha_i)`.

    Example:
        >>> keys = np.array([0, 1, 2])  # document 0 in both cells, document 1 in the first only
        >>> counts = CellCounts(keys, np.array([3.0, 6.0, 9.0]), np.zeros(3), 2, np.array([0, 2]))
        >>> compared_impressions(counts, Affine(np.array([1.0, 0.5]), np.zeros(2)))
        array([1.5, 3. ])
    """
    examined = counts.impressions * affine.examination[counts.cells]
    total = counts.by_document(examined)[counts.documents]
    share = np.divide(examined, total, out=np.zeros(len(examined)), where=total > 0)
    return counts.by_cell(counts.impressions * (1.0 - share))


def fit_cells(
    counts: CellCounts, start: Affine, options: FitOptions, dataset: Dataset | None = None
) -> Parameters:
    """Fit, and tell what clicks leave open: ``examination``, ``trust`` and ``relevance``."""
    network = None
    if options.relevance == "regression":
        features = require_features(dataset)
        prior = Climber(counts, start).mean
        network = Regression(features, prior=prior, hidden=options.hidden)
    found = fit_affine(counts, start, options, network=network)
    return Parameters(
        shared={"examination": found.affine.examination, "trust": found.affine.trust},
        documents={"relevance": found.relevance},
        unseen={"relevance": found.spread.mean},
        strength={"relevance": found.spread.strength},
        convergence=replace(found.convergence, notes=_notes(counts, found, tabular=not network)),
        networks=_network(network, found.ends) if network else {},
        query_ids=None if dataset is None else document_queries(dataset),
        document_ids=None if dataset is None else dataset.document_ids,
    )


def spread_over_documents(successes: Floats, trials: Floats) -> Spread:
    """How a probability varies over documents, beyond what chance does, from counts of each.

    Example:
        >>> successes, trials = np.tile([25.0, 75.0], 50), np.full(100, 100.0)
        >>> round(spread_over_documents(successes, trials).mean, 2)
        0.5
    """
    keys = np.flatnonzero(trials)
    if not len(keys):
        return Spread(0.5, 1.0)
    offsets = np.array([0, len(trials)])
    counts = CellCounts(keys, trials[keys], successes[keys], 1, offsets)
    return Climber(counts, Affine(np.ones(1), np.zeros(1))).spread()


def spread_of(parameters: Parameters, name: str = "relevance") -> Spread:
    """How a fitted number varies over documents."""
    return Spread(parameters.unseen[name], parameters.strength[name])


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
        f"clicks cannot tell; here the {IRRELEVANT:.0%} least relevant impressions count as "
        f"irrelevant and the {RELEVANT:.1%} most relevant as relevant"
        if trust
        else "examination is determined only up to its scale; its highest value is set to 1"
    )
    apart = counts.unconnected() if tabular else ()
    lonely = f"cells {', '.join(map(str, apart))} share no document with the others, so their "
    return (scale, *([lonely + "examination is a guess"] if apart else []))
