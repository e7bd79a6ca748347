"""Rivals written as a textbook has them, in plain torch, over whole batches at once."""

from collections.abc import Callable

import numpy as np
import torch

from tests.benchmarks.work import BATCH, Problem


def gumbel_rankings(scores: torch.Tensor, samples: int, *, top_k: int) -> torch.Tensor:
    """Plackett-Luce rankings, ``[queries, samples, K]``: noise on every score, a full sort."""
    noise = -torch.log(-torch.log(torch.rand(len(scores), samples, scores.shape[1])))
    return (scores[:, None] + noise).argsort(-1, descending=True)[..., :top_k]


def log_probability(scores: torch.Tensor, rankings: torch.Tensor) -> torch.Tensor:
    """Of the top K of each ranking, ``[queries, samples]``."""
    placed = scores[:, None].expand(-1, rankings.shape[1], -1).gather(-1, rankings)
    total = scores.logsumexp(-1)[:, None, None]
    earlier = torch.nn.functional.pad(placed.logcumsumexp(-1)[..., :-1], (1, 0), value=-torch.inf)
    left = total + torch.log1p(-torch.exp((earlier - total).clamp(max=-1e-6)))
    return (placed - left).sum(-1)


def reinforce_epoch(problem: Problem, samples: int = 1000) -> Callable[[], None]:
    """PRPO by REINFORCE: sample, estimate weights and slopes, weigh log-probabilities, step.

    One sampling serves the weights and the gradient; the baseline is the mean.
    """
    features = torch.from_numpy(problem.dataset.features)
    shape = (-1, problem.documents)
    ranks = torch.from_numpy(problem.ranks).float()
    rewards = torch.from_numpy(problem.split.rewards).float().view(shape)
    logging = torch.from_numpy(problem.split.exposure.weights).float().view(shape)
    module = problem.module
    optimizer = torch.optim.Adam(module.parameters(), lr=1e-9)

    def run() -> None:
        for start in range(0, problem.queries, BATCH):
            rows = slice(start * problem.documents, (start + BATCH) * problem.documents)
            queries = slice(start, start + BATCH)
            scores = module(features[rows], None).view(shape)
            with torch.no_grad():
                drawn = gumbel_rankings(scores, samples, top_k=problem.top_k)
                flat, weights = drawn.flatten(1), ranks.expand(drawn.shape).flatten(1)
                shown = torch.zeros_like(scores).scatter_add_(1, flat, weights) / samples
                slopes = torch.from_numpy(
                    problem.estimator.slope(
                        shown.numpy().astype(np.float64),
                        logging[queries].numpy(),
                        rewards[queries].numpy(),
                    )
                ).float()
                placed = slopes[:, None].expand(-1, samples, -1).gather(-1, drawn)
                earned = (placed * ranks).sum(-1)
                earned -= earned.mean(1, keepdim=True)
            loss = -(earned * log_probability(scores, drawn)).mean(1).sum()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()

    return run
