r"""Do held-out clicks reject the click model that a reward corrects for?

Under :math:`P(C=1|d,k) = \alpha_k R_d + \beta_k` a document's clicks at all its ranks together give
an estimate of its relevance without bias, :math:`\hat R_d = (c_d - \sum_k n_{dk}\beta_k) /
\sum_k n_{dk}\alpha_k`, so the residual of each rank,

.. math:: r_{dk} = c_{dk} - n_{dk}(\alpha_k \hat R_d + \beta_k),

has mean 0 exactly, whatever the relevance and however few the impressions. Nothing is assumed of
relevance but that it stays the same at every rank. Where the values of the model are given, and not
fitted on a scale of their own, relevance must also lie in [0, 1]: of documents whose clicks in one
half of the counts say otherwise, those in the other half are asked.

The largest standardised sum over documents is judged by flipping the signs of whole queries at
random (a wild bootstrap): clicks of one query may depend on each other, and no approximation for
large counts is needed.

References: Wu (Annals of Statistics, 1986); Cameron, Gelbach and Miller (REStat, 2008).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cltr.clicks.scores import hold_out_statistics
from cltr.errors import CltrError
from cltr.interfaces import ClickModel, RewardFunction
from cltr.types import Affine, ClickStatistics, Floats, Integers, Lists, Rewards

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
class Verdict:
    """What held-out clicks say of a click model."""

    p_value: float
    finding: str
    """Where they disagree most, in words."""
    negligible: bool
    """Whether the disagreement is too small to matter."""

    @property
    def rejected(self) -> bool:
        return self.p_value < LEVEL and not self.negligible


@dataclass(frozen=True)
class _Column:
    """One thing that can be wrong: residuals of each document, and what was expected."""

    residuals: Floats
    expected: float
    shown: float
    two_sided: bool
    words: str

    def finding(self) -> str:
        total = float(self.residuals.sum())
        return self.words.format(
            found=(self.expected + total) / self.shown, expected=self.expected / self.shown
        )


def warn_of_misfit(
    reward: RewardFunction,
    estimator: str,
    click_model: ClickModel,
    rewards: Mapping[str, Rewards],
) -> list[str]:
    """A line if held-out clicks reject what the reward assumes, ready for a result.

    Args:
        reward: one that does not lean on the click model is never warned of.
        estimator: by name; the advice depends on it.
        click_model: the assumed one.
        rewards: of training and validation clicks.
    """
    train, valid = rewards["train"].statistics, rewards["valid"].statistics
    if not reward.corrects_bias or train is None or valid is None:
        return []
    verdict = judge_clicks(
        click_model,
        valid,
        n_fitted=train.n_interactions,
    )
    if verdict is None or not verdict.rejected:
        return []
    advice = (
        f"{estimator} over {reward.name} leans on it: use --estimator prpo"
        if estimator != "prpo"
        else f"{reward.name} leans on it, and prpo bounds what that can cost"
    )
    return [
        f"held-out clicks reject the click model '{click_model.name}' (p = {verdict.p_value:.1g}): "
        f"{verdict.finding}; {advice}, or find a better one with cltr fit"
    ]


def judge_clicks(
    model: ClickModel,
    held_out: ClickStatistics,
    *,
    n_fitted: int = 0,
    draws: int = DRAWS,
    seed: int = 0,
) -> Verdict | None:
    """Test an affine click model; None if it is not affine, or nothing can be tested.

    Args:
        model: what is assumed.
        held_out: clicks that it was not fitted to.
        n_fitted: interactions that a fitted model was fitted to: its own error counts too.
        draws: of signs.
        seed: of the draws.
    """
    try:
        affine = model.affine(held_out.top_k)
    except CltrError:
        return None
    columns = rank_columns(held_out, affine)
    if model.fitted is None:
        columns += range_columns(held_out, affine, seed=seed)
    owners = _clusters(model, held_out, seed)
    sums = np.stack([np.bincount(owners, column.residuals) for column in columns], axis=1)
    inflation = 1.0
    if model.fitted is not None and n_fitted > 0:
        inflation += held_out.n_interactions / n_fitted
    spread = np.sqrt(inflation * (sums**2).sum(0))
    usable = spread > 1e-9 * np.maximum(held_out.clicks.sum(), 1)
    if not usable.any():
        return None
    signs = np.array([column.two_sided for column in columns])[usable]
    scaled = sums[:, usable] / spread[usable]
    found = _size(scaled.sum(0), signs)
    worst = int(found.argmax())
    p_value = _p_value(scaled, signs, float(found[worst]), draws=draws, seed=seed)
    column = columns[np.flatnonzero(usable)[worst]]
    negligible = abs(column.residuals.sum()) < NEGLIGIBLE * max(column.expected, 1.0)
    return Verdict(p_value, column.finding(), bool(negligible))


def rank_columns(statistics: ClickStatistics, affine: Affine) -> list[_Column]:
    """Residuals of each rank, given the document's clicks at all of its ranks."""
    shown = statistics.impressions
    relevance = linear_relevance(statistics, affine)
    expected = shown * (relevance[:, None] * affine.examination + affine.trust)
    residuals = statistics.clicks - expected
    return [
        _Column(
            residuals[:, rank],
            float(expected[:, rank].sum()),
            max(float(shown[:, rank].sum()), 1.0),
            True,
            f"at rank {rank + 1} documents are clicked {{found:.3f}} of the time, and by their "
            "clicks at other ranks it should be {expected:.3f}",
        )
        for rank in range(statistics.top_k)
    ]


def range_columns(statistics: ClickStatistics, affine: Affine, *, seed: int) -> list[_Column]:
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
        (relevance < 0, least, 1.0, "less than the least that it allows"),
        (relevance > 1, most, -1.0, "more than the most that it allows"),
    ):
        found.append(
            _Column(
                np.where(which, sign * (clicks - bound), 0.0),
                float(bound[which].sum()),
                max(float(shown[which].sum()), 1.0),
                False,
                f"some documents are clicked {words}",
            )
        )
    return found


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


def _size(sums: Floats, two_sided: np.ndarray) -> Floats:
    """How far from what is expected: either way, or below it."""
    size: Floats = np.where(two_sided, np.abs(sums), -sums)
    return size


def _p_value(
    scaled: Floats, two_sided: np.ndarray, found: float, *, draws: int, seed: int
) -> float:
    rng = np.random.default_rng(seed)
    as_large, left = 0, draws
    while left > 0:
        n = min(left, 1000)
        signs = rng.integers(0, 2, size=(n, len(scaled)), dtype=np.int8) * np.int8(2) - np.int8(1)
        drawn = _size(signs.astype(np.float64) @ scaled, two_sided)
        as_large += int((drawn.max(1) >= found * (1 - 1e-9)).sum())
        left -= n
    return (1 + as_large) / (1 + draws)
