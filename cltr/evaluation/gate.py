"""The decision about a candidate: reject, deploy, canary or hold, in this order.

1. **reject**: the upper bound for the gain is below 0 (level 2).
2. **deploy**: all health checks pass and the lower bound for the gain is at least 0 (level 2), or
   the worst-case loss is at most the budget (level 0).
3. **canary**: otherwise, where the worst-case loss is known, on the share of the requests whose
   worst-case loss fits the budget (level 0).
4. **hold**: otherwise.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cltr.evaluation.verdict import BUDGET, LEVELS, Verdict, canary_share
from cltr.looks import POINT, with_sign

SMALLEST_SHARE = 1e-6
"""Share of the requests below which a canary shows nothing."""


@dataclass(frozen=True)
class Gain:
    """A candidate's value less production's, by held-out clicks and the click model."""

    value: float
    error: float | None
    """Standard error of the value for the queries of the log; None if it is not known."""
    low: float | None
    """Lower bound, one-sided; None if the log supports none."""
    high: float | None
    """Upper bound, one-sided; None if the log supports none."""
    confidence: float
    """Of each bound."""
    n_interactions: int
    no_bound_because: str | None = None
    query_error: float | None = None
    """Standard error if the queries stand for new ones; None if it is not known."""

    def sentence(self) -> str:
        """With all numbers."""
        bounds = "no bounds"
        if self.low is not None and self.high is not None:
            low, high = with_sign(self.low), with_sign(self.high)
            bounds = f"lower bound {low}, upper bound {high}, {self._level()}"
        why = f": {self.no_bound_because}" if self.no_bound_because else ""
        return (
            f"estimated gain {with_sign(self.value)} DCG a request ({bounds}{why}; {self._errors()}"
            f"{self.n_interactions:,} held-out interactions)"
        )

    def _level(self) -> str:
        """Each bound alone, and both together, which may fail twice as often."""
        both = 2 * self.confidence - 1
        return f"each with {_percent(self.confidence)} confidence, both with {_percent(both)}"

    def _errors(self) -> str:
        """For both targets, where both are known."""
        if self.error is None or self.query_error is None:
            return ""
        if self.error == self.query_error:
            return f"standard error {self.error:.4f}; "
        return (
            f"standard error {self.error:.4f} for these queries, {self.query_error:.4f} for new "
            "queries; "
        )

    def more_interactions(self) -> int | None:
        """About how many more interactions would bring a bound to the other side of 0.

        Bounds approach the estimate like one over the square root of the interactions. None if
        the estimate is 0, or there are no bounds.

        Example:
            >>> Gain(0.1, 0.1, -0.1, 0.3, 0.95, 1000).more_interactions()
            3000
        """
        if self.low is None or self.high is None or self.value == 0:
            return None
        reach = self.value - self.low if self.value > 0 else self.high - self.value
        factor = (reach / self.value) ** 2
        if not np.isfinite(factor) or factor * self.n_interactions > MOST_INTERACTIONS:
            return None
        return max(0, int(np.ceil(self.n_interactions * (factor - 1))))


MOST_INTERACTIONS = 1e12
"""More than anybody logs."""


@dataclass(frozen=True)
class GateEvidence:
    """All that a decision rests on."""

    gain: Gain | None
    """None if the log gives no estimate."""
    worst_loss: float | None
    """Most that NDCG can fall, whatever users find relevant, as a share; None if not known."""
    doubts: Sequence[str] = ()
    """Health checks that failed or are inconclusive, the failed ones first, one sentence each."""
    estimated_exposure: bool = False
    """Whether production's exposure is counted from the log, so the worst case is an estimate."""
    left_out: int = 0
    """Documents of the candidate that the log does not know, so nothing covers them."""
    whole_log_is_left: bool = False
    """Whether a table was judged by the test part, so that the whole log might judge it, too."""

    @property
    def numbers(self) -> dict[str, float]:
        """What was measured, by name."""
        found = {} if self.worst_loss is None else {"worst_case_loss": self.worst_loss}
        if self.gain is not None:
            measured = {
                name: getattr(self.gain, name) for name in ("value", "error", "low", "high")
            }
            found |= {key: float(one) for key, one in measured.items() if one is not None}
            found["n_interactions"] = float(self.gain.n_interactions)
        return found


def decide_gate(evidence: GateEvidence, *, max_loss: float = BUDGET) -> Verdict:
    """Reject, deploy, canary or hold.

    Args:
        evidence: bounds, worst case and doubts.
        max_loss: largest acceptable worst-case loss of NDCG, from 0 to 1; 0.02 is two points.

    Example:
        >>> sure = Gain(0.1, 0.02, 0.05, 0.15, 0.95, 1000)
        >>> decide_gate(GateEvidence(sure, 0.4)).decision
        'deploy'
        >>> found = decide_gate(GateEvidence(sure, 0.5, ["Too few clicks."]), max_loss=0.02)
        >>> found.decision, found.share
        ('canary', 0.04)
    """
    gain, loss, numbers = evidence.gain, evidence.worst_loss, evidence.numbers
    reasons = tuple(_reasons(evidence, max_loss))
    if gain is not None and gain.high is not None and gain.high < 0:
        sentence = (
            f"Do not deploy: {LEVELS[2]}, the candidate is worse than production; "
            f"{gain.sentence()}."
        )
        return Verdict("reject", 2, sentence, reasons, numbers)
    if gain is not None and gain.low is not None and gain.low >= 0 and not evidence.doubts:
        sentence = (
            f"Serve the candidate to all requests: {LEVELS[2]}, it is at least as good as "
            f"production; {gain.sentence()}.{_beyond_budget(loss, max_loss)}{_same(loss)}"
        )
        return Verdict("deploy", 2, sentence, reasons, numbers, share=1.0)
    if loss is not None and loss <= max_loss:
        sentence = (
            f"Serve the candidate to all requests: NDCG falls by at most {_points(loss)} "
            f"({POINT}), which the budget of {_points(max_loss)} allows.{_same(loss)}"
        )
        return Verdict("deploy", 0, sentence, reasons, numbers, share=1.0)
    share = 0.0 if loss is None else canary_share(loss, budget=max_loss)
    if share >= SMALLEST_SHARE and loss is not None:
        sentence = (
            f"Show the candidate to {share:.2%} of the requests (canary): NDCG then falls by at "
            f"most {_points(share * loss)} ({POINT}), {LEVELS[0]}.{_against(gain)}"
        )
        return Verdict("canary", 0, sentence, reasons, numbers, share=share)
    sentence = f"Keep production: nothing shows that the candidate is as good.{_more(gain)}"
    return Verdict("hold", 0, sentence, reasons, numbers)


def _reasons(evidence: GateEvidence, max_loss: float) -> list[str]:
    """What was found, in order of weight, each with its level of trust."""
    told = []
    gain, loss = evidence.gain, evidence.worst_loss
    if gain is None:
        told.append("Level 2 (click model): the log gives no estimate.")
    else:
        told.append(f"Level 2 ({LEVELS[2]}): {gain.sentence()}.{_wide(evidence)}{_more(gain)}")
    told += [f"Level 2 ({LEVELS[2]}) is in doubt: {doubt}" for doubt in evidence.doubts]
    if loss is None:
        told.append("Level 0: the worst case is not known, since nothing is known of production.")
        return told
    relation = "within" if loss <= max_loss else "above"
    note = (
        " Production's exposure is counted from the log, so this is an estimate."
        if evidence.estimated_exposure
        else ""
    )
    told.append(
        f"Level 0 ({LEVELS[0]}): NDCG falls by at most {_points(loss)} ({POINT}), {relation} the "
        f"budget of {_points(max_loss)}.{note}"
    )
    if evidence.left_out:
        told.append(
            f"Level 0 and level 2 are about the candidate without {evidence.left_out:,} documents "
            "that the log does not know: do not serve these, nothing is known about them."
        )
    return told


def _beyond_budget(loss: float | None, max_loss: float) -> str:
    """What a decision by the click model risks, where the worst case exceeds the budget."""
    if loss is None or loss <= max_loss:
        return ""
    return (
        f" If the click model is wrong, NDCG can fall by up to {_points(loss)} ({POINT}), more "
        f"than the budget of {_points(max_loss)}."
    )


def _same(loss: float | None) -> str:
    """That a deployment changes nothing, where no document can lose any exposure."""
    if loss is None or loss > NO_CHANGE:
        return ""
    return " The candidate ranks as production does, so there is nothing to gain by deploying it."


NO_CHANGE = 1e-9
"""Worst-case loss up to which a candidate shows all documents as much as production does."""


def _against(gain: Gain | None) -> str:
    """What the estimate says against a canary that the budget allows."""
    if gain is None or gain.value >= 0:
        return ""
    return (
        f" The estimate speaks against it ({with_sign(gain.value)} DCG a request), so we advise to "
        "keep production."
    )


def _wide(evidence: GateEvidence) -> str:
    """Why bounds do not decide where the standard error seems to."""
    gain = evidence.gain
    if gain is None or gain.error is None or gain.low is None or gain.high is None:
        return ""
    if not gain.low < 0 <= gain.high or abs(gain.value) < CLEAR * gain.error:
        return ""
    all_clicks = (
        " If the candidate was made without this log, `--clicks all` judges it by the whole log."
        if evidence.whole_log_is_left
        else ""
    )
    return (
        " The bounds are much wider than the standard error, because they allow for rare clicks "
        f"that would count much.{all_clicks}"
    )


CLEAR = 3.0
"""Standard errors from which on an estimate looks clear."""


def _more(gain: Gain | None) -> str:
    """How many more interactions would decide, if the estimate stays as it is."""
    if gain is None or gain.low is None or gain.high is None or gain.low >= 0 or gain.high < 0:
        return ""
    more = gain.more_interactions()
    if more is None:
        return " No number of interactions is likely to decide."
    return f" About {_rounded(more):,} more such interactions would decide."


def _rounded(number: int) -> int:
    """To two digits: it is a rough number."""
    digits = max(0, len(str(number)) - 2)
    return int(round(number, -digits))


def _percent(share: float) -> str:
    """A share in percent.

    Example:
        >>> _percent(0.975), _percent(2 * 0.95 - 1)
        ('97.5%', '90%')
    """
    return f"{100 * share:.4g}%"


def _points(share: float) -> str:
    digits = ".2g" if 0 < share < 1e-3 else ".1f"
    return f"{100 * share:{digits}} points"
