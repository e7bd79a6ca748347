"""Does a single query or user decide what the log says?"""

from collections.abc import Iterator

import numpy as np

from cltr.checks.evidence import SMALL_SHARE, Evidence
from cltr.checks.findings import Finding, Level, Use, for_all, for_estimates

HALF = 0.5
"""Share of a single query or user that outweighs all others."""
LARGE = 0.2
NEARLY_ALL = 0.9
ODD_USER = 50
"""Times the median user's interactions from which a user is hardly a person."""
BUSY_USER = 0.1
"""Share of all interactions that one user may have before estimates are about that user."""


def largest_query(evidence: Evidence) -> Iterator[Finding]:
    """Does one query have most of the traffic or of the clicks?"""
    statistics = evidence.whole
    shares = statistics.query_weights
    several = int((statistics.displays > 0).sum())
    if several == 0:
        return
    clicks = evidence.lists.sum(statistics.clicks.sum(-1).astype(np.float64))
    clicked = float(clicks.max() / max(clicks.sum(), 1.0))
    traffic = float(shares.max())
    share = max(traffic, clicked)
    effective = float(1 / (shares**2).sum())
    level: Level = "warning" if share > HALF else "note" if share > LARGE else "good"
    uses: dict[Use, Level] = {
        "position-bias": "warning" if share > NEARLY_ALL else "good",
        **for_estimates(level),
    }
    if several == 1:
        uses = for_all("note")
    yield Finding(
        "largest-query",
        uses,
        round(share, 4),
        f"of {several:,} queries, one has {traffic:.1%} of the interactions and one has "
        f"{clicked:.1%} of the clicks; the traffic says as much as {effective:,.1f} queries "
        "would that are asked equally often"
        if several > 1
        else "all interactions are with one query",
        "averages over the traffic are then mostly about that query, and say little about the "
        "others",
        ""
        if share <= LARGE or several == 1
        else ("look at the other queries separately, or log for longer"),
        details={"effective_queries": effective, "traffic": traffic, "clicks": clicked},
    )


def busiest_user(evidence: Evidence) -> Iterator[Finding]:
    """Does one user have much of the traffic?"""
    users = evidence.interactions.get("users")
    if not users or not users.get("busiest"):
        return
    top, median = users["busiest"][0], max(users["median"], 1)
    share = top["interactions"] / max(users["interactions"], 1)
    odd = share > SMALL_SHARE and top["interactions"] > ODD_USER * median
    many = users["users"] > 1
    level: Level = "warning" if many and (odd or share > BUSY_USER) else "good"
    yield Finding(
        "busiest-user",
        for_all(level),
        round(share, 4),
        f"of {users['users']:,} users '{top['user']}' has {top['interactions']:,} interactions "
        f"({share:.1%}); the median has {median:g}",
        "a user who searches that much is probably a robot or a test, and counts like many people",
        "remove this user before ingesting" if level == "warning" else "",
    )
