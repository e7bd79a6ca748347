"""A small log of counts or interactions, as it is stored; tests write it and damage it."""

from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np

from cltr.clicks.models import TrustBias
from cltr.clicks.simulation import simulate_sessions, simulate_statistics
from cltr.interfaces import ClickModel
from cltr.logs.log_file import LogFile
from cltr.testing import tiny_dataset
from cltr.types import ClickLog, ClickStatistics

DATA = tiny_dataset()
SCORES = DATA.features[:, 1].astype(np.float64)
N = {"train": 40, "valid": 15}
OFFSETS = {split: DATA.part(split).offsets for split in N}


class Talking(ClickModel):
    """Users with a context, in words of more than one alphabet."""

    name = "talking"

    def probabilities(self, relevance, context):
        return np.nan_to_num(relevance)

    def draw_context(self, n, rng):
        return {
            "device": np.where(rng.random(n) < 0.5, "téléphone", "desktop"),
            "hour": np.arange(n),
        }


def frame() -> LogFile:
    description = {"users": "trust-bias", "seed": 7}
    return LogFile({}, SCORES, description, DATA.fingerprint)


def counts() -> LogFile:
    statistics = {
        split: simulate_statistics(
            DATA.part(split),
            SCORES[DATA.documents_of(split)],
            TrustBias(),
            n=n,
            top_k=5,
            rng=np.random.default_rng(0),
        )
        for split, n in N.items()
    }
    return replace(frame(), statistics=statistics)


def sessions(users: ClickModel, split: str, n: int) -> list[ClickLog]:
    return list(
        simulate_sessions(
            DATA.part(split),
            SCORES[DATA.documents_of(split)],
            users,
            n=n,
            top_k=5,
            rng=np.random.default_rng(0),
            chunk=9,
        )
    )


def assert_same(found: ClickStatistics, expected: ClickStatistics) -> None:
    for name in ("impressions", "clicks", "displays", "offsets"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        assert getattr(found, name).dtype == getattr(expected, name).dtype


def change(path: Path, name: str, edit) -> None:
    """Change one array of a file in place."""
    with h5py.File(path, "r+") as file:
        values = file[name][...]
        edit(values)
        file[name][...] = values


def one_line(raised) -> str:
    text = str(raised.value)
    assert "\n" not in text
    return text
