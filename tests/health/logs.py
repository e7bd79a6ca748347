"""Simulated logs for the health checks: lists with grades, a production that knows some of them."""

from dataclasses import dataclass

import numpy as np

from cltr.clicks.models import TrustBias
from cltr.clicks.simulation import simulate_statistics
from cltr.exposure.exposure import exact_exposure
from cltr.interfaces import ClickModel
from cltr.policies import PlackettLuce
from cltr.policies.rank_weights import rank_weights
from cltr.types import ClickStatistics, Dataset, Exposure, Floats, Rewards
from tests.misfit_tables import lists

TOP_K = 5
DETERMINISTIC = 1e6
"""Scores times this leave no room for chance."""


class Coin(TrustBias):
    """Users who click at random, whatever is shown."""

    name = "coin"

    def __init__(self) -> None:
        super().__init__(examination=(1e-9,) * TOP_K, trust=(0.3,) * TOP_K)


@dataclass(frozen=True)
class Log:
    """Training and validation clicks on lists of their own, and production's scores."""

    datasets: dict[str, Dataset]
    scores: dict[str, Floats]
    clicks: dict[str, ClickStatistics]

    def exposure(self, model: ClickModel, split: str) -> Exposure:
        """Of production on a split."""
        return exact_exposure(
            self.scores[split],
            self.datasets[split].lists,
            PlackettLuce(),
            model,
            rank_weights("dcg", TOP_K),
        )

    def rewards(self, model: ClickModel) -> dict[str, Rewards]:
        """Inverse propensity estimates of each split."""
        found = {}
        for split, statistics in self.clicks.items():
            exposure, affine = self.exposure(model, split), model.affine(TOP_K)
            corrected = statistics.click_rate - statistics.average(affine.trust)
            examined = statistics.average(affine.examination)
            found[split] = Rewards(
                self.datasets[split],
                corrected * exposure.inverse_propensities(examined),
                exposure,
                statistics.query_weights,
                "ips",
                statistics,
                split,
            )
        return found


def draw(
    users: ClickModel,
    *,
    n: int = 20_000,
    n_queries: int = 60,
    skill: float = 0.5,
    sharpness: float = 1.0,
    seed: int = 0,
) -> Log:
    """A log of simulated users; the better ``skill``, the better production."""
    datasets, scores, clicks = {}, {}, {}
    for number, split in enumerate(("train", "valid")):
        dataset = lists(n_queries, seed=2 * seed + number)
        rng = np.random.default_rng([seed, number])
        noise = rng.normal(size=dataset.n_documents)
        datasets[split] = dataset
        scores[split] = sharpness * (noise + skill * dataset.labels)
        clicks[split] = simulate_statistics(
            dataset, scores[split], users, n=n, top_k=TOP_K, rng=rng
        )
    return Log(datasets, scores, clicks)
