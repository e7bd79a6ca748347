"""Team-draft interleaving: two rankings within one request, and whose document each place is.

Per round, a coin decides who picks first. Each ranking then picks its best document that is still
free. A click counts for the team that picked the document, so the two are compared on the same
request and no click model is needed.

References: Radlinski, Kurup & Joachims, How does clickthrough data reflect retrieval quality?
(CIKM'08).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from cltr.serving.draws import coin

Arm = Literal["new", "production"]


@dataclass(frozen=True)
class Interleaved:
    """What is shown, and which ranking picked each place."""

    shown: tuple[str, ...]
    teams: tuple[Arm, ...]


def interleave(
    new: Sequence[str], production: Sequence[str], request: str, *, top_k: int
) -> Interleaved:
    """Interleave two rankings.

    Args:
        new: the candidate's ranking; each document once.
        production: production's ranking.
        request: its id decides the coins.
        top_k: places to fill.

    Example:
        >>> interleave(["a", "b", "c"], ["b", "c", "a"], "request-7", top_k=3)
        Interleaved(shown=('a', 'b', 'c'), teams=('new', 'production', 'new'))
    """
    waiting = {"new": iter(new), "production": iter(production)}
    shown: dict[str, Arm] = {}
    for turn in range(len(new) + len(production)):
        first: Arm = "new" if coin(f"{turn}:{request}", use="team") < 0.5 else "production"
        second: Arm = "production" if first == "new" else "new"
        before = len(shown)
        for team in (first, second):
            pick = next((one for one in waiting[team] if one not in shown), None)
            if pick is not None and len(shown) < top_k:
                shown[pick] = team
        if len(shown) in (before, top_k):
            break
    return Interleaved(tuple(shown), tuple(shown.values()))
