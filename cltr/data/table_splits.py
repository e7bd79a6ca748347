"""Which queries of a table are for training, validation and testing.

=====================  =========================================================================
a split column         says it: ``train``, ``valid`` or ``test``, or words that mean the same
no such column         queries with judgements are split by md5 of their ids
neither                without judgements nothing is split off: all queries are in every split,
                       and the interactions of a log are split instead
=====================  =========================================================================

The split by md5 (:mod:`cltr.files.portable_split`) does not depend on the other queries: when data
grow, a query stays where it was.
"""

from collections.abc import Mapping

import numpy as np

from cltr.data.feature_table import TableQueries
from cltr.data.layouts import SPLIT_WORDS
from cltr.errors import DataError
from cltr.files.portable_split import share
from cltr.types import SPLITS, Integers

Shares = Mapping[str, float]
"""Shares of the queries that are for validation and testing."""


def split_queries(
    queries: TableQueries, shares: Shares, *, where: str, by_column: bool
) -> tuple[dict[str, Integers] | None, list[str]]:
    """Numbers of queries by split, and in words what was decided; None if nothing is split.

    Args:
        queries: of the table.
        shares: of the queries to split off for validation and testing.
        where: the file, for messages.
        by_column: whether the table says which split a query is in.
    """
    judged = bool(queries.judged.any())
    if not by_column and not judged:
        return None, ["no judgements: queries are not split; interactions of a log will be"]
    every = np.arange(len(queries.ids))
    splits = _told(queries, where) if by_column else {"train": every}
    wanted = [s for s in ("valid", "test") if s not in splits and (judged or s == "valid")]
    if not len(splits.get("train", ())):
        raise DataError(f"{where}: no query is for training; the splits are {', '.join(splits)}")
    if not wanted:
        return _complete(splits), []
    before = len(splits["train"])
    splits |= _split_off(queries, splits["train"], {s: shares[s] for s in wanted}, where)
    taken = ", ".join(f"{len(splits[s]):,} for {s}" for s in wanted)
    return _complete(splits), [f"split by md5 of the query id: of {before:,} queries {taken}"]


def _complete(splits: Mapping[str, Integers]) -> dict[str, Integers]:
    return {split: splits.get(split, np.zeros(0, np.int64)) for split in SPLITS}


def _told(queries: TableQueries, where: str) -> dict[str, Integers]:
    """As the split's column says."""
    words = np.array([str(word).strip().lower() for word in queries.splits])
    unknown = sorted(set(words.tolist()) - set(SPLIT_WORDS))
    if unknown:
        raise DataError(
            f"{where}: split '{unknown[0]}'; expected train, valid or test; name another column "
            "(--split-column), or say --split-column none"
        )
    meant = np.array([SPLIT_WORDS[word] for word in words.tolist()])
    return {split: np.flatnonzero(meant == split) for split in SPLITS if (meant == split).any()}


def _split_off(
    queries: TableQueries, training: Integers, shares: Shares, where: str
) -> dict[str, Integers]:
    """Queries by their share; where there are few, as many as the shares say, but one at least."""
    drawn = np.array([share(id) for id in queries.ids[training].tolist()])
    ends = np.cumsum(list(shares.values()))
    if ends[-1] >= 1:
        raise DataError(f"{where}: the shares to split off leave no queries for training")
    parts = np.searchsorted(ends, drawn, side="right")
    if len(np.unique(parts)) <= len(shares):
        if len(training) <= len(shares):
            raise DataError(
                f"{where}: {len(training)} queries are too few to split off "
                f"{' and '.join(shares)}; add queries, or say which is which (--split-column)"
            )
        parts = np.full(len(training), len(shares))
        order, begin = np.argsort(drawn, kind="stable"), 0
        for number, one in enumerate(shares.values()):
            n = max(round(one * len(training)), 1)
            parts[order[begin : begin + n]] = number
            begin += n
        parts[order[-1]] = len(shares)
    found = {split: training[parts == number] for number, split in enumerate(shares)}
    return found | {"train": training[parts == len(shares)]}
