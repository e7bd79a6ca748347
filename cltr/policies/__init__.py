"""Policies: distributions over rankings, given scores.

Every function takes flat or padded arrays; ``Lists`` says where each list lies.
"""

from cltr.kernels.devices import device_named
from cltr.policies.deterministic import Deterministic
from cltr.policies.gaussian import Gaussian
from cltr.policies.plackett_luce import (
    DEFAULT_ACCURACY,
    Backend,
    PlackettLuce,
    list_seeds,
    sample_rankings,
)
from cltr.policies.sort_order import places_by_score, ranks_by_score

__all__ = [
    "DEFAULT_ACCURACY",
    "Backend",
    "Deterministic",
    "Gaussian",
    "PlackettLuce",
    "device_named",
    "list_seeds",
    "places_by_score",
    "ranks_by_score",
    "sample_rankings",
]
