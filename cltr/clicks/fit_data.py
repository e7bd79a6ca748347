"""What click models are fitted to and scored on: a log's clicks on one layout of lists.

A log that stands alone shows the same lists in training and validation: models are fitted to the
first and scored on the second. On a data set, validation queries have other documents, of which a
table of relevance knows nothing; so the clicks of both splits are put on the data set's lists, and
a random share of them is held out. The test part of a log is left for policies, and not used here.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from cltr.clicks.fit_tools import add_up
from cltr.clicks.scores import hold_out, hold_out_statistics
from cltr.errors import DataError, UsageError
from cltr.logs.log_file import LogFile, open_log, own_lists
from cltr.logs.stored_sessions import INTERACTIONS_AT_ONCE, has_sessions, read_sessions
from cltr.types import LOGGED_SPLITS, Booleans, ClickLog, ClickStatistics, Dataset

SHARE = 0.2
"""Of the interactions, held out where training and validation show other lists."""


@dataclass(frozen=True)
class FitData:
    """A log, ready to be fitted to."""

    path: Path
    log: LogFile
    dataset: Dataset
    """All lists: what is fitted has a row for each of its documents."""
    top_k: int
    seed: int

    @property
    def alone(self) -> bool:
        """Whether the log stands alone, and its validation interactions are those held out."""
        return self.log.lists is not None

    @cached_property
    def has_sessions(self) -> bool:
        """Whether the interactions themselves are known."""
        return has_sessions(self.path)

    @property
    def n_unused(self) -> int:
        """Interactions of the log's test part: no model is fitted to them or scored on them."""
        test = self.log.statistics.get("test")
        return 0 if test is None else test.n_interactions

    @cached_property
    def whole(self) -> ClickStatistics:
        """Clicks and impressions by rank of all training and validation interactions."""
        return self._placed("train") + self._placed("valid")

    @cached_property
    def statistics(self) -> tuple[ClickStatistics, ClickStatistics]:
        """Clicks and impressions by rank: to fit to, and held out."""
        if self.alone:
            return self._placed("train"), self._placed("valid")
        if not self.has_sessions:
            return hold_out_statistics(self.whole, share=SHARE, seed=self.seed)
        offsets = self.dataset.offsets
        kept = add_up(ClickStatistics.count(chunk, offsets) for chunk in self.to_fit())
        held = add_up(ClickStatistics.count(chunk, offsets) for chunk in self.to_score())
        assert kept is not None and held is not None
        return kept, held

    def to_fit(self) -> Iterator[ClickLog]:
        """Interactions to fit to, chunk by chunk."""
        if self.alone:
            return self._sessions("train")
        return (kept for kept, _ in self._split())

    def to_score(self) -> Iterator[ClickLog]:
        """Interactions held out, chunk by chunk."""
        if self.alone:
            return self._sessions("valid")
        return (held for _, held in self._split())

    def random_ranks(self) -> Booleans:
        """Documents that were as likely at every rank, as far as production is known, ``[docs]``.

        Those whose logged propensities are the same at all ranks, and those of queries whose
        documents all have the same score.
        """
        lists = self.dataset.lists
        found = np.zeros(self.dataset.n_documents, bool)
        if self.log.propensities is not None:
            chances = self.log.propensities[:, : self.top_k]
            highest = chances.max(-1, initial=0.0)
            found |= (highest > 0) & (highest - chances.min(-1, initial=1.0) <= 1e-9 * highest)
        if self.log.scores is not None:
            scores, several = self.log.scores, lists.lengths > 1
            starts = lists.starts[lists.lengths > 0]
            same = np.maximum.reduceat(scores, starts) == np.minimum.reduceat(scores, starts)
            equal = np.zeros(len(several), bool)
            equal[lists.lengths > 0] = same
            found |= (equal & several)[lists.owners]
        return found

    def _split(self) -> Iterator[tuple[ClickLog, ClickLog]]:
        """Interactions of both splits on the data set's lists, each to fit to or held out."""
        chunks = (chunk for split in LOGGED_SPLITS for chunk in self._sessions(split))
        return iter(hold_out(chunks, share=SHARE, seed=self.seed))

    def _sessions(self, split: str) -> Iterator[ClickLog]:
        query, document = self._first(split)
        for chunk in read_sessions(self.path, split, chunk=INTERACTIONS_AT_ONCE):
            documents = chunk.documents[:, : self.top_k]
            yield ClickLog(
                chunk.queries + query,
                np.where(documents >= 0, documents + document, -1),
                chunk.clicks[:, : self.top_k],
                chunk.context,
            )

    def _placed(self, split: str) -> ClickStatistics:
        """A split's counts on the layout of all lists."""
        part = self.log.statistics[split]
        (query, document), (n_queries, n_docs) = self._first(split), part_size(part)
        shape = (self.dataset.n_documents, self.top_k)
        impressions, clicks = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        displays = np.zeros(self.dataset.n_queries, np.int64)
        rows = slice(document, document + n_docs)
        impressions[rows] = part.impressions[:, : self.top_k]
        clicks[rows] = part.clicks[:, : self.top_k]
        displays[query : query + n_queries] = part.displays
        return ClickStatistics(impressions, clicks, displays, self.dataset.offsets)

    def _first(self, split: str) -> tuple[int, int]:
        """First query and document of a split."""
        query = self.dataset.splits[split][0]
        return query, int(self.dataset.offsets[query])


def part_size(statistics: ClickStatistics) -> tuple[int, int]:
    """Queries and documents."""
    return len(statistics.displays), len(statistics.impressions)


def open_fit_data_of(
    path: Path, data: str | Dataset | None, *, top_k: int | None = None, seed: int = 1
) -> FitData:
    """A log, and the data set that it lies on, if it does: the demo data unless told."""
    if data is None and open_log(path).lists is not None:
        return open_fit_data(path, top_k=top_k, seed=seed)
    from cltr.data.loading import load_dataset

    return open_fit_data(path, load_dataset(data or "demo"), top_k=top_k, seed=seed)


def open_fit_data(
    path: Path, dataset: Dataset | None = None, *, top_k: int | None = None, seed: int = 1
) -> FitData:
    """A log that can be fitted to, or one clear error.

    Args:
        path: a log from ``cltr simulate`` or ``cltr ingest``.
        dataset: on which it lies; none if it stands alone.
        top_k: ranks to look at; all that it shows if None.
        seed: decides what is held out.
    """
    log = open_log(path, dataset)
    if dataset is not None and log.lists is not None:
        raise UsageError(f"{path}: the log was ingested without a data set; leave out --data")
    depth = log.statistics["train"].top_k
    if top_k is not None and top_k > depth:
        raise UsageError(f"--top-k is {top_k}, but the log shows {depth} ranks")
    lists = own_lists(log.lists, path) if dataset is None else dataset
    source = FitData(path, log, lists, top_k or depth, seed)
    for part, what in zip(source.statistics, ("to fit to", "held out"), strict=True):
        if part.n_interactions == 0:
            raise DataError(f"{path}: has no interactions {what}; log for longer")
    return source
