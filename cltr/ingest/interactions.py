"""[1] The interactions of a counted log, chunk by chunk."""

from collections.abc import Iterator

import numpy as np

from cltr.ingest.assembly import Assembled
from cltr.ingest.counting import chunks
from cltr.ingest.tallies import Tally
from cltr.types import ClickLog


def interactions(tally: Tally, found: Assembled, split: str) -> Iterator[ClickLog]:
    """The interactions of a split in the order of the log; documents are rows of that split.

    Args:
        tally: counted, with its context.
        found: its counts.
        split: ``train`` or ``valid``.
    """
    part = found.lists.part(split)
    names = {name: f"coalesce({column}::VARCHAR, '')" for name, column in tally.context.items()}
    total = tally.row(f"SELECT count(*) FROM {tally.table}")[0]
    for rows in chunks(tally, 0, total, more=tuple(names.values())):
        tally.progress(f"writing {split}", rows["done"] / total)
        places = found.places.find(rows["pair"])
        new = np.concatenate([[True], rows["key"][1:] != rows["key"][:-1]])
        starts, numbers = np.flatnonzero(new), np.cumsum(new) - 1
        known = places >= 0
        queries = np.full(len(starts), -1, np.int64)
        queries[numbers[known]] = found.places.owners[places[known]]
        where = found.places.splits[queries]
        where = np.where(where == -1, rows["valid"][starts], where)
        chosen = (queries >= 0) & (where == ("train", "valid").index(split))
        if not chosen.any():
            continue
        order = np.cumsum(chosen) - 1
        inside = known & chosen[numbers]
        at = order[numbers[inside]], rows["rank"][inside] - 1
        documents = np.full((int(chosen.sum()), tally.top_k), -1, np.int64)
        clicks = np.zeros(documents.shape, np.bool_)
        documents[at] = places[inside] - part.first_document
        clicks[at] = np.isin(rows["state"][inside], (1, 2))
        context = {name: rows[column][starts][chosen].astype(str) for name, column in names.items()}
        first_query = found.lists.splits[split][0]
        yield ClickLog(queries[chosen] - first_query, documents, clicks, context)
