r"""Do held-out clicks reject the click model that a reward corrects for, and by how much?

Under :math:`P(C=1|d,k) = \alpha_k R_d + \beta_k` a document's clicks at all its ranks together give
an estimate of its relevance without bias, :math:`\hat R_d = (c_d - \sum_k n_{dk}\beta_k) /
\sum_k n_{dk}\alpha_k`, so the residual of each rank,

.. math:: r_{dk} = c_{dk} - n_{dk}(\alpha_k \hat R_d + \beta_k),

has mean 0 exactly, whatever the relevance and however few the impressions. Nothing is assumed of
relevance but that it stays the same at every rank.

*Values that are given* are tested by the residuals of each rank. Relevance must also lie in
[0, 1]: of documents whose clicks in one half of the counts say otherwise, those in the other half
are asked.

*Values that are fitted* have made the residuals of each rank small, whatever the users do. So the
residuals are also summed over the more and the less relevant half of the documents, and of the
queries: one half of the counts tells which they are, and the other half is summed. And fitted
values have an error :math:`\hat\theta - \theta` of their own, which moves a sum S by
:math:`J(\hat\theta - \theta)`. If they have the largest likelihood, the variance of this is at most
that of the same sum over the clicks that were fitted, because :math:`J I^{-1} J^\top \preceq
\mathrm{Var}(S)` for every S of mean 0 (Cauchy-Schwarz), where documents change places there as they
do here. J and the variance grow with the impressions m that compare ranks
(:func:`cltr.clicks.affine_fit.compared_impressions`), so the variance of a sum at rank k is at most
:math:`1 + m_k^\text{held out} / m_k^\text{fitted}` times that of held-out clicks alone.

The largest standardised sum is judged by flipping the signs of whole queries at random (a wild
bootstrap): clicks of one query may depend on each other, and no approximation for large counts is
needed.

References: Wu (Annals of Statistics, 1986); Cameron, Gelbach and Miller (REStat, 2008); for sums of
residuals under fitted values Pierce (Annals of Statistics, 1982).
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from cltr.clicks.affine_fit import compared_impressions
from cltr.clicks.bias import affine_of
from cltr.clicks.counts import CellCounts
from cltr.clicks.scores import hold_out_statistics
from cltr.interfaces import ClickModel
from cltr.types import Affine, Booleans, ClickStatistics, Floats, Integers, Lists

LEVEL = 0.001
"""Share of the runs with the right click model that are warned nevertheless."""
NEGLIGIBLE = 0.01
"""Share of the expected clicks below which a deviation matters to nobody, however sure it is."""
DRAWS = 9999
GROUPS = 2000
"""Queries are put into at most so many groups: more would cost time and change nothing."""
FEW = 50
"""Queries below which documents are drawn instead, if clicks are independent."""


@dataclass(frozen=True)
class MisfitVerdict:
    """What held-out clicks say of a click model."""

    p_value: float | None
    """None if the model was not tested."""
    finding: str
    """Where clicks and model disagree most, or why the model was not tested, in words."""
    size: float = float("nan")
    """Clicks beyond the expected ones, as a share of these, where they disagree most."""
    standard_error: float = float("nan")
    """Of ``size``; with the error of fitted values."""
    overall: float = float("nan")
    """Clicks that lie elsewhere than the model puts them, beyond chance, as a share of all."""

    @property
    def tested(self) -> bool:
        return self.p_value is not None

    @property
    def rejected(self) -> bool:
        """Whether the clicks deviate surely, and by enough to matter."""
        return self.p_value is not None and self.p_value < LEVEL and abs(self.size) >= NEGLIGIBLE

    def __str__(self) -> str:
        if self.p_value is None:
            return f"not tested: {self.finding}"
        sure = "this is not chance, " if self.p_value < LEVEL else ""
        return f"{self.finding} ({sure}p = {self.p_value:.1g})"


class _Column(NamedTuple):
    """One thing that can be wrong: residual clicks, and what was expected."""

    sums: Floats
    """Residual clicks of each cluster, ``[clusters]``."""
    expected: Floats
    """Expected clicks of each cluster, ``[clusters]``."""
    shown: float
    words: str
    two_sided: bool = True
    inflation: float = 1.0
    """Variance of the sum over that of held-out clicks alone; above 1 for fitted values."""

    @property
    def error(self) -> float:
        """Standard error of the sum if the model is right: each cluster's mean is 0."""
        return float(np.sqrt(self.inflation * (self.sums**2).sum()))

    @property
    def size(self) -> float:
        """Residual clicks as a share of the expected ones."""
        return float(self.sums.sum() / max(self.expected.sum(), 1.0))

    def verdict(self, p_value: float) -> MisfitVerdict:
        expected = float(self.expected.sum())
        finding = self.words.format(
            found=(expected + self.sums.sum()) / self.shown, expected=expected / self.shown
        )
        away = self.sums - self.size * self.expected  # from the size, and not from 0
        error = np.sqrt(self.inflation * (away**2).sum()) / max(expected, 1.0)
        return MisfitVerdict(p_value, finding, self.size, float(error))


def judge_clicks(
    model: ClickModel, held_out: ClickStatistics, *, draws: int = DRAWS, seed: int = 0
) -> MisfitVerdict | None:
    """Test an affine click model; None if it is not affine, or nothing can be tested.

    A fitted model must say how many impressions its values rest on (``fitted.compared``); else the
    verdict is "not tested".

    Args:
        model: what is assumed.
        held_out: clicks that it was not fitted to.
        draws: of signs.
        seed: of the draws, and of the halves.
    """
    affine = affine_of(model, held_out.top_k)
    if affine is None:
        return None
    if model.fitted is not None:
        held_out = _shown(held_out)
    clusters = _clusters(model, held_out, seed)
    if model.fitted is None:
        columns = rank_columns(held_out, affine, clusters)
        columns += range_columns(held_out, affine, clusters, seed=seed)
    elif model.fitted.compared is None:
        return MisfitVerdict(
            None,
            "the fitted model does not record how many impressions it rests on, so its own error "
            "is not known; fit pbm or trust-bias again with cltr fit",
        )
    else:
        inflation = fit_inflation(held_out, affine, model.fitted.compared)
        columns = rank_columns(held_out, affine, clusters, inflation)
        columns += half_columns(held_out, affine, clusters, columns, seed=seed)
    least = 1e-9 * max(float(held_out.clicks.sum()), 1.0)
    columns = [column for column in columns if column.error > least]
    return _judge(columns, draws=draws, seed=seed) if columns else None


def _judge(columns: list[_Column], *, draws: int, seed: int) -> MisfitVerdict:
    """The verdict on the largest of the deviations that are sure, or else on the surest."""
    two_sided = np.array([column.two_sided for column in columns])
    errors = np.array([column.error for column in columns])
    sums = np.stack([column.sums for column in columns], axis=1)
    found = _size(sums.sum(0) / errors, two_sided)
    highest = _drawn(sums / np.sqrt((sums**2).sum(0)), two_sided, draws=draws, seed=seed)
    as_large = draws - np.searchsorted(highest, found * (1 - 1e-9))
    p_values = (1 + as_large) / (1 + draws)
    order = found
    if (p_values < LEVEL).any():
        shares = [abs(column.size) for column in columns]
        order = np.where(p_values < LEVEL, shares, -1.0)
    verdict = columns[int(order.argmax())].verdict(float(p_values.min()))
    return replace(verdict, overall=_overall(columns))


def _overall(columns: list[_Column]) -> float:
    """Residual clicks of all columns without their signs, less what chance alone would leave."""
    residuals = sum(abs(float(column.sums.sum())) for column in columns)
    chance = np.sqrt(2 / np.pi) * sum(column.error for column in columns)
    expected = sum(float(column.expected.sum()) for column in columns)
    return float(max(residuals - chance, 0.0) / max(expected, 1.0))


def fit_inflation(held_out: ClickStatistics, affine: Affine, fitted: Floats) -> Floats:
    """By how much the error of fitted values raises the variance at each rank at most, ``[K]``."""
    here = compared_impressions(CellCounts.of_statistics(held_out), affine)
    return 1.0 + here / np.maximum(fitted[: held_out.top_k], 1e-9)


def rank_columns(
    statistics: ClickStatistics,
    affine: Affine,
    clusters: Integers,
    inflation: Floats | None = None,
) -> list[_Column]:
    """Residuals of each rank, given the document's clicks at all of its ranks."""
    (tally,) = _tally([(statistics, [clusters])], affine, int(clusters.max(initial=-1)) + 1)
    columns = tally.columns("")
    if inflation is None:
        return columns
    return [
        column._replace(inflation=float(factor))
        for column, factor in zip(columns, inflation, strict=True)
    ]


def half_columns(
    statistics: ClickStatistics,
    affine: Affine,
    clusters: Integers,
    ranks: list[_Column],
    *,
    seed: int,
) -> list[_Column]:
    """The same for the more and the less relevant half of documents, and of queries.

    Each half of the counts says of the other half which documents these are.
    """
    owners = Lists.of_offsets(statistics.offsets).owners
    kinds = {"documents": np.arange(len(owners)), "queries": owners}
    shown, n = statistics.impressions.sum(-1), int(clusters.max(initial=-1)) + 1
    one, two = hold_out_statistics(statistics, share=0.5, seed=seed)
    parts = []
    for told, asked in ((one, two), (two, one)):
        high = [_more_relevant(told, affine, groups, shown) for groups in kinds.values()]
        parts.append((asked, [clusters + n * which for which in high]))
    trusting = bool(affine.trust.any())
    columns = []
    for name, tally in zip(kinds, _tally(parts, affine, 2 * n), strict=True):
        for words, half in (("less", slice(0, n)), ("more", slice(n, 2 * n))):
            found = tally.of(half).columns(f"for the {words} relevant half of the {name}, ")
            columns += [
                column._replace(inflation=_part_inflation(column, rank, trusting=trusting))
                for column, rank in zip(found, ranks, strict=True)
            ]
    return columns


def _part_inflation(part: _Column, rank: _Column, *, trusting: bool) -> float:
    """At most that of the rank; less without trust.

    There an error acts on a half as on the whole rank, by the half's share of the clicks. Errors of
    examination and trust together may cancel over a rank, and not over a half.
    """
    if trusting:
        return rank.inflation
    share = part.expected.sum() / max(rank.expected.sum(), 1.0)
    variances = (rank.sums**2).sum() / max((part.sums**2).sum(), 1e-9)
    return float(1.0 + min(1.0, share**2 * variances) * (rank.inflation - 1.0))


class _Tally(NamedTuple):
    """Residual clicks, expected clicks and impressions, ``[K, clusters]`` each."""

    residuals: Floats
    expected: Floats
    shown: Floats

    def of(self, clusters: slice) -> "_Tally":
        return _Tally(*(values[:, clusters] for values in self))

    def columns(self, where: str) -> list[_Column]:
        """One for each rank."""
        return [
            _Column(
                self.residuals[rank],
                self.expected[rank],
                max(float(self.shown[rank].sum()), 1.0),
                f"at rank {rank + 1}, {where}users click {{found:.1%}} of the impressions; the "
                "click model expects {expected:.1%}",
            )
            for rank in range(len(self.shown))
        ]


def _tally(
    parts: list[tuple[ClickStatistics, list[Integers]]], affine: Affine, n: int
) -> list[_Tally]:
    """Sums over the documents of each cluster, all parts together; for each way of clustering."""
    ways = len(parts[0][1])
    sums = np.zeros((ways, 3, len(affine.trust), n))
    for statistics, clusterings in parts:
        relevance = linear_relevance(statistics, affine)
        for rank, (examination, trust) in enumerate(zip(*affine, strict=True)):
            shown = statistics.impressions[:, rank].astype(np.float64)
            expected = shown * (relevance * examination + trust)
            values = (statistics.clicks[:, rank] - expected, expected, shown)
            for way, clusters in enumerate(clusterings):
                for kind, each in enumerate(values):
                    sums[way, kind, rank] += np.bincount(clusters, each, minlength=n)
    return [_Tally(*each) for each in sums]


def _more_relevant(
    half: ClickStatistics, affine: Affine, groups: Integers, shown: Integers
) -> Booleans:
    """Documents whose group has a relevance above that of the median impression, ``[docs]``."""
    corrected = np.bincount(groups, half.clicks.sum(-1) - half.impressions @ affine.trust)
    examined = np.bincount(groups, half.impressions @ affine.examination)
    found = np.divide(corrected, examined, out=np.zeros(len(examined)), where=examined > 0)
    relevance = found[groups]
    order = np.argsort(relevance, kind="stable")
    reached = np.cumsum(shown[order])
    middle = np.searchsorted(reached, reached[-1] / 2) if len(order) else 0
    return relevance > relevance[order[middle : middle + 1]]


def range_columns(
    statistics: ClickStatistics, affine: Affine, clusters: Integers, *, seed: int
) -> list[_Column]:
    """What documents get beyond the least, and short of the most, that the model allows them.

    Only of documents whose clicks in the other half say that they get less, or more.
    """
    chosen, asked = hold_out_statistics(statistics, share=0.5, seed=seed)
    relevance = linear_relevance(chosen, affine)
    least = asked.impressions @ affine.trust
    most = least + asked.impressions @ affine.examination
    clicks, shown = asked.clicks.sum(-1), asked.impressions.sum(-1)
    found = []
    for which, bound, sign, words in (
        (relevance < 0, least, 1.0, "less than the least that the model allows"),
        (relevance > 1, most, -1.0, "more than the most that the model allows"),
    ):
        residuals, bounds = np.where(which, [sign * (clicks - bound), bound], 0.0)
        found.append(
            _Column(
                np.bincount(clusters, residuals).astype(np.float64, copy=False),
                np.bincount(clusters, bounds).astype(np.float64, copy=False),
                max(float(shown[which].sum()), 1.0),
                f"users click some documents {words}",
                two_sided=False,
            )
        )
    return found


def _shown(statistics: ClickStatistics) -> ClickStatistics:
    """Without the documents that were never shown: most of them, in a log on a large data set."""
    shown = statistics.impressions.any(-1)
    offsets = np.concatenate([[0], np.cumsum(shown)])[statistics.offsets]
    impressions, clicks = statistics.impressions[shown], statistics.clicks[shown]
    return ClickStatistics(impressions, clicks, statistics.displays, offsets)


def linear_relevance(statistics: ClickStatistics, affine: Affine) -> Floats:
    """Corrected clicks over examination, without bias and without bounds, ``[docs]``."""
    corrected = statistics.clicks.sum(-1) - statistics.impressions @ affine.trust
    examined = statistics.impressions @ affine.examination
    values: Floats = np.divide(corrected, examined, out=np.zeros(len(examined)), where=examined > 0)
    return values


def _clusters(model: ClickModel, statistics: ClickStatistics, seed: int) -> Integers:
    """Of each document: its query's group, or its own where there are few queries."""
    queries = len(statistics.displays)
    owners = Lists.of_offsets(statistics.offsets).owners
    if model.independent and int((statistics.displays > 0).sum()) < FEW:
        owners, queries = np.arange(len(owners)), len(owners)
    if queries <= GROUPS:
        return owners
    groups = np.random.default_rng(seed).permutation(queries) % GROUPS
    mixed: Integers = groups[owners]
    return mixed


def _size(sums: Floats, two_sided: Booleans) -> Floats:
    """How far from what is expected: either way, or below it."""
    size: Floats = np.where(two_sided, np.abs(sums), -sums)
    return size


def _drawn(scaled: Floats, two_sided: Booleans, *, draws: int, seed: int) -> Floats:
    """The largest deviation in each draw of signs, rising, ``[draws]``."""
    rng = np.random.default_rng(seed)
    highest: list[Floats] = []
    for first in range(0, draws, 1000):
        n = min(draws - first, 1000)
        signs = rng.integers(0, 2, size=(n, len(scaled)), dtype=np.int8) * np.int8(2) - np.int8(1)
        highest.append(_size(signs.astype(np.float64) @ scaled, two_sided).max(1))
    found: Floats = np.sort(np.concatenate(highest))
    return found
