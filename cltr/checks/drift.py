"""Did the log change while it was written?"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from cltr.checks.evidence import Evidence
from cltr.checks.findings import Finding, Level, for_all
from cltr.types import Floats

STRONG_DRIFT, WEAK_DRIFT = 2.0, 1.25
"""Factor between the click rates of the first and the last fifth of the log, either way."""
MOVED_MUCH, MOVED = 0.5, 0.2
"""Share of the impressions at other ranks at the end than at the beginning."""
BEYOND_CHANCE = 4.0
"""Standard errors that a change must have; clicks of one interaction are not independent."""
EXPECTED_CLICKS = 30.0
"""Clicks that a period should have before a period without clicks means that logging stopped."""
PART = 0.2
"""Share of the log that counts as its beginning, and as its end."""
ROUNDING = 1e-9
"""Share of the log by which a period may miss a fifth for want of digits."""


def periods_of(evidence: Evidence) -> list[Mapping[str, Any]]:
    """Periods of equal size in time, as noted when the log was ingested; none without times."""
    found = evidence.interactions.get("periods")
    return list(found) if isinstance(found, list) else []


def _counts(periods: list[Mapping[str, Any]], name: str) -> Floats:
    """Counts by period and rank, ``[periods, K]``; merged logs may differ in their ranks."""
    deepest = max(len(period[name]) for period in periods)
    table = np.zeros((len(periods), deepest))
    for row, period in zip(table, periods, strict=True):
        row[: len(period[name])] = period[name]
    return table


def drift(evidence: Evidence) -> Iterator[Finding]:
    """Do click rate and depth differ between the beginning and the end of the log?"""
    periods = periods_of(evidence)
    if len(periods) < 2:
        yield Finding(
            "drift",
            {},
            None,
            "no times were logged, so drift cannot be seen",
            "a ranker serves future users; clicks from another season or site say little about "
            "them",
            "ingest with --time-column",
        )
        return
    shown, clicks = _counts(periods, "impressions"), _counts(periods, "clicks")
    yield from _silent_periods(shown.sum(-1), clicks.sum(-1))
    ends = _ends(shown.sum(-1))
    n, c = (np.array([table[end].sum() for end in ends]) for table in (shown, clicks))
    rates, errors = c / np.maximum(n, 1.0), _standard_errors(n, c)
    depth = _depth_change(*(shown[end].sum(0) for end in ends))
    level = _level(_factor(rates) if errors > BEYOND_CHANCE else 1.0, depth)
    yield Finding(
        "drift",
        for_all(level),
        round(float(rates[1] / rates[0]), 4) if rates[0] > 0 else None,
        f"from the first to the last {100 * PART:.0f}% of the log the click rate went from "
        f"{rates[0]:.4f} to {rates[1]:.4f}"
        + ("" if errors > BEYOND_CHANCE else ", which may be chance")
        + f"; {depth:.0%} of the impressions moved to other ranks",
        "what clicks of another time teach may not hold now; and if ranks and clicks changed at "
        "the same time, the change looks like position bias",
        "" if level == "good" else "find out what changed, and use the latest part of the log",
        details={"standard_errors": errors, "depth_change": depth, "periods": len(periods)},
    )


def _level(factor: float, depth: float) -> Level:
    if factor > STRONG_DRIFT or depth > MOVED_MUCH:
        return "warning"
    return "note" if factor > WEAK_DRIFT or depth > MOVED else "good"


def _ends(shown: Floats) -> tuple[slice, slice]:
    """The first periods that hold a fifth of the impressions, and the last ones; never the same."""
    until = np.cumsum(shown) / max(shown.sum(), 1.0)
    since = until - shown / max(shown.sum(), 1.0)
    last = len(shown) - 1
    first = min(int(np.searchsorted(until, PART - ROUNDING)) + 1, last)
    behind = max(int(np.searchsorted(since, 1 - PART - ROUNDING)), first)
    return slice(0, first), slice(min(behind, last), None)


def _standard_errors(shown: Floats, clicks: Floats) -> float:
    """By how many standard errors two click rates differ."""
    if (shown == 0).any() or clicks.sum() == 0:
        return 0.0
    mean = float(clicks.sum() / shown.sum())
    error = float(np.sqrt(mean * (1 - mean) * (1 / shown).sum()))
    return float(abs(clicks[1] / shown[1] - clicks[0] / shown[0])) / error if error > 0 else 0.0


def _factor(rates: Floats) -> float:
    """The larger rate divided by the smaller one."""
    return float(rates.max() / rates.min()) if rates.min() > 0 else float("inf")


def _depth_change(first: Floats, last: Floats) -> float:
    """Share of impressions at other ranks at the end than at the beginning."""
    if first.sum() == 0 or last.sum() == 0:
        return 0.0
    return float(np.abs(first / first.sum() - last / last.sum()).sum() / 2)


def _silent_periods(shown: Floats, clicks: Floats) -> Iterator[Finding]:
    """Periods without a click in which there should have been many."""
    expected = shown * clicks.sum() / max(shown.sum(), 1.0)
    silent = (clicks == 0) & (expected >= EXPECTED_CLICKS)
    if not silent.any():
        return
    share = float(shown[silent].sum() / shown.sum())
    yield Finding(
        "periods-without-clicks",
        for_all("fatal" if share > 0.5 else "warning"),
        round(share, 4),
        f"{share:.0%} of the impressions lie in periods without a single click",
        "clicks were not logged then, and their impressions count as not clicked",
        "leave these periods out (--from and --until of cltr ingest)",
    )
