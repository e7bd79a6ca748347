"""Who is in a log, and on which side of the split; and what was wrong with it."""

from collections.abc import Iterator

from cltr.checks.evidence import SMALL_SHARE, Evidence, Finding


def outliers(evidence: Evidence) -> Iterator[Finding]:
    """Does anybody click who is not a user?"""
    noted = evidence.interactions
    total = evidence.n_interactions
    everything = noted.get("ends", {}).get("all_clicked")
    if everything is not None:
        share = everything / max(total, 1)
        yield Finding(
            "clicked-everything",
            "warning" if share > SMALL_SHARE else "note" if everything else "good",
            everything,
            f"in {everything:,} interactions ({share:.2%}) every document was clicked",
            "robots and testers click on all; such clicks say nothing of relevance, and count as "
            "many",
            "leave them out before ingesting" if everything else "",
        )
    users = noted.get("users")
    if users and users.get("busiest"):
        top, median = users["busiest"][0], max(users["median"], 1)
        share = top["interactions"] / max(users["interactions"], 1)
        odd = share > SMALL_SHARE and top["interactions"] > 50 * median
        yield Finding(
            "busiest-user",
            "warning" if odd else "good",
            round(share, 4),
            f"of {users['users']:,} users '{top['user']}' has {top['interactions']:,} interactions "
            f"({share:.1%}); the median has {median:g}",
            "one who searches that much is a robot or a test, and weighs as many people",
            "leave it out before ingesting" if odd else "",
        )


def leakage(evidence: Evidence) -> Iterator[Finding]:
    """Does validation see what training saw?"""
    if evidence.shared:
        known = evidence.train.displays > 0
        share = float(evidence.valid.displays[known].sum() / max(evidence.valid.n_interactions, 1))
        few = share < 0.5
        yield Finding(
            "shared-queries",
            "warning" if few else "note",
            round(share, 4),
            f"{share:.1%} of the validation interactions are with queries that training saw too",
            "a score per document knows nothing of other queries: validation says little"
            if few
            else "validation tells how these queries are served, not how new ones would be",
            "split interactions instead of giving validation files"
            if few
            else "for new queries give features and a data set with splits by query (--data)",
        )
    times = evidence.interactions.get("time", {})
    if {"train", "valid"} <= set(times):
        overlapping = times["valid"][0] <= times["train"][1]
        behind = max(times["train"][1], times["valid"][1])
        mixed = "test" in times and times["test"][0] <= behind
        yield Finding(
            "time-order",
            "note" if overlapping or mixed else "good",
            None,
            (
                "validation interactions lie among the training ones in time"
                if overlapping
                else "validation interactions come after all training ones"
            )
            + (", and test interactions among both" if mixed else ""),
            "what is popular for a day helps on both sides of such a split, not tomorrow"
            if overlapping or mixed
            else "a policy serves the future",
            "ingest with --split-by time" if overlapping or mixed else "",
        )
    users = evidence.interactions.get("users", {})
    both, tested = users.get("in_both_splits"), users.get("in_test_too")
    if both or tested:
        yield Finding(
            "shared-users",
            "note",
            both,
            f"{both:,} users are in training and in validation"
            + (f", and {tested:,} are in the test part and in another" if tested else ""),
            "their tastes help on both sides of the split",
            "ingest with --split-by user",
        )


def problems(evidence: Evidence) -> Iterator[Finding]:
    """What was wrong when the log was ingested?"""
    for row in evidence.log.description.get("problems") or ():
        yield Finding(
            row["problem"],
            "note",
            row["count"],
            f"{row['count']:,} {row['unit']}: {row['what']} ({row['action']})",
            "found when the log was ingested; what was dropped is not in any estimate",
            f"look into them; --on {row['problem']}=... decides" if row["count"] else "",
        )
