"""What was shown and clicked: is there enough of it, and does it tell ranks from relevance?"""

from collections.abc import Iterator

import numpy as np

from cltr.checks.evidence import FEW_DISPLAYS, SMALL_SHARE, Evidence, Finding, Level
from cltr.types import Integers

FEW_CLICKS = 100


def clicks(evidence: Evidence) -> Iterator[Finding]:
    """Are there clicks at all?"""
    parts = {"train": evidence.train, "valid": evidence.valid}
    counts = {name: int(part.clicks.sum()) for name, part in parts.items()}
    total, least = sum(counts.values()), min(counts.values())
    level: Level = "fatal" if least == 0 else "warning" if least < FEW_CLICKS else "good"
    yield Finding(
        "clicks",
        level,
        total,
        f"{counts['train']:,} training and {counts['valid']:,} validation clicks in "
        f"{evidence.train.n_interactions + evidence.valid.n_interactions:,} interactions",
        "an estimate's error falls with the root of the number of clicks: with fewer than "
        f"{FEW_CLICKS} it is 10 % of its value or more",
        "" if level == "good" else "log for longer, or merge the logs of more days",
    )


def part_for_tests(evidence: Evidence) -> Iterator[Finding]:
    """Is there a test part, and is it large enough?"""
    if evidence.test is None:
        return
    clicked = int(evidence.test.clicks.sum())
    few = clicked < FEW_CLICKS
    yield Finding(
        "test-part",
        "note" if few else "good",
        clicked,
        f"{clicked:,} test clicks in {evidence.test.n_interactions:,} interactions; no other "
        "finding looks at them, and nothing is fitted to them",
        "clicks that neither trained the policy nor chose the epoch are the only ones that "
        f"estimate its value without bias; with fewer than {FEW_CLICKS} the error is large",
        "log for longer, or ingest with a larger --test-share" if few else "",
    )


def position_bias(evidence: Evidence) -> Iterator[Finding]:
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
        f"({rates[-1]:.3g} against {rates[0]:.3g})"
    )
    if _by_chance(impressions[shown], clicked[shown]):
        yield Finding(
            "position-bias",
            "note",
            round(last, 4),
            f"{text}; with {clicked.sum():,} clicks that may be chance",
            "no difference between ranks can be seen: there is none, or there are too few clicks",
            "log for longer before position bias is estimated from this log",
        )
        return
    falls = last < 0.9
    yield Finding(
        "position-bias",
        "note" if falls else "warning",
        round(last, 4),
        text,
        "part of the fall is position bias, part is that production ranks well; clicks as they are "
        "mix both"
        if falls
        else "clicks that do not fall with rank are not those of people who read from the top",
        "correct for it: a click model with --reward ips or dr, not naive"
        if falls
        else "check that positions are right, and what counts as a click",
    )


def _by_chance(impressions: Integers, clicks: Integers) -> bool:
    r"""Whether the first and the last click rate differ by less than two standard errors.

    .. math:: |p_1 - p_K| < 2 \sqrt{p (1 - p) (1 / n_1 + 1 / n_K)}
    """
    n, c = impressions[[0, -1]], clicks[[0, -1]]
    together = c.sum() / n.sum()
    error = np.sqrt(together * (1 - together) * (1 / n).sum())
    return bool(abs(c[0] / n[0] - c[1] / n[1]) < 2 * error)


def overlap(evidence: Evidence) -> Iterator[Finding]:
    """How many documents were seen at more than one rank?"""
    seen = (evidence.whole.impressions > 0).sum(-1)
    shown, several = int((seen > 0).sum()), int((seen > 1).sum())
    share = several / max(shown, 1)
    level: Level = "good" if share >= 0.2 else "note" if share >= SMALL_SHARE else "warning"
    yield Finding(
        "overlap",
        level,
        round(share, 4),
        f"{several:,} of {shown:,} query-document pairs were shown at two or more ranks "
        f"({share:.1%})",
        "only a document that was seen at several ranks tells what the rank does to its clicks: "
        "position bias is estimated from these",
        "" if level == "good" else "randomise ranks a little in production, or take α, β elsewhere",
    )


def deterministic(evidence: Evidence) -> Iterator[Finding]:
    """Did production always show the same?"""
    statistics, lists = evidence.whole, evidence.lists
    displays = statistics.displays
    often = displays >= 2
    if not often.any():
        return
    most = np.zeros((len(displays), statistics.top_k), np.int64)
    np.maximum.at(most, lists.owners, statistics.impressions)
    per_rank = np.stack([lists.sum(column) for column in statistics.impressions.T], -1)
    fixed = ((most == per_rank).all(-1)) & often
    share = float(displays[fixed].sum() / displays[often].sum())
    level: Level = "warning" if share > 0.5 else "note" if share > SMALL_SHARE else "good"
    yield Finding(
        "deterministic-logging",
        level,
        round(share, 4),
        f"{share:.1%} of the interactions with queries that came again are with queries that "
        "always got the same list",
        "a fixed list says nothing of other documents, and nothing of its own at other ranks: all "
        "rests on the click model, unchecked",
        "" if level == "good" else "explore: sample from production's scores, or swap neighbours",
    )


def displays(evidence: Evidence) -> Iterator[Finding]:
    """How often did a query come?"""
    median, most = evidence.median_displays, int(evidence.whole.displays.max(initial=0))
    counted = evidence.rank_distribution[1] == "counts"
    few = median < FEW_DISPLAYS
    level: Level = "good" if not few else "note" if not counted else "warning"
    if counted and median < 2 and evidence.shared:
        level = "fatal"
    yield Finding(
        "displays-per-query",
        level,
        median,
        f"the median query came {median:g} times, the most frequent {most:,} times",
        "exposure that is counted from one or two lists is those lists, not what production would "
        "show; and a score per document learns nothing from a query that came once"
        if counted
        else "exposure is known, but a score per document learns little from queries that are rare",
        "" if level == "good" else "give features (--data) and production's scores (--production)",
    )


def truncated(evidence: Evidence) -> Iterator[Finding]:
    """Are lists shorter than they could be, and do they end where a click was?"""
    impressions, _ = evidence.by_rank
    total = evidence.n_interactions
    missing = 1 - impressions[-1] / max(impressions.max(initial=1), 1)
    ends = evidence.interactions.get("ends", {})
    short, ended = ends.get("short", 0), ends.get("short_that_end_with_a_click", 0)
    cut = short > 0.05 * total and ended > 0.9 * short
    level: Level = "warning" if cut else "note" if missing > 0.05 else "good"
    yield Finding(
        "truncated-lists",
        level,
        round(float(missing), 4),
        f"{missing:.1%} of the lists end before rank {len(impressions)}"
        + (f"; {ended:,} of {short:,} short ones end with a click" if cut else ""),
        "lists that are logged up to the last click hide what was seen and not clicked: click "
        "rates are then too high at the bottom"
        if cut
        else "short lists are fine if there was nothing more to show, not if logging stopped early",
        "log all that was shown" if cut else "",
    )
