"""Measure the regression's three losses against true relevance on the demo data.

    $ python plugins/cltr-dr/compare_losses.py

prints the table of this package's README (ten seeds, some minutes).
"""

import sys
from collections.abc import Sequence

import numpy as np

from cltr.clicks.models import TrustBias
from cltr.clicks.simulation import simulate_statistics
from cltr.data.demo import demo_dataset
from cltr.experiment.config import RunConfig
from cltr.experiment.label_training import train_production
from cltr.experiment.progress import Progress
from cltr.exposure.exposure import exact_exposure
from cltr.policies import PlackettLuce
from cltr.policies.rank_weights import rank_weights
from cltr.types import ClickData, Floats
from cltr_dr import DR

TOP_K = 5
COLUMNS = ("bias", "MSE", "MSE by exposure", "MSE on test", "MSE of mu")


def demo_clicks(scores: Floats, *, n: int, seed: int) -> ClickData:
    """Clicks on the training queries of the demo data, under trust bias."""
    dataset = demo_dataset()
    model, training = TrustBias(), dataset.part("train")
    scores = scores[dataset.documents_of("train")]
    statistics = simulate_statistics(
        training, scores, model, n=n, top_k=TOP_K, rng=np.random.default_rng([seed, n])
    )
    ranks = rank_weights("dcg", TOP_K)
    exposure = exact_exposure(scores, training.lists, PlackettLuce(), model, ranks)
    return ClickData(training, statistics, exposure)


def errors(reward: DR, data: ClickData, *, n: int, seed: int) -> Floats:
    """One row of the table: how far the regression, and mu, are from the truth."""
    reward.fit(data, TrustBias(), seed=seed)
    test = demo_dataset().part("test")
    wrong = reward.relevance(data) - data.dataset.relevance
    wrong_on_test = reward.regression(test.features) - test.relevance  # type: ignore[misc]
    mu = reward.mu(data, propensity_clip=min(1.0, 10 / np.sqrt(n)))
    shares = data.exposure.weights / data.exposure.weights.sum()
    return np.array(
        [
            wrong.mean(),
            (wrong**2).mean(),
            shares @ wrong**2,
            (wrong_on_test**2).mean(),
            ((mu - data.dataset.relevance) ** 2).mean(),
        ]
    )


def compare(
    losses: Sequence[str], sizes: Sequence[int], seeds: Sequence[int]
) -> dict[tuple[int, str], Floats]:
    """Mean over seeds of the errors, by N and loss; a production ranker for each seed."""
    dataset = demo_dataset()
    rows: dict[tuple[int, str], list[Floats]] = {}
    for seed in seeds:
        config = RunConfig(seed=seed)
        production = train_production(config, dataset, Progress())
        for n in sizes:
            data = demo_clicks(production.scores, n=n, seed=seed)
            for loss in losses:
                row = errors(DR(loss=loss), data, n=n, seed=seed)
                rows.setdefault((n, loss), []).append(row)
    return {key: np.mean(found, axis=0) for key, found in rows.items()}


def main() -> None:
    """Print the table in Markdown."""
    sys.stdout.write(f"| N | loss | {' | '.join(COLUMNS)} |\n|---|---|{'---|' * len(COLUMNS)}\n")
    table = compare(("clicks", "paper", "clamped"), (10**3, 10**4, 10**5, 10**6), range(10))
    for (n, loss), row in table.items():
        cells = [f"{row[0]:+.3f}", *(f"{value:.4f}" for value in row[1:])]
        sys.stdout.write(f"| {n:.0e} | `{loss}` | {' | '.join(cells)} |\n")


if __name__ == "__main__":
    main()
