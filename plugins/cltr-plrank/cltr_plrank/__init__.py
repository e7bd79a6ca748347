"""Policy-gradient rankers for cltr: PL-Rank, placement, REINFORCE, StochasticRank."""

from cltr.hookspecs import hookimpl
from cltr.interfaces import Ranker
from cltr_plrank.plrank import PLRank, PLRank1, PLRank2
from cltr_plrank.policygradient import Placement, Reinforce
from cltr_plrank.stochasticrank import StochasticRank

__all__ = ["PLRank", "PLRank1", "PLRank2", "Placement", "Reinforce", "StochasticRank"]


@hookimpl
def cltr_rankers() -> list[type[Ranker]]:
    """Register the rankers of this package."""
    return [PLRank, PLRank1, PLRank2, Placement, Reinforce, StochasticRank]
