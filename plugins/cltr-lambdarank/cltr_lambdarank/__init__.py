"""LambdaRank and LambdaLoss for cltr, driven by any estimator."""

from cltr.hookspecs import hookimpl
from cltr.interfaces import Ranker
from cltr_lambdarank.lambdarank import LambdaLoss, LambdaRank

__all__ = ["LambdaLoss", "LambdaRank"]


@hookimpl
def cltr_rankers() -> list[type[Ranker]]:
    """Register the rankers of this package."""
    return [LambdaRank, LambdaLoss]
