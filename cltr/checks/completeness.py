"""Is everything there? Clicks, impressions without clicks, and rows lost when the log was read."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from cltr.checks.evidence import SMALL_SHARE, Evidence
from cltr.checks.findings import Finding, Level, for_all, for_estimates
from cltr.logs.problems import DONE

FEW_CLICKS = 100
"""Fewer leave a relative error of more than 10%, whatever the estimator."""
ONLY_CLICKS = 0.95
"""Clicks per impression from which impressions without a click are certainly missing."""
MANY_CLICKS = 0.6
"""Clicks per impression that no list of several documents gets from people, as far as is known."""
LARGE_LOSS = 0.2
"""Share of rows lost from which what is left need not resemble the log."""
HALF = 0.5
TENTH_OF_EXPECTED = 0.1
"""Interactions without a click that may be there, of those that independent clicks would leave."""
HARMLESS = frozenset({"beyond-top-k", "test-queries", "repeated-clicks", "unshown-documents"})
"""Problems that leave no row wrong or missing among those that are used."""


def clicks(evidence: Evidence) -> Iterator[Finding]:
    """Are there clicks at all?"""
    parts = {"train": evidence.train, "valid": evidence.valid}
    counts = {name: int(part.clicks.sum()) for name, part in parts.items()}
    total, least = sum(counts.values()), min(counts.values())
    level: Level = "fatal" if least == 0 else "warning" if least < FEW_CLICKS else "good"
    yield Finding(
        "clicks",
        {"position-bias": "good" if total else "fatal", **for_estimates(level)},
        total,
        f"{counts['train']:,} training and {counts['valid']:,} validation clicks in "
        f"{evidence.train.n_interactions + evidence.valid.n_interactions:,} interactions",
        "an estimate's error falls with the root of the number of clicks: with fewer than "
        f"{FEW_CLICKS} it is 10% of its value or more",
        "" if level == "good" else "log for longer, or merge the logs of more days",
    )


def non_clicks(evidence: Evidence) -> Iterator[Finding]:
    """Are documents there that were shown and not clicked?"""
    impressions, clicked = (int(counts.sum()) for counts in evidence.by_rank)
    share = clicked / max(impressions, 1)
    single = int((evidence.by_rank[0] > 0).sum()) < 2
    many = share >= MANY_CLICKS and not single
    level: Level = "fatal" if share >= ONLY_CLICKS else "warning" if many else "good"
    yield Finding(
        "impressions-without-click",
        for_all(level),
        round(1 - share, 4),
        f"{1 - share:.1%} of the impressions have no click"
        if level != "fatal"
        else f"{share:.1%} of the rows are clicks: documents that were shown and not clicked are "
        "missing",
        "a click rate needs the times that a document was shown and not clicked; without them "
        "every document looks alike",
        "" if level == "good" else "log every document that was shown, clicked or not",
    )


def clickless(evidence: Evidence) -> Iterator[Finding]:
    """Were searches without a click logged?"""
    by_count = evidence.interactions.get("clicks")
    if not isinstance(by_count, Mapping) or not by_count:
        return
    total = sum(by_count.values())
    share = by_count.get("0", 0) / max(total, 1)
    _, clicked = evidence.by_rank
    lists = evidence.train.n_interactions + evidence.valid.n_interactions
    expected = float(np.prod(1 - np.minimum(clicked / max(lists, 1), 1.0)))
    missing = total >= FEW_CLICKS and expected > 0.05 and share < TENTH_OF_EXPECTED * expected
    yield Finding(
        "interactions-without-click",
        {
            "position-bias": "note" if missing else "good",
            **for_estimates("warning" if missing else "good"),
        },
        round(share, 4),
        f"{share:.1%} of the interactions have no click"
        + (f"; {expected:.0%} would have none if clicks were independent" if missing else ""),
        "where only searches with a click are logged, click rates are too high, most of all for "
        "queries that seldom get a click"
        if missing
        else "searches without a click are part of the log, as they should be",
        "log searches without a click as well" if missing else "",
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
        for_all(level),
        round(float(missing), 4),
        f"{missing:.1%} of the lists end before rank {len(impressions)}"
        + (f"; {ended:,} of {short:,} short ones end with a click" if cut else ""),
        "lists that are logged up to the last click hide what was seen and not clicked: click "
        "rates are then too high at the bottom"
        if cut
        else "short lists are fine if there was nothing more to show, not if logging stopped early",
        "log all that was shown"
        if cut
        else "check that nothing more was shown there"
        if level == "note"
        else "",
    )


def problems(evidence: Evidence) -> Iterator[Finding]:
    """What was wrong when the log was ingested, and how much of it was lost?"""
    noted = [row for row in evidence.log.description.get("problems") or () if row["count"]]
    lost = 0.0
    for row in noted:
        share = _share(evidence, row)
        harmful = row["problem"] not in HARMLESS
        lost += share if harmful and row["action"] == "drop" else 0.0
        wrong = harmful and row["action"] == "keep" and row["unit"] != "documents"
        level: Level = "warning" if wrong and share > 0.05 else "note"
        yield Finding(
            row["problem"],
            for_all(level),
            row["count"],
            f"{row['count']:,} {row['unit']} ({share:.1%}): {row['what']} ({DONE[row['action']]})",
            "found when the log was ingested",
            (
                f"look at these rows; cltr ingest --on {row['problem']}=... decides what is done "
                "about them"
            )
            if harmful
            else "",
            details={"share": round(share, 6)},
        )
    if evidence.log.description.get("problems") is not None:
        yield _lost(min(lost, 1.0))


def _lost(share: float) -> Finding:
    level: Level = "fatal" if share > LARGE_LOSS else "warning" if share > SMALL_SHARE else "good"
    return Finding(
        "rows-lost",
        for_all(level),
        round(share, 4),
        f"{share:.1%} of the log was dropped because rows contradict each other, are incomplete or "
        "unknown",
        "the dropped rows are seldom a random part of a log, so click rates in the rest may "
        "differ from the true ones",
        ""
        if level == "good"
        else ("find the cause (see the problems below), and ingest the log again"),
    )


def _share(evidence: Evidence, row: Mapping[str, Any]) -> float:
    """A problem's count as a share of what there could be: as noted, or from the log's own size."""
    count = float(row["count"])
    if row.get("of"):
        return min(count / float(row["of"]), 1.0)
    if row["unit"] == "interactions":
        there = float(evidence.n_interactions)
    elif row["unit"] == "documents":
        return min(count / max(len(evidence.whole.impressions), 1), 1.0)
    else:
        name = "clicks" if row["unit"] == "clicks" else "impressions"
        there = float(sum(getattr(part, name).sum() for part in evidence.log.statistics.values()))
    return count / max(there + (count if row["action"] == "drop" else 0.0), 1.0)


def outliers(evidence: Evidence) -> Iterator[Finding]:
    """Does anybody click on everything?"""
    everything = evidence.interactions.get("ends", {}).get("all_clicked")
    if everything is None:
        return
    share = everything / max(evidence.n_interactions, 1)
    level: Level = (
        "fatal"
        if share > HALF
        else "warning"
        if share > SMALL_SHARE
        else "note"
        if everything
        else "good"
    )
    yield Finding(
        "clicked-everything",
        for_all(level),
        everything,
        f"in {everything:,} interactions ({share:.2%}) every document was clicked",
        "robots and testers click on everything; their clicks say nothing about relevance, and "
        "there are many of them",
        "remove them before ingesting" if everything else "",
    )


def part_for_tests(evidence: Evidence) -> Iterator[Finding]:
    """Is there a test part, and is it large enough?"""
    if evidence.test is None:
        return
    clicked = int(evidence.test.clicks.sum())
    few = clicked < FEW_CLICKS
    yield Finding(
        "test-part",
        for_estimates("note" if few else "good"),
        clicked,
        f"{clicked:,} test clicks in {evidence.test.n_interactions:,} interactions; no other "
        "finding looks at them, and nothing is fitted to them",
        "clicks that neither trained the policy nor chose the epoch are the only ones that "
        f"estimate its value without bias; with fewer than {FEW_CLICKS} the error is large",
        "log for longer, or ingest with a larger --test-share" if few else "",
    )
