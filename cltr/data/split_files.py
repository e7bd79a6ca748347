"""From files of several splits to one pile of documents: which queries there are, and where.

A query's documents must stand together, in one split: one that comes back is refused, with both
places named. A split that has no files takes its queries from training, by a hash of their ids,
so that the choice depends on nothing else.
"""

import hashlib
from array import array
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from cltr.data.disk_spool import Spool
from cltr.data.layouts import Files
from cltr.data.svmlight import Query, read_svmlight
from cltr.errors import DataError, UsageError
from cltr.types import SPLITS, Integers

OnBytes = Callable[[str, int, int], None]
"""Called with the stage (``reading`` or ``writing``), how much is done and how much there is."""
LONGEST_ID = 256
"""Characters of an id, at most."""


class Pile:
    """All documents, on disk, and their queries in the order in which they came."""

    def __init__(self, spool: Spool) -> None:
        self.spool = spool
        self.numbers: dict[str, int] = {}
        """Number of each query, by id."""
        self._files: list[tuple[str, Path]] = []
        self._file_of = array("q")
        self._line_of = array("q")

    @property
    def query_ids(self) -> list[str]:
        return list(self.numbers)

    def queries_of(self, split: str) -> Integers:
        """Numbers of the queries that came from a split's files."""
        of_split = np.array([name == split for name, _ in self._files])
        return np.flatnonzero(of_split[np.array(self._file_of)])

    def add_file(
        self,
        path: Path,
        split: str,
        *,
        most_features: int,
        huge_is_missing: bool,
        progress: Callable[[int], None],
    ) -> None:
        """Read a file to its end."""
        self._files.append((split, path))
        for rows in read_svmlight(
            path,
            most_features=most_features,
            huge_is_missing=huge_is_missing,
            progress=progress,
        ):
            self.spool.add(rows, [query.row for query in rows.queries if self._begins(query)])

    def _begins(self, query: Query) -> bool:
        """Whether a list begins here, and does not only go on from the block or file before."""
        name = f"list-{len(self.numbers) + 1}" if query.id is None else query.id
        number = self.numbers.get(name)
        split, path = self._files[-1]
        if number is not None:
            first_split, first_path = self._files[self._file_of[number]]
            if query.id and number == len(self.numbers) - 1 and first_split == split:
                return False
            raise DataError(
                f"{path}:{query.line}: query '{name}' appears again; it began at "
                f"{first_path}:{self._line_of[number]} ({first_split}); expected its documents "
                "together, in one split"
            )
        if len(name) > LONGEST_ID:
            raise DataError(
                f"{path}:{query.line}: the query id has {len(name)} characters; "
                f"expected at most {LONGEST_ID}"
            )
        self.numbers[name] = len(self.numbers)
        self._file_of.append(len(self._files) - 1)
        self._line_of.append(query.line)
        return True

    def ids_problem(self) -> str | None:
        """Why the comments cannot be the documents' ids; None if they can."""
        spool = self.spool
        if spool.n_without_id == spool.n_rows:
            return "the files hold no document ids"
        if spool.n_without_id:
            return f"{spool.n_without_id} of {spool.n_rows} documents have no id"
        if spool.longest_id > LONGEST_ID:
            return f"a document id has {spool.longest_id} bytes, more than {LONGEST_ID}"
        for queries in spool.parts(np.arange(spool.n_queries)):
            ids, owners = spool.take_ids(queries), np.repeat(queries, spool.lengths()[queries])
            order = np.lexsort((ids, owners))
            again = (np.diff(owners[order]) == 0) & (ids[order][1:] == ids[order][:-1])
            if again.any():
                place = order[1:][again][0]
                query = self.query_ids[owners[place]]
                return f"document id '{ids[place]}' stands twice in query '{query}'"
        return None


def gather_files(
    files: Files,
    spool: Spool,
    *,
    most_features: int,
    huge_is_missing: bool,
    progress: OnBytes,
) -> Pile:
    """Read all files, training first."""
    pile = Pile(spool)
    total = sum(_size(path) for group in files.values() for path in group)
    done = 0
    for split in SPLITS:
        for path in files.get(split, ()):
            pile.add_file(
                path,
                split,
                most_features=most_features,
                huge_is_missing=huge_is_missing,
                progress=partial(_report, progress, done, total),
            )
            done += _size(path)
    return pile


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _report(progress: OnBytes, before: int, total: int, position: int) -> None:
    progress("reading", before + position, total)


def assign_splits(
    pile: Pile, files: Files, shares: Mapping[str, float]
) -> tuple[dict[str, Integers], list[str]]:
    """Queries by split, and in words what was taken from training for splits without files."""
    splits = {split: pile.queries_of(split) for split in SPLITS}
    ids = pile.query_ids
    n_training = len(splits["train"])
    notes = []
    for split in ("valid", "test"):
        if files.get(split):
            continue
        share = shares[split]
        if not 0 < share < 1:
            raise UsageError(f"no {split} files, and {split}_share is {share}; expected 0 to 1")
        n = max(round(share * n_training), 1)
        if n >= len(splits["train"]):
            raise DataError(
                f"no {split} files, and {len(splits['train'])} training queries are too few to "
                f"split off {n}; add queries or name files with --{split}"
            )
        by_hash = sorted(splits["train"].tolist(), key=lambda query: _hash(ids[query]))
        splits[split] = np.sort(by_hash[:n])
        splits["train"] = np.sort(by_hash[n:])
        notes.append(
            f"no {split} files: {n} of {n_training} training queries ({share:.0%}) were split off"
        )
    return splits, notes


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
