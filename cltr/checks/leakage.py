"""Does validation see what training saw?"""

from collections.abc import Iterator

from cltr.checks.evidence import Evidence
from cltr.checks.findings import Finding, for_estimates
from cltr.extensions import LogQuestion


class Leakage(LogQuestion):
    """Does validation see what training saw?"""

    name = "leakage"

    def ask(self, evidence: Evidence) -> Iterator[Finding]:
        yield from _queries(evidence)
        yield from _times(evidence)
        yield from _users(evidence)


def _queries(evidence: Evidence) -> Iterator[Finding]:
    """Of a log that stands alone: whether parts have the same queries."""
    if not evidence.alone:
        return
    known = evidence.train.displays > 0
    share = float(evidence.valid.displays[known].sum() / max(evidence.valid.n_interactions, 1))
    few = share < 0.5
    yield Finding(
        "shared-queries",
        for_estimates("warning" if few else "note"),
        round(share, 4),
        f"{share:.1%} of the validation interactions are with queries that training saw too",
        "a score per document says nothing about other queries, so validation says little"
        if few
        else "validation tells how these queries are served, not how new ones would be",
        "split interactions instead of giving validation files"
        if few
        else "for new queries give features and a data set with splits by query (--data)",
    )


def _times(evidence: Evidence) -> Iterator[Finding]:
    """Whether parts follow each other in time."""
    times = evidence.interactions.get("time", {})
    if not {"train", "valid"} <= set(times):
        return
    overlapping = times["valid"][0] <= times["train"][1]
    behind = max(times["train"][1], times["valid"][1])
    mixed = "test" in times and times["test"][0] <= behind
    told = (
        "validation interactions lie among the training ones in time"
        if overlapping
        else "validation interactions come after all training ones"
    )
    yield Finding(
        "time-order",
        for_estimates("note" if overlapping or mixed else "good"),
        None,
        told + (", and test interactions among both" if mixed else ""),
        "what is popular on one day then helps in training and in validation, but not later"
        if overlapping or mixed
        else "a ranker serves future users",
        _split_by_time(shared_users=any(_shared(evidence))) if overlapping or mixed else "",
    )


def _users(evidence: Evidence) -> Iterator[Finding]:
    """Whether parts have the same users."""
    both, tested = _shared(evidence)
    if both or tested:
        yield Finding(
            "shared-users",
            for_estimates("note"),
            both,
            f"{both:,} users are in training and in validation"
            + (f", and {tested:,} are in the test part and in another" if tested else ""),
            "training has seen what these users like, so validation is too optimistic",
            "ingest with --split-by user",
        )


def _shared(evidence: Evidence) -> tuple[int, int]:
    """Users in training and validation, and those in the test part and another."""
    users = evidence.interactions.get("users", {})
    return users.get("in_both_splits") or 0, users.get("in_test_too") or 0


def _split_by_time(*, shared_users: bool) -> str:
    """A log is split by time or by user, and the bounds of the gate rely on users."""
    if not shared_users:
        return "ingest with --split-by time"
    return (
        "split by user first, as shared-users says; --split-by time in its place only if days "
        "differ much (drift)"
    )
