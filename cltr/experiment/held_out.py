"""Clicks that values are reported from: nothing else may have seen them.

Training clicks make rewards and gradients, validation clicks choose the epoch. A value from either
is too high, since it was chosen by them. A log with a test part has clicks for the report. Where a
log has none (those of version 0.1), half of the validation queries are set aside before training.
"""

from collections.abc import Mapping

import numpy as np

from cltr.types import Rewards

FEWEST = 4
"""Validation queries with clicks below which none can be set aside."""


def hold_out(rewards: Mapping[str, Rewards], *, seed: int) -> dict[str, Rewards]:
    """Rewards with a part ``test`` to report from, where there can be one.

    Args:
        rewards: by split; "test" is kept as it is.
        seed: decides which validation queries are set aside.
    """
    found, valid = dict(rewards), rewards["valid"]
    logged = np.flatnonzero(valid.query_weights > 0)
    if "test" in found or len(logged) < FEWEST:
        return found
    aside = np.zeros(len(valid.query_weights), np.bool_)
    aside[np.random.default_rng(seed).permutation(logged)[: len(logged) // 2]] = True
    return {**found, "valid": valid.of_queries(~aside), "test": valid.of_queries(aside)}
