"""The documents of several logs, and where those of each log lie among them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cltr.logs.log_file import LogFile
from cltr.logs.log_lists import lists_of_log
from cltr.types import LOG_PARTS, Dataset, Integers


@dataclass(frozen=True)
class Union:
    """The documents of all logs: where those of each log lie among them."""

    lists: Dataset | None
    """None if all logs lie on one data set."""
    queries: dict[str, list[Integers]]
    """By split and log: the place of each query."""
    documents: dict[str, list[Integers]]
    offsets: dict[str, Integers]
    top_k: int


def unite(logs: Sequence[LogFile], kept: Collection[str]) -> Union:
    """Documents of all logs, by query and document id.

    Args:
        logs: all on one data set, or all with lists of their own.
        kept: parts that the merged log has.
    """
    top_k = max(part.top_k for log in logs for part in log.statistics.values())
    parts = {split: part for log in reversed(logs) for split, part in log.statistics.items()}
    splits = [split for split in LOG_PARTS if split in parts]
    wanted = [split for split in LOG_PARTS if split in kept]
    alone = [log.lists for log in logs if log.lists is not None]
    if not alone:
        return Union(
            None,
            {s: [np.arange(len(parts[s].displays))] * len(logs) for s in splits},
            {s: [np.arange(len(parts[s].impressions))] * len(logs) for s in splits},
            {s: parts[s if s in parts else splits[0]].offsets for s in wanted},
            top_k,
        )
    query_ids, queries = _numbered([lists.query_ids for lists in alone])
    names, codes = _numbered([lists.document_ids for lists in alone])
    keys = [
        query[lists.lists.owners] * len(names) + code
        for query, code, lists in zip(queries, codes, alone, strict=True)
    ]
    pairs, documents = _numbered(keys)
    owners = pairs // len(names)
    lengths = np.bincount(owners, minlength=len(query_ids))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    united = lists_of_log(
        offsets,
        query_ids,
        names[pairs % len(names)],
        name=alone[0].name,
        tested="test" in wanted,
    )
    return Union(
        united,
        dict.fromkeys(splits, queries),
        dict.fromkeys(splits, documents),
        dict.fromkeys(wanted, offsets),
        top_k,
    )


def _numbered(values: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], list[Integers]]:
    """All different values in order, and the place of each value among them."""
    found, places = np.unique(np.concatenate(values), return_inverse=True)
    cuts = np.cumsum([len(part) for part in values])[:-1]
    return found, np.split(places.astype(np.int64), cuts)
