"""Rivals written as a textbook has them, in plain torch, over whole batches at once."""

from collections.abc import Callable
from dataclasses import dataclass

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


def whole_log_probability(scores: torch.Tensor, rankings: torch.Tensor) -> torch.Tensor:
    """Of whole rankings, ``[queries, samples]``."""
    placed = scores[:, None].expand(-1, rankings.shape[1], -1).gather(-1, rankings)
    left = placed.flip(-1).logcumsumexp(-1).flip(-1)
    return (placed - left).sum(-1)


@dataclass(frozen=True)
class Reinforce:
    """PRPO by REINFORCE: sample, estimate weights and slopes, weigh log-probabilities, step.

    As a textbook has it, one sampling serves the weights and the gradient, and the top K of the
    rankings are weighed; ``as_authors`` weighs whole rankings and samples twice, four queries at a
    time, as the code published with the paper does. The baseline is the mean.
    """

    problem: Problem
    samples: int = 1000
    as_authors: bool = False

    def epoch(self) -> Callable[[], None]:
        """A function that runs over all queries once."""
        problem, size = self.problem, 4 if self.as_authors else BATCH
        features = torch.from_numpy(problem.dataset.features)
        optimizer = torch.optim.Adam(problem.model.module.parameters(), lr=1e-9)

        def run() -> None:
            for start in range(0, problem.queries, size):
                rows = slice(start * problem.documents, (start + size) * problem.documents)
                scores = problem.network(features[rows]).view(-1, problem.documents)
                optimizer.zero_grad(set_to_none=True)
                self._loss(scores, slice(start, start + size)).backward()
                optimizer.step()

        return run

    def _loss(self, scores: torch.Tensor, queries: slice) -> torch.Tensor:
        ranks = torch.from_numpy(self.problem.ranks).float()
        top_k = self.problem.top_k
        with torch.no_grad():
            drawn = self._draw(scores)
            slopes = self._slopes(self._draw(scores) if self.as_authors else drawn, queries)
            top = drawn[..., :top_k]
            earned = (slopes[:, None].expand(-1, self.samples, -1).gather(-1, top) * ranks).sum(-1)
            earned -= earned.mean(1, keepdim=True)
        chance = whole_log_probability if self.as_authors else log_probability
        return -(earned * chance(scores, drawn)).mean(1).sum()

    def _draw(self, scores: torch.Tensor) -> torch.Tensor:
        top_k = self.problem.documents if self.as_authors else self.problem.top_k
        return gumbel_rankings(scores, self.samples, top_k=top_k)

    def _slopes(self, drawn: torch.Tensor, queries: slice) -> torch.Tensor:
        """Of PRPO at the weights that the sampled rankings give."""
        problem, top = self.problem, drawn[..., : self.problem.top_k]
        shape = (-1, problem.documents)
        ranks = torch.from_numpy(problem.ranks).float().expand(top.shape)
        shown = torch.zeros(len(drawn), problem.documents)
        shown.scatter_add_(1, top.flatten(1), ranks.flatten(1)).div_(self.samples)
        logging = problem.split.exposure.weights.reshape(shape)[queries]
        rewards = problem.split.values.reshape(shape)[queries]
        return torch.from_numpy(
            problem.estimator.slope(shown.numpy().astype(np.float64), logging, rewards)
        ).float()
