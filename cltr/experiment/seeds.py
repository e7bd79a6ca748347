"""A seed for each stage of a run, so that one stage's draws do not shift another's.

The names of the stages are part of every published number: they never change.
"""

import zlib

import numpy as np

STAGES = (
    "production",
    "clicks-train",
    "clicks-valid",
    "reward",
    "start",
    "training",
    "skyline",
    "clicks-test",
    "held-out",
)


def seed_for(seed: int, stage: str) -> int:
    """The seed of a stage, one of ``STAGES``.

    Example:
        >>> seed_for(1, "training") != seed_for(1, "start")
        True
    """
    if stage not in STAGES:
        raise KeyError(stage)
    return int(np.random.SeedSequence([seed, zlib.crc32(stage.encode())]).generate_state(1)[0])
