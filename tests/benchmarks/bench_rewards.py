"""Between the log and training: exposure and the regression, each against the plain way."""

import numpy as np
import torch

from cltr.clicks.models import TrustBias
from cltr.clicks.simulation import simulate_statistics
from cltr.exposure.exposure import exact_exposure
from cltr.plugins import registry
from cltr.policies import PlackettLuce, sample_rankings
from cltr.policies.rank_weights import rank_weights
from cltr.types import ClickData, Dataset
from tests.benchmarks.work import TOP_K, random_lists

SAMPLES, EPOCHS = 1000, 3


def bench_exposure(contest):
    """Weights, propensities and attention of a logging policy; the rival counts 1000 rankings."""
    dataset, ranks = random_lists(200, 120, features=0), rank_weights("dcg", TOP_K)
    scores, users = np.random.default_rng(0).normal(size=dataset.n_documents), TrustBias()
    padded, rng = scores.reshape(200, 120), np.random.default_rng(0)
    mask = np.ones(padded.shape, bool)

    def counted() -> np.ndarray:
        drawn = sample_rankings(padded, mask, top_k=TOP_K, n_samples=SAMPLES, rng=rng)
        rows = drawn + 120 * np.arange(200)[:, None, None]
        chances = [np.bincount(rows[..., k].ravel(), minlength=len(scores)) for k in range(TOP_K)]
        return np.stack(chances, -1) / SAMPLES

    contest(
        "exposure",
        lambda: exact_exposure(scores, dataset.lists, PlackettLuce(), users, ranks),
        work="120 documents, K=5",
        per=200,
        rounds=5,
        **{"1000_rankings,_counted": counted},
    )


def plain_regression(dataset: Dataset, targets: np.ndarray):
    """The same network on the same documents as a tutorial fits it: whole tensors, plain BCE."""
    features, wanted = torch.from_numpy(dataset.features), torch.from_numpy(targets).float()

    def run() -> None:
        layers = torch.nn.Linear(136, 64), torch.nn.Linear(64, 32), torch.nn.Linear(32, 1)
        relu = torch.nn.ReLU()
        module = torch.nn.Sequential(layers[0], relu, layers[1], relu, layers[2])
        optimizer = torch.optim.AdamW(module.parameters(), lr=5e-3)
        for _ in range(EPOCHS):
            for chosen in torch.randperm(len(features)).split(1024):
                optimizer.zero_grad()
                loss = torch.nn.functional.binary_cross_entropy_with_logits(
                    module(features[chosen]).squeeze(-1), wanted[chosen]
                )
                loss.backward()
                optimizer.step()

    return run


def bench_regression(contest):
    """DR's regression, three epochs over documents that all were shown."""
    dataset, users = random_lists(500, 120), TrustBias()
    scores, rng = np.zeros(dataset.n_documents), np.random.default_rng(0)
    statistics = simulate_statistics(dataset, scores, users, n=10**6, top_k=TOP_K, rng=rng)
    exposure = exact_exposure(
        scores, dataset.lists, PlackettLuce(), users, rank_weights("dcg", TOP_K)
    )
    data = ClickData(dataset, statistics, exposure)
    reward = registry().find("reward", "dr")(epochs=EPOCHS, patience=EPOCHS + 1)
    contest(
        "regression of `dr`",
        lambda: reward.fit(data, users, seed=0),
        work=f"{dataset.n_documents:,} documents, {EPOCHS} epochs",
        rounds=3,
        **{"plain_torch,_BCE": plain_regression(dataset, statistics.click_rate)},
    )
