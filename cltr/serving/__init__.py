"""Serve a stochastic ranker: the same ranking for a request id in every language.

This folder needs the standard library only, so a service can use it without numpy or torch.

    >>> from cltr.serving import ServingRule
    >>> rule = ServingRule(share=0.5)
    >>> scores = {"a": 2.0, "b": 1.0, "c": 0.0}
    >>> served = rule.serve("request-7", "shoes", new=scores, production={"a": 0, "b": 1, "c": 2})
    >>> served.arm, served.shown
    ('production', ('c', 'b', 'a'))
"""

from cltr.serving.draws import coin, noise, sample_ranking, sort_ranking
from cltr.serving.interleaving import Interleaved, interleave
from cltr.serving.rule import Served, ServingRule, StoredRanking

__all__ = [
    "Interleaved",
    "Served",
    "ServingRule",
    "StoredRanking",
    "coin",
    "interleave",
    "noise",
    "sample_ranking",
    "sort_ranking",
]
