"""Can ranks be told from relevance? Position bias, and click rates that make no sense."""

from collections.abc import Iterator

import numpy as np

from cltr.checks.evidence import CARE_ERROR, HALF_CLICKS, Evidence
from cltr.checks.findings import Finding, Level, Use, for_all, for_estimates
from cltr.types import Floats, Integers

SMALL_ERROR = 0.1
"""Standard error of log examination that is small: 10%, a quarter of the step from the first to
the second weight of DCG."""
HOPELESS_ERROR = 1.0
"""One that tells nothing: a factor of 2.7 either way, as between ranks 1 and 3 of 1/rank."""
MOST_CLICKS = 0.8
"""Share of clicks below the first rank that must lie at ranks with a small error."""
NEARLY_ALL = 0.9
"""Share of the information about position bias that one query may have."""
FLAT = 0.9
"""Examination of the least examined rank from which rank seems to make no difference."""
HALF_ERROR = 0.5
"""Standard error of a logarithm up to which it reads as a percentage."""


def identification(evidence: Evidence) -> Iterator[Finding]:
    """Is position bias determined by documents that were shown at several ranks?"""
    swaps = evidence.swaps
    shown = int((evidence.by_rank[0] > 0).sum())
    if shown < 2:
        yield Finding(
            "position-bias-known",
            {"position-bias": "fatal"},
            0.0,
            "only one rank is shown",
            "position bias compares ranks",
            "log all ranks that users see",
        )
        return
    share = swaps.determined(SMALL_ERROR)
    yield Finding(
        "position-bias-known",
        _identified(evidence),
        round(share, 4),
        _told(evidence, share),
        "only a document seen at several ranks of the same query tells what the rank does to its "
        "clicks; this assumes that its relevance did not change with its rank",
        ""
        if share >= MOST_CLICKS
        else "let production swap neighbours in a part of the requests, log for longer, or use a "
        "click model that was fitted to another log (--click-model fitted:FILE)",
        details={
            "groups": [list(group) for group in swaps.groups],
            "examination": _listed(swaps.examination),
            "standard_errors_of_log": _listed(swaps.errors),
            "swap_impressions": swaps.impressions.astype(int).tolist(),
            "swap_documents": swaps.documents.tolist(),
            "share_within_10_percent": share,
            "share_within_25_percent": swaps.determined(CARE_ERROR),
            "share_of_largest_query": swaps.largest_query,
        },
        decides="position-bias",
    )


def _identified(evidence: Evidence) -> dict[Use, Level]:
    """Levels of each use, from the clicks at ranks whose examination is known."""
    swaps = evidence.swaps
    if swaps.determined(SMALL_ERROR) >= MOST_CLICKS:
        return for_all("warning" if _from_one_query(evidence) else "good")
    care = evidence.shows_bias
    other: Level = "warning" if swaps.determined(HOPELESS_ERROR) >= HALF_CLICKS else "fatal"
    if evidence.knows_model:
        other = "note"
    return {"position-bias": "warning" if care else "fatal", **for_estimates(other)}


def _from_one_query(evidence: Evidence) -> bool:
    """Whether one of several queries tells nearly all about position bias."""
    several = int((evidence.whole.displays > 0).sum()) > 1
    return several and evidence.swaps.largest_query > NEARLY_ALL


def _told(evidence: Evidence, share: float) -> str:
    swaps = evidence.swaps
    pairs = int((evidence.whole.impressions > 0).any(-1).sum())
    several = int(((evidence.whole.impressions > 0).sum(-1) > 1).sum())
    moved = f"{several:,} of {pairs:,} documents were shown at two or more ranks"
    if not swaps.connected:
        return f"{moved}; no two ranks can be compared by the clicks of the same documents"
    errors = swaps.errors[np.array(swaps.connected[1:]) - 1]
    apart = int((evidence.by_rank[0] > 0).sum()) - len(swaps.connected)
    return (
        f"examination of {_spoken(swaps.connected[1:])} against rank {swaps.connected[0]} is known "
        f"within {_size(errors.min())} to {_size(errors.max())} (standard errors), within "
        f"{_size(SMALL_ERROR)} for {share:.0%} of the clicks; {moved}"
        + (f"; {apart} ranks cannot be compared" if apart else "")
        + (
            f"; one query contributes {swaps.largest_query:.0%} of it"
            if _from_one_query(evidence)
            else ""
        )
    )


def _size(error: float) -> str:
    """A standard error of a logarithm, in words.

    Example:
        >>> _size(0.04), _size(1.1)
        ('±4%', 'a factor of 3.0')
    """
    return f"±{100 * error:.0f}%" if error <= HALF_ERROR else f"a factor of {np.exp(error):.1f}"


def _spoken(ranks: tuple[int, ...]) -> str:
    """``ranks 2 to 10``, or ``7 ranks``."""
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if ranks == tuple(range(ranks[0], ranks[-1] + 1)):
        return f"ranks {ranks[0]} to {ranks[-1]}"
    return f"{len(ranks)} ranks"


def _listed(values: Floats) -> list[float | None]:
    return [round(float(value), 6) if np.isfinite(value) else None for value in values]


def click_rates(evidence: Evidence) -> Iterator[Finding]:
    """Do clicks fall with rank?"""
    impressions, clicked = evidence.by_rank
    shown = impressions > 0
    if shown.sum() < 2 or clicked.sum() == 0:
        return
    rates = clicked[shown] / impressions[shown]
    ranks = np.flatnonzero(shown) + 1
    last = float(rates[-1] / rates[0]) if rates[0] > 0 else float("inf")
    text = (
        f"rank {ranks[-1]} is clicked {last:.2f} times as often as rank {ranks[0]} "
        f"({rates[-1]:.3g} against {rates[0]:.3g} clicks per impression)"
    )
    if _by_chance(impressions[shown], clicked[shown]):
        text += f"; with {clicked.sum():,} clicks that may be chance"
    rises = last > 1 and not _by_chance(impressions[shown], clicked[shown])
    yield Finding(
        "click-rate-by-rank",
        for_all("warning" if rises else "note"),
        round(last, 4),
        text,
        "people who read from the top do not click more on lower ranks"
        if rises
        else "part of the fall is position bias, part is that production ranks well",
        "check that positions are right, and what counts as a click" if rises else "",
    )


def flat_examination(evidence: Evidence) -> Iterator[Finding]:
    """Does the rank make any difference to the clicks of the same document?"""
    swaps = evidence.swaps
    if swaps.determined(SMALL_ERROR) < MOST_CLICKS:
        return
    below = np.array(swaps.connected[1:]) - 1
    lowest = float(swaps.examination[below].min())
    flat = lowest > FLAT
    yield Finding(
        "rank-matters",
        for_all("warning" if flat else "good"),
        round(lowest, 4),
        f"at the rank with the fewest clicks, the same documents get {lowest:.0%} of the clicks "
        f"that they get at rank {swaps.connected[0]}",
        "users of a ranked list look at the first ranks more; where rank makes no difference, "
        "positions may not be those that users saw, or documents stand side by side",
        "check that positions are those that users saw" if flat else "",
    )


def _by_chance(impressions: Integers, clicks: Integers) -> bool:
    r"""Whether the first and the last click rate differ by less than two standard errors.

    .. math:: |p_1 - p_K| < 2 \sqrt{p (1 - p) (1 / n_1 + 1 / n_K)}
    """
    n, c = impressions[[0, -1]], clicks[[0, -1]]
    together = c.sum() / n.sum()
    error = np.sqrt(together * (1 - together) * (1 / n).sum())
    return bool(abs(c[0] / n[0] - c[1] / n[1]) < 2 * error)
