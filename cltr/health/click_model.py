"""Can the click model be relied on: does it fit, is it identified, is it one of people?"""

import numpy as np

from cltr.clicks.misfit import MisfitVerdict
from cltr.health.outcome import HealthCheck, HealthOutcome
from cltr.interfaces import ClickModel
from cltr.types import Affine, ClickStatistics, Floats

GIVEN_LIMITS, FITTED_LIMITS = (0.02, 0.05), (0.2, 0.5)
"""Share of the clicks that lie elsewhere than a given (fitted) click model puts them: up to the
first number the model is used, up to the second with care. A fitted model corrects for most of the
bias even where users are of another kind: of those of dbn and cascade, up to 12% of the clicks lie
elsewhere, and DR gained as much as with users of the fitted kind (docs/defaults.md). A given model
is easily replaced by a fitted one."""
RISE = 0.25
"""By how much the click probability of a relevant document may rise with the rank."""
SLIGHT_RISE = 0.05
"""The same, up to which it is a matter of estimation."""
FEW_COMPARED = 200
"""Impressions that compare a rank with others, below which its examination is hardly known."""


def untested_reward(name: str) -> HealthCheck:
    """A reward that rests on no click model has nothing that held-out clicks could test.

    Args:
        name: of the reward.
    """
    return HealthCheck(
        "reward",
        "inconclusive",
        None,
        f"The reward '{name}' does not rely on a click model, so held-out clicks cannot test it, "
        "and its estimate of the gain may be biased.",
        "Train with --reward dr, or judge the run by 'cltr gate RUN --log LOG'.",
    )


def check_misfit(model: ClickModel, verdict: MisfitVerdict | None) -> HealthCheck:
    """By how much do held-out clicks differ from what the click model predicts?

    Args:
        model: given or fitted.
        verdict: of :func:`cltr.clicks.misfit.judge_clicks` on validation clicks.
    """
    fitted = model.fitted is not None
    advice = "" if fitted else "Fit the click model to these clicks: --click-model auto."
    if verdict is None or not verdict.tested:
        why = "there is nothing to test" if verdict is None else verdict.finding
        sentence = f"The click model '{model.name}' could not be tested: {why}."
        return HealthCheck("click model", "inconclusive", None, sentence, advice)
    share = verdict.overall
    told = f"{share:.1%} of the held-out clicks are in other places than it predicts"
    if not verdict.rejected:
        sentence = f"The clicks agree with the click model '{model.name}': {told}."
        return HealthCheck("click model", "pass", share, sentence)
    small, large = FITTED_LIMITS if fitted else GIVEN_LIMITS
    outcome: HealthOutcome = (
        "pass" if share <= small else "inconclusive" if share <= large else "fail"
    )
    degree = "somewhat" if outcome == "pass" else "much"
    sentence = f"The clicks differ {degree} from the click model '{model.name}': {told}."
    return HealthCheck("click model", outcome, share, sentence, advice if outcome != "pass" else "")


def _rises(rise: float) -> str:
    """What a rise that passes is called."""
    if rise <= 0:
        return "does not rise"
    return f"rises by {rise:.2f}, within the error of estimation that is allowed ({SLIGHT_RISE:g})"


def check_attention(model: ClickModel, top_k: int) -> HealthCheck:
    r"""Does the click probability of a relevant document, :math:`\alpha_k + \beta_k`, fall?

    People read from the top. Clicks on exactly what users do not want look like users who read
    from the bottom.

    Args:
        model: affine.
        top_k: ranks.
    """
    probabilities = np.add(*model.require_affine(top_k))
    rise = largest_rise(probabilities)
    shown = " ".join(f"{one:.2f}" for one in probabilities)
    told = f"The click probability of a relevant document by rank is {shown}"
    if rise <= SLIGHT_RISE:
        return HealthCheck("attention", "pass", rise, f"{told}: it {_rises(rise)}.")
    surely = rise > RISE
    return HealthCheck(
        "attention",
        "fail" if surely else "inconclusive",
        rise,
        f"{told}: it rises with the rank by up to {rise:.2f}. People who read from the top do not "
        "click like that.",
        "Check that positions count from the top, and what counts as a click.",
    )


def largest_rise(probabilities: Floats) -> float:
    """The most that a later rank lies above an earlier one; 0 if none does.

    Example:
        >>> float(largest_rise(np.array([0.3, 0.8, 0.7])))
        0.5
    """
    lowest = np.minimum.accumulate(probabilities)
    return float(np.max(probabilities - lowest, initial=0.0))


def check_identified(model: ClickModel, statistics: ClickStatistics) -> HealthCheck:
    """Does the log tell position bias from relevance: were documents shown at several ranks?

    Args:
        model: fitted to these clicks, or given.
        statistics: training clicks.
    """
    if model.fitted is None:
        sentence = f"Position bias is given by the click model '{model.name}', not estimated."
        return HealthCheck("position bias", "pass", None, sentence)
    if model.fitted.compared is None:
        sentence = (
            f"The click model '{model.name}' does not record how many impressions it was "
            "estimated from."
        )
        return HealthCheck("position bias", "inconclusive", None, sentence)
    compared = model.fitted.compared[: statistics.top_k]
    least = float(compared.min())
    told = (
        f"{least:,.0f} impressions compare rank {int(compared.argmin()) + 1} with other ranks, "
        "the fewest of all ranks"
    )
    advice = (
        "Let production swap documents in some requests, or give examination by rank: "
        "--click-model pbm -o click-model.examination=..."
    )
    if least < 1:
        sentence = (
            f"Position bias cannot be estimated: no document was shown at several ranks ({told})."
        )
        return HealthCheck("position bias", "fail", least, sentence, advice)
    if least < FEW_COMPARED:
        sentence = f"Position bias can hardly be estimated: {told}."
        return HealthCheck("position bias", "inconclusive", least, sentence, advice)
    return HealthCheck("position bias", "pass", least, f"Position bias can be estimated: {told}.")


def best_examination(affine: Affine) -> float:
    """The largest examination of a rank."""
    return float(np.abs(affine.examination).max(initial=0.0))
