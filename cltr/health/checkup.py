"""All health checks of a log, in the order in which they matter."""

from collections.abc import Mapping

from cltr.clicks.misfit import judge_clicks
from cltr.clicks.scores import hold_out_statistics
from cltr.health.click_model import (
    best_examination,
    check_attention,
    check_identified,
    check_misfit,
)
from cltr.health.effective import check_effective_sample
from cltr.health.evidence import (
    check_clicks,
    check_overlap,
    check_possible,
    check_signal,
    click_rates,
)
from cltr.health.outcome import HealthCheck
from cltr.health.production import check_production
from cltr.interfaces import ClickModel
from cltr.types import ClickStatistics, Rewards


def examine(
    model: ClickModel, rewards: Mapping[str, Rewards], *, seed: int = 0
) -> list[HealthCheck]:
    """Ask training and validation clicks all questions; no test click is looked at.

    Args:
        model: affine; fitted to the training clicks, or given.
        rewards: by split; those of validation clicks without clipping of propensities.
        seed: of random halves and bootstraps.
    """
    train, valid = rewards["train"], rewards["valid"]
    assert train.statistics is not None and valid.statistics is not None
    clicks = check_clicks(train.statistics)
    if clicks.outcome == "fail":
        return [clicks]
    affine = model.require_affine(train.statistics.top_k)
    halves = hold_out_statistics(train.statistics, share=0.5, seed=seed)
    signal = check_signal(*halves, affine, seed=seed)
    if signal.outcome != "fail" and model.fitted is None:
        # A wrong click model makes ranks look like documents that differ; counted rates do not.
        signal = check_signal(*halves, click_rates(train.statistics), seed=seed)
    if signal.outcome == "fail":
        return [clicks, signal]
    return [
        clicks,
        signal,
        check_identified(model, train.statistics),
        check_production([train, valid], seed=seed),
        check_attention(model, train.statistics.top_k),
        check_misfit(model, judge_clicks(model, valid.statistics)),
        check_possible(valid, seed=seed),
        check_overlap(train.exposure, train.statistics, best_examination=best_examination(affine)),
        check_effective_sample(train, affine),
    ]


def no_model(reason: str, statistics: ClickStatistics) -> list[HealthCheck]:
    """What is said when no click model could be fitted.

    Args:
        reason: of :attr:`cltr.clicks.choose_model.ModelChoice.sentences`.
        statistics: training clicks.
    """
    clicks = check_clicks(statistics)
    if clicks.outcome == "fail":
        return [clicks]
    advice = "Log for longer, or give the click model (--click-model)."
    return [clicks, HealthCheck("click model", "fail", None, reason, advice)]
