"""How often team-draft interleaving of two rankings shows each document at each place.

The draft is that of :mod:`cltr.serving.interleaving`: in each round a coin decides who picks first,
and each ranking picks its best document that is still free. Two rankings that are always the same
have few patterns of coins, so all are counted. Sampled rankings are drawn, with the same noise for
both rankers, as the serving rule draws them.
"""

from dataclasses import dataclass

import numpy as np

from cltr.types import Booleans, Floats

MOST_ROUNDS = 10
"""Rounds of which all patterns of coins are counted."""


@dataclass(frozen=True)
class Drafter:
    """One of the two rankers on a query's documents: it samples by scores, or has rankings."""

    keys: Floats
    """Its scores, ``[1, docs]``, or each document's place in its rankings, ``[rankings, docs]``."""
    shares: Floats
    """Of the rankings, ``[rankings]``."""
    samples: bool = False
    """Whether it samples."""

    @property
    def fixed(self) -> bool:
        """Whether it always ranks alike."""
        return not self.samples and len(self.keys) == 1

    def drawn(self, noise: Floats, rng: np.random.Generator) -> Floats:
        """What sorts documents, smallest first, ``[draws, docs]``."""
        if self.samples:
            return np.asarray(-(self.keys + noise))
        return np.asarray(self.keys[rng.choice(len(self.keys), len(noise), p=self.shares)])


def team_draft(new: Drafter, production: Drafter, *, top_k: int, n_draws: int, seed: int) -> Floats:
    """P(document d is at place k), ``[docs, top_k]``; counted if both always rank alike.

    Args:
        new: the candidate.
        production: the other ranker.
        top_k: places to fill.
        n_draws: where not all can be counted; the error is at most ``0.5 / sqrt(n_draws)``.
        seed: of these draws.
    """
    n = new.keys.shape[1]
    rounds = -(-min(top_k, n) // 2)
    rng = np.random.default_rng(seed)
    if new.fixed and production.fixed and rounds <= MOST_ROUNDS:
        n_draws = 2**rounds
        coins = (np.arange(n_draws)[:, None] >> np.arange(rounds)) % 2 == 1
        noise = np.zeros((n_draws, 1))
    else:
        coins = rng.random((n_draws, rounds)) < 0.5
        noise = rng.gumbel(size=(n_draws, n))
    keys = new.drawn(noise, rng), production.drawn(noise, rng)
    return _shown(keys, coins, top_k)


def _shown(keys: tuple[Floats, Floats], coins: Booleans, top_k: int) -> Floats:
    n_draws, n = keys[0].shape
    keys = keys[0].copy(), keys[1].copy()
    found = np.zeros((n, top_k))
    every = np.arange(n_draws)
    for place in range(min(top_k, n)):
        by_new = coins[:, place // 2] ^ (place % 2 == 1)
        pick = np.where(by_new, keys[0].argmin(1), keys[1].argmin(1))
        found[:, place] = np.bincount(pick, minlength=n) / n_draws
        for one in keys:
            one[every, pick] = np.inf
    return found
