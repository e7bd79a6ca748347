"""How production chose what to show: fixed lists, lists that change by time, or varied ones."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cltr.checks.evidence import Evidence
from cltr.checks.exploration import Exploration, explore_by_sampling, explore_by_swapping
from cltr.checks.findings import Finding, Level, Use, for_all, for_estimates
from cltr.checks.repetition import NEARLY_FIXED, deterministic_share, repeat_probabilities
from cltr.exposure.production_ranker import LARGEST_MISFIT, misfit

MOSTLY_FIXED = 0.9
"""Share of interactions with fixed lists from which production counts as deterministic."""
PARTLY_FIXED = 0.5
FIXED_CHANCE = 0.99
"""Logged propensity, or share of impressions in the order of scores, of a deterministic list."""
SELDOM = 5.0
"""Lists change by time if two displays in a row differ this much less often than any two do."""
ENOUGH_AGAIN = 0.1
"""Share of interactions with queries that came again from which counts tell of chance."""


@dataclass(frozen=True)
class Variation:
    """How production's lists vary, and how this is known."""

    kind: str
    """``deterministic``, ``partly deterministic``, ``changes by time``, ``varied``, ``unknown``."""
    share: float
    """Share of interactions whose list is fixed, as far as is known."""
    repeat: float
    """Chance that two displays of a query have the same document at a rank."""
    repeat_next: float | None
    """The same for two displays in a row, where times were logged."""
    known_by: str


def variation(evidence: Evidence) -> Variation:
    """Recognise how production's lists vary: from counts, propensities, scores and times."""
    statistics = evidence.whole
    repeats = repeat_probabilities(statistics)
    again = ~np.isnan(repeats)
    traffic = statistics.displays[again]
    repeat = float(repeats[again] @ traffic / traffic.sum()) if again.any() else float("nan")
    following = evidence.interactions.get("repeats", {}).get("next")
    share, known_by = _fixed_share(evidence, float(traffic.sum()))
    kind = "varied"
    if np.isnan(share):
        kind = "unknown"
    elif share >= MOSTLY_FIXED:
        kind = "deterministic"
    elif _by_time(repeat, following):
        kind = "changes by time"
    elif share >= PARTLY_FIXED:
        kind = "partly deterministic"
    return Variation(kind, share, repeat, following, known_by)


def _by_time(repeat: float, following: float | None) -> bool:
    if following is None or np.isnan(repeat):
        return False
    return 1 - repeat > SELDOM * (1 - following) and repeat < NEARLY_FIXED


def _fixed_share(evidence: Evidence, again: float) -> tuple[float, str]:
    """Share of interactions with a fixed list, and what tells so."""
    statistics = evidence.whole
    if again >= ENOUGH_AGAIN * max(statistics.n_interactions, 1):
        return deterministic_share(statistics), "queries that came again"
    shown = statistics.impressions
    chances, source = evidence.rank_distribution
    if source != "counts":
        fixed = shown[chances >= FIXED_CHANCE].sum() / max(shown.sum(), 1)
        return float(fixed), source
    return float("nan"), ""


def deterministic(evidence: Evidence) -> Iterator[Finding]:
    """Did production always show the same?"""
    found = variation(evidence)
    level: Level = {
        "deterministic": "warning",
        "partly deterministic": "warning",
        "changes by time": "warning",
        "unknown": "note",
    }.get(found.kind, "good")  # type: ignore[assignment]
    levels: dict[Use, Level] = {"position-bias": "good", **for_estimates(level)}
    if found.kind == "deterministic" and not evidence.shows_bias:
        levels = for_all("fatal")
        if evidence.knows_model:
            levels = {"position-bias": "fatal", **for_estimates("warning")}
    yield Finding(
        "production",
        levels,
        None if np.isnan(found.share) else round(found.share, 4),
        _told(found),
        _MEANING[found.kind],
        _ADVICE.get(found.kind, ""),
        details={**vars(found), "meaning": _meaning(found.kind, evidence)},
    )
    if found.kind in ("deterministic", "partly deterministic", "changes by time"):
        yield from _exploration(evidence)


def _told(found: Variation) -> str:
    following = "" if found.repeat_next is None else f"{found.repeat_next:.1%} of the ranks"
    if found.kind == "unknown":
        return "no query came often enough to tell whether production varies its lists"
    if found.kind == "changes by time":
        return (
            "production is deterministic and changed during the log: two displays of a query in a "
            f"row agree at {following}, any two at {found.repeat:.1%}"
        )
    kinds = {
        "deterministic": "production is deterministic",
        "partly deterministic": "production is deterministic for many queries",
        "varied": "production varies its lists",
    }
    told = f"{kinds[found.kind]}: {found.share:.1%} of the interactions got a fixed list"
    if np.isnan(found.repeat):
        return f"{told} (known from {found.known_by})"
    in_a_row = f", two in a row at {following}" if following else ""
    return f"{told}; two displays of a query agree at {found.repeat:.1%} of the ranks{in_a_row}"


_MEANING = {
    "deterministic": "a fixed list shows each document at one rank: rank and relevance cannot be "
    "told apart, and documents that were not shown have no clicks",
    "partly deterministic": "for queries with a fixed list, estimates rest on the position bias "
    "that other queries show; documents that were not shown have no clicks",
    "changes by time": "each change moved documents to other ranks, which shows position bias "
    "unless something else that affects clicks changed at the same time; what the log shows on "
    "average is not what production shows now",
    "varied": "the same documents were seen at several ranks",
    "unknown": "whether rankings vary can only be seen where a query comes again",
}
_ADVICE = {
    "deterministic": "explore in a small share of the requests, see 'exploration'; or use a click "
    "model that was fitted to another log (--click-model fitted:FILE)",
    "changes by time": "use the latest part of the log to compare with production; or explore, see "
    "'exploration'",
    "partly deterministic": "explore in a small share of the requests, see 'exploration'",
    "unknown": "log production's scores or propensities",
}


def _meaning(kind: str, evidence: Evidence) -> dict[Use, str]:
    """What it means for each use."""
    known = evidence.shows_bias
    if kind == "deterministic" and not known:
        return {
            "position-bias": "cannot be estimated",
            "evaluation": "only other orders of the shown documents, and only with a click model "
            "that was fitted to another log; no new documents",
            "training": "clicks alone repeat production's order; with a click model that was "
            "fitted to another log, small changes among the shown documents",
        }
    if kind == "varied":
        return {}
    return {
        "position-bias": "can be estimated" if known else "is not determined",
        "evaluation": "other orders of the shown documents; new documents not at all",
        "training": "changes among the shown documents; new documents only by their features",
    }


def _exploration(evidence: Evidence) -> Iterator[Finding]:
    """What would it cost to explore?"""
    ways: list[Exploration] = [explore_by_swapping(evidence)]
    if evidence.log.scores is not None:
        ways.append(explore_by_sampling(evidence, evidence.log.scores))
    first = ways[0]
    yield Finding(
        "exploration",
        {},
        round(first.loss, 6),
        " ".join(way.told() for way in ways),
        "the loss holds whatever users find relevant; a share of the requests has that share of it"
        + ("; production is taken as counted from the log" if evidence.counted else ""),
        "log the ranks that were shown, or propensities; then check the new log",
        details={way.name: way.plain() for way in ways},
    )


def exposure(evidence: Evidence) -> Iterator[Finding]:
    """Is what is known of production true of the log?"""
    chances, source = evidence.rank_distribution
    if source == "counts":
        yield Finding(
            "exposure",
            for_estimates("note"),
            None,
            "production is known by counts only: neither scores nor propensities were logged",
            "a document that was never shown counts as one that production never shows",
            "log scores or propensities, or give production's scores with --production FILE",
        )
        return
    away = misfit(chances, evidence.whole)
    level: Level = "good" if away <= 0.02 else "note" if away <= LARGEST_MISFIT else "warning"
    yield Finding(
        "exposure",
        for_estimates(level),
        round(away, 4),
        f"documents were shown where the logged {source} put them, except for {away:.1%} of the "
        "impressions (beyond chance)",
        "propensities of another log make every weight wrong",
        ""
        if level == "good"
        else ("check which ranker wrote them, or train with --exposure counted"),
    )
