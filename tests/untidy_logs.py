"""Logs as they really come, made from interactions whose counts are known: one maker per habit.

Every maker takes the same interactions and writes them the way some team does. Read right, each
gives the counts of :func:`truth`; read wrong, none of them may pass for a log.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

RATES = (0.32, 0.2, 0.15, 0.11, 0.09, 0.08, 0.06, 0.05, 0.04, 0.03)


@dataclass(frozen=True)
class Interaction:
    """One list that was shown once."""

    number: int
    query: str
    documents: tuple[str, ...]
    clicks: tuple[bool, ...]
    seconds: int
    """Since 1970."""

    @property
    def ranked(self):
        """Rank, document and click of all that was shown."""
        return zip(range(1, len(self.documents) + 1), self.documents, self.clicks, strict=True)


START = 1_700_000_000


def interactions(n=400, *, ranks=10, queries=8, fixed=False, seed=0):
    """Interactions over ten days; rank ``k`` is clicked with probability ``RATES[k]``.

    Args:
        n: how many.
        ranks: documents of each list.
        queries: how many there are; each has two documents more than a list shows.
        fixed: whether production always shows the same list for a query.
        seed: of everything.
    """
    rng = np.random.default_rng(seed)
    made = []
    for i in range(n):
        query = int(rng.integers(queries))
        order = np.arange(ranks) if fixed else rng.permutation(ranks + 2)[:ranks]
        clicked = rng.random(ranks) < np.resize(RATES, ranks)
        documents = tuple(f"d{query}-{j}" for j in order)
        when = START + i * 10 * 86_400 // n
        made.append(Interaction(i, f"q {query}", documents, tuple(map(bool, clicked)), when))
    return made


def truth(made):
    """Impressions and clicks by (query, document, rank), and displays by query."""
    shown, clicked, displays = Counter(), Counter(), Counter()
    for one in made:
        displays[one.query] += 1
        for rank, document, click in one.ranked:
            shown[one.query, document, rank] += 1
            clicked[one.query, document, rank] += click
    return shown, Counter({k: n for k, n in clicked.items() if n}), displays


def rows(made, **more):
    """A row per impression; ``more`` are functions of the interaction and the rank."""
    return [
        {"session": f"s{one.number}", "query": one.query, "position": rank, "doc": document,
         "click": int(click), **{name: value(one, rank) for name, value in more.items()}}
        for one in made
        for rank, document, click in one.ranked
    ]  # fmt: skip


def tidy(made):
    """A row per impression, nothing else."""
    return rows(made)


def paged(made, *, size=4, name="page", first=1):
    """Positions restart on each page."""
    table = rows(made, **{name: lambda one, rank: first + (rank - 1) // size})
    return [row | {"position": (row["position"] - 1) % size + 1} for row in table]


def in_a_grid(made, *, width=4, first=0):
    """Row and column instead of a position."""
    table = rows(
        made,
        row=lambda one, rank: first + (rank - 1) // width,
        col=lambda one, rank: first + (rank - 1) % width,
    )
    for row in table:
        del row["position"]
    return table


def restarted(made, *, name="day", sessions=40):
    """Session ids that begin anew with every few interactions."""
    table = rows(made, **{name: lambda one, rank: f"2024-01-{1 + one.number // sessions:02d}"})
    return [row | {"session": int(row["session"][1:]) % sessions} for row in table]


def as_events_in_rows(made):
    """An impression event for all that was shown, and one more row for each click."""
    table = rows(made)
    return [row | {"click": 0} for row in table] + [row for row in table if row["click"]]


def delivered_twice(made, *, share=0.5, time=False):
    """Some lists were delivered twice."""
    table = rows(made, **({"time": lambda one, rank: one.seconds + 1} if time else {}))
    again = [row for row in table if int(row["session"][1:]) < share * len(made)]
    return table + again


def days(made):
    """Times are days."""
    return rows(made, when=lambda one, rank: str(datetime.fromtimestamp(one.seconds, UTC).date()))


def only_clicks(made):
    """Nothing but clicks."""
    return [row for row in rows(made) if row["click"]]


def null_clicks(made):
    """No value where there was no click."""
    return [row | {"click": row["click"] or None} for row in rows(made)]
