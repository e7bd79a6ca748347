"""A canary: unbiased under drift, valid at every look, and within both budgets."""

import numpy as np
import pytest

from cltr.errors import DataError
from cltr.evaluation.bounds import Limits, running_bounds
from cltr.evaluation.canary import (
    CanaryLog,
    judge_canary,
    judge_interleaving,
    team_effects,
)
from cltr.evaluation.verdict import canary_share

UNIT = Limits(0.0, 1.0)


def drifting(seed: int, *, n: int = 4000, effect: float = -0.02) -> CanaryLog:
    """The share rises while traffic gets better: means of the arms mislead."""
    rng = np.random.default_rng(seed)
    late = np.arange(n) >= n // 2
    shares = np.where(late, 0.6, 0.1)
    new = rng.random(n) < shares
    chance = np.where(late, 0.6, 0.2) + effect * new
    return CanaryLog(new, shares, (rng.random(n) < chance).astype(float))


def judge(log: CanaryLog, **changes):
    options = {"limits": UNIT, "tolerance": 0.01, "share": 0.1, "trusted": True}
    return judge_canary(log, **(options | changes))


def test_effects_are_unbiased_under_drift_where_means_of_arms_are_not():
    logs = [drifting(seed) for seed in range(200)]
    weighted = np.array([log.effects.mean() for log in logs])
    pooled = [log.outcomes[log.new].mean() - log.outcomes[~log.new].mean() for log in logs]
    assert abs(weighted.mean() + 0.02) < 3 * weighted.std() / np.sqrt(200)
    assert np.mean(pooled) > 0.05


def test_bounds_hold_at_all_looks_together():
    missed = 0
    for seed in range(200):
        log = drifting(seed, n=2000)
        bounds = running_bounds(log.effects, Limits(-2.5, 10.0), confidence=0.95)
        missed += bool(((bounds.low > -0.02) | (bounds.high < -0.02)).any())
    assert missed <= 18  # 10 are allowed on average; p = .01


def test_a_harmful_ranker_is_stopped_and_never_shipped():
    decisions = [judge(drifting(seed, n=20_000, effect=-0.2)).decision for seed in range(20)]
    assert set(decisions) == {"stop"}


def test_a_good_ranker_is_shipped():
    decisions = [judge(drifting(seed, n=20_000, effect=0.2)).decision for seed in range(20)]
    assert decisions.count("ship") >= 18


def test_stop_comes_before_ship():
    log = drifting(1, n=20_000, effect=-0.2)
    assert judge(log, tolerance=1.0).decision == "stop"


def test_the_share_follows_the_lower_bound():
    found = judge(drifting(2), tolerance=0.05)
    assert found.decision == "continue"
    assert found.share == pytest.approx(0.05 / -found.low)
    assert judge(drifting(2), tolerance=0.001).share == 0.1


def test_outcomes_that_are_not_trusted_never_raise_the_share():
    found = judge(drifting(3, n=20_000, effect=0.3), trusted=False)
    assert (found.decision, found.share) == ("continue", 0.1)
    assert "may not raise" in found.reason


def test_the_certified_share_keeps_the_budget():
    assert canary_share(0.5, budget=0.02) == 0.04
    assert canary_share(0.01, budget=0.02) == 1.0
    assert canary_share(0.0, budget=0.0) == 1.0


def test_requests_that_had_no_choice_are_left_out():
    log = drifting(4)
    more = CanaryLog(
        np.append(log.new, True), np.append(log.shares, 1.0), np.append(log.outcomes, 1.0)
    )
    assert judge(more) == judge(log)


@pytest.mark.parametrize(
    ("new", "shares", "outcomes", "message"),
    [
        ([True], [0.0], [1.0], "request 1 got the new ranker although"),
        ([False], [1.0], [1.0], "request 1 got production although"),
        ([True], [1.5], [1.0], "outside"),
        ([True, False], [0.5, 0.5], [1.0, np.nan], "outcome of request 2"),
        ([True], [0.5, 0.5], [1.0], "same requests"),
        ([True], [1.0], [1.0], "rankers cannot be compared"),
        ([True], [0.5], [2.0], "outside the limits"),
    ],
)
def test_what_cannot_be_a_canary_is_refused(new, shares, outcomes, message):
    with pytest.raises(DataError, match=message):
        judge(CanaryLog(np.array(new), np.array(shares), np.array(outcomes)))


def test_interleaving_prefers_the_ranker_with_more_clicks():
    rng = np.random.default_rng(0)
    better, worse = rng.binomial(3, 0.4, 5000), rng.binomial(3, 0.3, 5000)
    up = judge_interleaving(team_effects(better, worse), tolerance=0.01)
    down = judge_interleaving(team_effects(worse, better), tolerance=0.01)
    assert (up.decision, down.decision) == ("ship", "stop")
    assert up.effect == pytest.approx(-down.effect)
    assert "credit per request" in up.reason
