"""Gain against worst-case loss: what is served beside its alternatives, on the same clicks."""

from dataclasses import replace
from typing import Any

import numpy as np

from cltr.evaluation.candidate import reference_policies
from cltr.evaluation.changes import ServedChange
from cltr.policies import Deterministic
from cltr.policies.on_dataset import Mixture, ScoredPolicy


def trade_off(change: ServedChange, *, only_largest: bool = False) -> list[dict[str, Any]]:
    """Estimated gain and worst-case loss of what is served, and of both rankers sorted.

    A share of the requests has that share of the gain and of the loss, so mixtures with production
    lie on a straight line and are not listed.

    Args:
        change: of one split.
        only_largest: the largest query's loss is that of all, as where a metric leaves out queries
            without relevant documents.
    """
    served = {"policy": change.served} | _alternatives(change)
    return [
        {"name": name} | _point(change, one, only_largest=only_largest)
        for name, one in served.items()
    ]


def _alternatives(change: ServedChange) -> dict[str, Mixture]:
    """What could be served instead, where it is something else."""
    new, production = change.served.new, change.production
    if isinstance(production, ScoredPolicy):  # as its metrics on judgements are computed
        best = replace(production, policy=Deterministic())
        found = {"production_sorted": Mixture(best, production, np.ones_like(change.traffic))}
    else:
        found = {"production_sorted": reference_policies(production)["production, sorted"]}
    drawn = isinstance(new, ScoredPolicy) and not isinstance(new.policy, Deterministic)
    if isinstance(new, ScoredPolicy) and drawn and change.served.share.any():
        sorted_ = replace(new, policy=Deterministic())
        found["policy_sorted"] = replace(change.served, new=sorted_)
    return found


def _point(change: ServedChange, served: Mixture, *, only_largest: bool) -> dict[str, Any]:
    same = served is change.served
    losses = change.losses if same else change.losses_of(served)
    gains = change.gains if same else change.gains_of(served)
    weights = change.loss_weights
    if weights is None:
        weights = np.ones(len(losses))
    known = weights * change.served.known
    loss = losses.max(initial=0.0) if only_largest else known @ losses / max(known.sum(), 1e-300)
    gain = None if gains is None else float(change.traffic @ gains)
    return {"gain": gain, "worst_case_loss": float(loss)}
