"""Random numbers from ids: the md5 of a text decides, so no state is kept and all languages agree.

Each use has a prefix of its own (``doc:``, ``coin:``, ``ranking:``, ``team:``). So no document id
can collide with the coin of a mixture.
"""

import heapq
import math
from collections.abc import Iterable, Mapping
from hashlib import md5

from cltr.errors import DataError

DIGITS = 13
"""Hexadecimal digits of the digest that are used: 52 bits, which a double holds exactly."""
_UNITS = 16.0**DIGITS


def _uniform(digest: str) -> float:
    """A number in (0, 1) from a digest; 0 is replaced by half a unit."""
    return (int(digest[:DIGITS], 16) or 0.5) / _UNITS


def coin(request: str, *, use: str = "coin") -> float:
    """A number in (0, 1) that depends on the request id alone.

    Args:
        request: its id.
        use: what the number decides; numbers for different uses are independent.

    Example:
        >>> round(coin("request-7"), 6)
        0.83462
    """
    return _uniform(md5(f"{use}:{request}".encode(), usedforsecurity=False).hexdigest())


def noise(request: str, documents: Iterable[str]) -> list[float]:
    """Gumbel noise of each document of a request.

    Example:
        >>> [round(one, 6) for one in noise("request-7", ["a", "b"])]
        [0.208126, 0.974252]
    """
    start = md5(f"doc:{request}:".encode(), usedforsecurity=False)
    drawn = []
    for document in documents:
        digest = start.copy()
        digest.update(document.encode())
        drawn.append(-math.log(-math.log(_uniform(digest.hexdigest()))))
    return drawn


def sample_ranking(
    scores: Mapping[str, float], request: str, *, top_k: int | None = None
) -> tuple[str, ...]:
    """A ranking drawn from the Plackett-Luce distribution of the scores.

    Args:
        scores: by document id; finite numbers.
        request: its id decides the ranking.
        top_k: documents to return; all by default.
    """
    check_scores(scores)
    values = scores.values()
    perturbed = [score + one for score, one in zip(values, noise(request, scores), strict=True)]
    return _best(scores, perturbed, top_k)


def sort_ranking(scores: Mapping[str, float], *, top_k: int | None = None) -> tuple[str, ...]:
    """Documents by falling score, equal ones by document id.

    Example:
        >>> sort_ranking({"b": 1.0, "a": 1.0, "c": 2.0})
        ('c', 'a', 'b')
    """
    check_scores(scores)
    return _best(scores, scores.values(), top_k)


def _best(documents: Iterable[str], values: Iterable[float], top_k: int | None) -> tuple[str, ...]:
    keyed = [(-value, document) for document, value in zip(documents, values, strict=True)]
    best = sorted(keyed) if top_k is None else heapq.nsmallest(top_k, keyed)
    return tuple(document for _, document in best)


def check_scores(scores: Mapping[str, float]) -> None:
    """Refuse scores that are no finite numbers: they would rank at random."""
    if not all(map(math.isfinite, scores.values())):
        bad = next(one for one, score in scores.items() if not math.isfinite(score))
        raise DataError(f"document '{bad}' has the score {scores[bad]}; it must be finite")
