"""Guards IPS, SNIPS and DR on real propensities: Open Bandit, beside a plain computation."""

import csv
import math
from collections import Counter, defaultdict

import numpy as np
import pytest

from cltr.evaluation.estimators import dr_terms, ips_terms, linear_terms, snips_terms
from cltr.evaluation.part import Fold, LogPart, Weights
from cltr.evaluation.units import InteractionUnits
from cltr.policies import PlackettLuce
from cltr.policies.on_dataset import ScoredPolicy
from cltr.testing import tiny_dataset
from cltr.types import Affine, ClickLog, ClickStatistics, Exposure, Lists
from tests.plain_logs import REAL

FOLDER = REAL / "open-bandit"
AFFINE = Affine(np.ones(1), np.zeros(1))
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="needs Open Bandit in ../shared/data")


def impressions(policy: str, campaign: str) -> list[tuple[int, int, int, float]]:
    """Item, position, click and propensity of each row."""
    with (FOLDER / policy / campaign / f"{campaign}.csv").open(newline="") as file:
        return [
            (
                int(row["item_id"]),
                int(row["position"]),
                int(row["click"]),
                float(row["propensity_score"]),
            )
            for row in csv.DictReader(file)
        ]


def distribution(rows, policy: str, n_items: int) -> dict[int, list[float]]:
    """P(item | position) of a policy: uniform, or as it was shown."""
    if policy == "random":
        return {position: [1 / n_items] * n_items for position in (1, 2, 3)}
    shown = defaultdict(Counter)
    for item, position, _, _ in rows:
        shown[position][item] += 1
    return {
        position: [counts[item] / counts.total() for item in range(n_items)]
        for position, counts in shown.items()
    }


def by_hand(rows, policy, regression) -> dict[str, float]:
    """The textbook formulas, row by row."""
    weights = [policy[position][item] / chance for item, position, _, chance in rows]
    clicks = [click for _, _, click, _ in rows]
    weighted = [w * c for w, c in zip(weights, clicks, strict=True)]
    doubly = [
        math.fsum(p * q for p, q in zip(policy[position], regression, strict=True))
        + w * (click - regression[item])
        for w, (item, position, click, _) in zip(weights, rows, strict=True)
    ]
    n = len(rows)
    return {
        "IPS": math.fsum(weighted) / n,
        "SNIPS": math.fsum(weighted) / math.fsum(weights),
        "DR": math.fsum(doubly) / n,
    }


def by_units(rows, policy, regression) -> dict[str, float]:
    """The same by the estimators of candidates: a list of all items for each row."""
    n, n_items = len(rows), len(regression)
    first = np.arange(n) * n_items
    items, positions, clicks, chances = (np.array(column) for column in zip(*rows, strict=True))
    propensities = np.full(n * n_items, 1 / n_items)
    propensities[first + items] = chances
    weights = np.concatenate([policy[position] for position in positions])
    offsets = np.arange(0, n * n_items + 1, n_items)
    log = ClickLog(np.arange(n), (first + items)[:, None], clicks.astype(bool)[:, None])
    part = LogPart(
        "test",
        InteractionUnits.of([log], AFFINE, Lists.of_offsets(offsets)),
        ClickStatistics.count(log, offsets),
        Exposure(propensities, propensities, propensities, "logged"),
        ScoredPolicy(tiny_dataset(), np.zeros(0), PlackettLuce()),
        np.tile(regression, n),
    )
    both = Weights(Fold(part, part), {"test": weights}, {"test": propensities})
    terms = {
        "IPS": linear_terms([both], ips_terms),
        "SNIPS": snips_terms([both], part.units.counts),
        "DR": linear_terms([both], dr_terms),
    }
    return {name: float(found.candidate.mean()) for name, found in terms.items()}


@pytest.mark.parametrize("campaign", ["men", "women"])
@pytest.mark.parametrize(("logged", "other"), [("random", "bts"), ("bts", "random")])
def test_values_of_the_other_policy_equal_a_plain_computation(campaign, logged, other):
    rows, elsewhere = impressions(logged, campaign), impressions(other, campaign)
    n_items = 1 + max(item for item, *_ in rows + elsewhere)
    policy = distribution(elsewhere, other, n_items)
    seen, clicked = Counter(), Counter()
    for item, _, click, _ in elsewhere:
        seen[item] += 1
        clicked[item] += click
    regression = [(clicked[item] + 0.1) / (seen[item] + 20) for item in range(n_items)]
    expected = by_hand(rows, policy, regression)
    found = by_units(rows, policy, regression)
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-12)
        assert 0 < value < 0.05
