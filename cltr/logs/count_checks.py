"""What the counts of a log tell: documents that do not fit, parts that are empty, odd clicks."""

from collections.abc import Mapping

import numpy as np

from cltr.errors import DataError
from cltr.logs.count_arrays import Assembled, why_no_match
from cltr.logs.id_coding import Tally
from cltr.types import ClickStatistics, Dataset

_SOME_CLICKS = 50
"""Clicks of which some should be on the first position."""


def check_matches(tally: Tally, dataset: Dataset, found: Assembled) -> None:
    """Impressions on documents or queries that cannot be used with the data set."""
    from cltr.kernels import counting as kernel

    if not len(found.pairs):
        query, document = tally.row("SELECT query::VARCHAR, document::VARCHAR FROM names LIMIT 1")
        raise DataError(
            f"{tally.problems.where}: no document of the log is in '{dataset.name}'; the log has "
            f"query '{query}' and document '{document}', the data set query "
            f"'{dataset.query_ids[0]}' and document '{dataset.document_ids[0]}'"
            + why_no_match(tally, dataset)
        )
    rows = int(found.counted.impressions.sum()) + found.counted.of(kernel.UNKNOWN)
    tally.problems.found("unknown-documents", found.counted.of(kernel.UNKNOWN), of=rows)
    if not found.places.shared:
        tally.problems.found("test-queries", found.counted.of(kernel.TESTED), of=rows)


def check_split(tally: Tally, statistics: Mapping[str, ClickStatistics], *, alone: bool) -> None:
    """Refuse a part without interactions; the test part may be missing unless it was asked for."""
    advice = {"valid": "give another --valid-share or --seed", "train": "it needs some"}
    if alone and tally.split.tested:
        advice["train"] = "give another --seed, or --test-share 0"
    if alone and tally.split.test_share:
        advice["test"] = "give another --test-share or --seed"
    if alone and tally.split.valid_from:
        advice |= dict.fromkeys(("train", "valid"), "give another --valid-from or --test-from")
    if alone and tally.split.test_from:
        advice["test"] = "give another --test-from"
    for split, what in advice.items():
        if split not in statistics or statistics[split].n_interactions == 0:
            raise DataError(f"{tally.problems.where}: no {split} interactions; {what}")


def check_first_clicks(tally: Tally, statistics: Mapping[str, ClickStatistics]) -> None:
    """Refuse a log in which the first position is shown as often as others, and never clicked."""
    shown, clicked = (
        np.sum([getattr(part, name).sum(0) for part in statistics.values()], axis=0)
        for name in ("impressions", "clicks")
    )
    total = int(clicked.sum())
    if total >= _SOME_CLICKS and clicked[0] == 0 and 2 * shown[0] >= shown.max():
        hint = "check --positions-from, and where clicks count from"
        tally.problems.found("no-first-click", total, hint=lambda: hint)
