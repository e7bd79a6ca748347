"""Guards the effective sample: what a log is worth for rankings that it did not show."""

from dataclasses import replace

import numpy as np
import pytest

from cltr.clicks.models import PositionBased
from cltr.evaluation.bounds import equal_clicks
from cltr.health.checkup import examine
from cltr.health.effective import check_effective_sample, check_policy_sample
from tests.health.logs import draw

MODEL = PositionBased()
AFFINE = MODEL.affine(5)


def effective(n, **how):
    return check_effective_sample(draw(MODEL, n=n, **how).rewards(MODEL)["train"], AFFINE)


def test_ordinary_logs_pass_with_a_few_hundred_clicks():
    found = effective(1_000, n_queries=100)
    assert found.outcome == "pass"
    clicks = int(draw(MODEL, n=1_000, n_queries=100).clicks["train"].clicks.sum())
    assert 0.18 * clicks < found.number < clicks  # propensities differ by a factor of 20 at most
    told = f"the {clicks:,} training clicks say as much as {found.number:,.0f} equally weighted"
    assert told in found.sentence


@pytest.mark.parametrize(("n", "outcome"), [(10, "fail"), (60, "inconclusive"), (500, "pass")])
def test_few_clicks(n, outcome):
    found = effective(n, n_queries=100)
    assert found.outcome == outcome
    assert (found.number < 20, found.number < 100) == {
        "fail": (True, True),
        "inconclusive": (False, True),
        "pass": (False, False),
    }[outcome]


def test_equal_weights_count_every_click():
    rewards = draw(MODEL, n=500).rewards(MODEL)["train"]
    even = np.full(len(rewards.values), 0.2)
    uniform = replace(rewards, exposure=replace(rewards.exposure, weights=even, propensities=even))
    clicks = int(rewards.statistics.clicks.sum())
    assert check_effective_sample(uniform, AFFINE).number == pytest.approx(clicks)


@pytest.mark.parametrize(("share", "outcome"), [(0.05, "pass"), (0.5, "inconclusive")])
def test_a_query_with_most_of_the_traffic_leaves_few_queries(share, outcome):
    """1 / (share^2 + ...) queries: 3.9 of one that has half of the traffic."""
    rewards = draw(MODEL, n=20_000, n_queries=60).rewards(MODEL)["train"]
    displays = np.full(60, (1 - share) / 59)
    displays[0] = share
    displays = (20_000 * displays).astype(np.int64)
    skewed = replace(rewards, statistics=replace(rewards.statistics, displays=displays))
    found = check_effective_sample(skewed, AFFINE)
    assert found.outcome == outcome
    queries = displays.sum() ** 2 / (displays**2).sum()
    assert f"as much as {queries:,.0f} equally frequent queries" in found.sentence


def test_it_is_one_of_the_checks_of_a_log():
    log = draw(MODEL, n=20_000)
    assert "effective sample" in [one.name for one in examine(MODEL, log.rewards(MODEL))]


@pytest.mark.parametrize(("clicks", "outcome"), [(20.0, "pass"), (19.9, "inconclusive")])
def test_few_held_out_clicks_decide_about_the_policy(clicks, outcome):
    found = check_policy_sample(clicks)
    assert (found.outcome, found.number) == (outcome, clicks)
    assert bool(found.advice) == (outcome != "pass")


def test_one_heavy_click_is_not_enough():
    heavy = equal_clicks(np.array([1.0, 100.0]), np.array([1000.0, 0.1]))
    assert check_policy_sample(heavy).outcome == "inconclusive"
