"""Choose the click model that a log supports, by held-out clicks.

Four fifths of the counts fit each affine click model, and one fifth scores it. The simplest model
that cannot be told from the best one is chosen, and fitted again to all counts. A model that cannot
be fitted, or whose fit has not converged, is not chosen; the choice says why.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cltr.clicks.model_comparison import is_better
from cltr.clicks.models import AffineModel, PositionBased, TrustBias
from cltr.clicks.scores import ClickScores, Difference, difference, hold_out_statistics
from cltr.clicks.scores import score_statistics as score
from cltr.errors import CltrError
from cltr.types import ClickStatistics

AFFINE: tuple[type[AffineModel], ...] = (PositionBased, TrustBias)
"""What is fitted, from the simplest on."""
HELD_OUT = 0.2
"""Share of the impressions that the choice rests on."""


@dataclass(frozen=True)
class Candidate:
    """A click model that was tried."""

    name: str
    reason: str = ""
    """Why it cannot be used; empty if it can."""
    scores: ClickScores | None = None
    """On held-out impressions; None if it could not be fitted."""

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        found = None if self.scores is None else self.scores.log_likelihood
        return {"name": self.name, "log_likelihood": found, "reason": self.reason}


@dataclass(frozen=True)
class ModelChoice:
    """The chosen click model, and what was tried."""

    model: AffineModel | None
    """Fitted to all counts; None if no model can be fitted."""
    candidates: tuple[Candidate, ...]
    n_interactions: int

    @property
    def sentences(self) -> list[str]:
        """What was done and found, in at most two sentences."""
        tried = ", ".join(f"'{one.name}'" for one in self.candidates)
        if self.model is None:
            reasons = "; ".join(dict.fromkeys(one.reason for one in self.candidates))
            return [f"No click model could be fitted ({tried}): {reasons}."]
        told = (
            f"The click model '{self.model.name}' was chosen among {tried} by held-out clicks, and "
            f"then fitted to all {self.n_interactions:,} interactions of the training part."
        )
        return [told, *self._comparison()]

    def _comparison(self) -> list[str]:
        assert self.model is not None
        chosen = next(one for one in self.candidates if one.name == self.model.name)
        told = []
        for one in self.candidates:
            if one.reason:
                told.append(f"'{one.name}' was not used: {one.reason}")
            elif one is not chosen and one.scores is not None and chosen.scores is not None:
                told.append(_words(one.name, difference(one.scores, chosen.scores)))
        sentence = "; ".join(told)
        return [f"{sentence[0].upper()}{sentence[1:]}."] if told else []

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "chosen": None if self.model is None else self.model.name,
            "candidates": [one.plain() for one in self.candidates],
            "n_interactions": self.n_interactions,
        }


def _words(name: str, found: Difference) -> str:
    error = f" (standard error {found.standard_error:.4f})" if found.standard_error >= 0 else ""
    size = f"by {abs(found.value):.4f} in log-likelihood per interaction{error}"
    if found.value > 0:
        return f"'{name}' predicts held-out clicks better {size}, too little to be preferred"
    return f"'{name}' predicts held-out clicks worse {size}"


def choose_click_model(
    statistics: ClickStatistics,
    *,
    kinds: Sequence[type[AffineModel]] = AFFINE,
    seed: int = 0,
) -> ModelChoice:
    """Fit click models to counts and choose one by held-out impressions.

    Args:
        statistics: training clicks; nothing else is looked at.
        kinds: of click models, from the simplest on.
        seed: decides which impressions are held out.
    """
    fitted, held = hold_out_statistics(statistics, share=HELD_OUT, seed=seed)
    candidates = [_tried(kind, fitted, held) for kind in kinds]
    usable = [one for one in candidates if not one.reason]
    best = max(usable, key=_likelihood, default=None)
    for place, (kind, one) in enumerate(zip(kinds, candidates, strict=True)):
        if one.reason or best is None or _surely_better(best, one):
            continue
        model = kind()
        reason = _fit(model, statistics)
        if not reason:
            return ModelChoice(model, tuple(candidates), statistics.n_interactions)
        candidates[place] = Candidate(one.name, reason, one.scores)
    return ModelChoice(None, tuple(candidates), statistics.n_interactions)


def _likelihood(candidate: Candidate) -> float:
    return float("-inf") if candidate.scores is None else candidate.scores.log_likelihood


def _surely_better(one: Candidate, other: Candidate) -> bool:
    return (
        one.scores is not None and other.scores is not None and is_better(one.scores, other.scores)
    )


def _tried(
    kind: type[AffineModel], fitted: ClickStatistics, held_out: ClickStatistics
) -> Candidate:
    model = kind()
    reason = _fit(model, fitted)
    scores = None if model.fitted is None else score(model, held_out)
    return Candidate(model.name, reason, scores)


def _fit(model: AffineModel, statistics: ClickStatistics) -> str:
    """Why the model cannot be used after its fit; empty if it can."""
    try:
        convergence = model.fit(statistics).convergence
    except CltrError as error:
        return str(error)
    if not convergence.converged:
        return f"its fit has not converged after {len(convergence.objective):,} steps"
    return ""
