"""Figure 1: how PRPO clips the weight ratio of a document that moves to another rank."""

from typing import TYPE_CHECKING, Any

import numpy as np

from cltr.errors import UsageError
from cltr.looks import SERIES
from cltr.objectives.prpo import clip_weights
from cltr.policies.rank_weights import rank_weights

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NEW_RANKS = np.arange(1, 11)
RANKS = (2, 4, 6, 8)
MOST = 1000
BOUND = 1.15
REWARDS = (1.0, -1.0)


def parse_ranks(text: str) -> tuple[int, ...]:
    """Original ranks as typed.

    Example:
        >>> parse_ranks("2,4")
        (2, 4)
    """
    try:
        return tuple(dict.fromkeys(int(part) for part in text.split(",")))
    except ValueError:
        raise UsageError(f"--ranks {text}: expected ranks such as 2,4,6,8") from None


def clipped_ratios(ranks: tuple[int, ...] = RANKS, *, bound: float = BOUND) -> list[dict[str, Any]]:
    r"""The points of Figure 1: a row for each reward, original rank and new rank.

    ``ratio`` is :math:`r\,\omega/\omega_0` with DCG weights, ``clipped`` is
    :math:`f(\omega/\omega_0, 1/\epsilon, \epsilon, r)`, by the same code that trains.

    Example:
        >>> up = clipped_ratios((4,))[0]
        >>> up["rank"], up["new_rank"], round(up["ratio"], 3), up["clipped"]
        (4, 1, 2.322, 1.15)
    """
    if any(not 1 <= rank <= MOST for rank in ranks):
        raise UsageError(f"--ranks are original ranks from 1 to {MOST}, such as 2,4,6,8")
    weights = rank_weights("dcg", max(*NEW_RANKS, *ranks))
    after = weights[NEW_RANKS - 1]
    rows = []
    for reward in REWARDS:
        for rank in ranks:
            before = weights[rank - 1]
            counted = clip_weights(after, before, reward, low=1 / bound, high=bound)
            rows += [
                {
                    "reward": reward,
                    "rank": rank,
                    "new_rank": int(new),
                    "ratio": float(reward * after[i] / before),
                    "clipped": float(reward * counted[i] / before),
                }
                for i, new in enumerate(NEW_RANKS)
            ]
    return rows


def draw_clipping(rows: list[dict[str, Any]]) -> "Figure":
    """Left a positive reward, right a negative one; dashed unclipped, solid clipped."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 3.8), layout="constrained")
    for axes, reward in zip(figure.subplots(1, 2), REWARDS, strict=True):
        here = [row for row in rows if row["reward"] == reward]
        for index, rank in enumerate(dict.fromkeys(row["rank"] for row in here)):
            line = [row for row in here if row["rank"] == rank]
            ranks = [row["new_rank"] for row in line]
            color = SERIES[index % len(SERIES)]
            axes.plot(ranks, [row["ratio"] for row in line], "--", color=color, alpha=0.6)
            axes.plot(ranks, [row["clipped"] for row in line], color=color, label=f"rank {rank}")
        axes.set_xticks(NEW_RANKS)
        axes.set_title(f"r = {reward:+.0f}", fontsize=10)
        axes.set_xlabel("new rank")
        axes.set_ylabel("weight ratio, times r")
        axes.grid(visible=True, alpha=0.25)
        axes.legend(title="original", fontsize=8)
    figure.suptitle("Figure 1: weight ratios, unclipped (dashed) and clipped by PRPO", fontsize=12)
    return figure
