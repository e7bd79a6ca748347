"""What models of users who read down the list need of a log: additive, grouped, no sessions.

Down to her last click a user has surely read everything; so clicks and skips above it are plain
counts by document. What is open is the **tail** below the last click (the whole list if there is
none): equal tails are kept once, with how often they came.
"""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cltr.errors import DataError
from cltr.types import Booleans, ClickLog, Floats, Integers

_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Tails:
    """Documents below the last click of each interaction; equal ones are stored once."""

    queries: Integers
    """``[tails]``, rising."""
    last: Integers
    """Document of the last click, ``[tails]``; -1 if nothing was clicked."""
    rank: Integers
    """Rank of the last click, from 0, ``[tails]``; -1 if nothing was clicked."""
    below: Integers
    """Documents below it in order, ``[tails, K]``; -1 after the end."""
    times: Floats
    """How often it came, ``[tails]``."""

    def __add__(self, other: "Tails") -> "Tails":
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return Tails(*(np.concatenate(pair) for pair in pairs)).grouped()

    def rows(self, which: Any) -> "Tails":
        """Return some of them, by number or mask."""
        return Tails(*(getattr(self, f.name)[which] for f in fields(self)))

    def grouped(self) -> "Tails":
        """Merge equal ones: sort by a hash, then compare neighbours."""
        # A stable sort of two sorted runs is one merge, so sums of counts are cheap.
        found = self.rows(np.argsort(self._keys(), kind="stable"))
        new = np.ones(len(found.queries), bool)
        new[1:] = (
            (found.queries[1:] != found.queries[:-1])
            | (found.last[1:] != found.last[:-1])
            | (found.rank[1:] != found.rank[:-1])
            | (found.below[1:] != found.below[:-1]).any(1)
        )
        starts = np.flatnonzero(new)
        times = np.add.reduceat(found.times, starts) if len(starts) else found.times
        return replace(found.rows(starts), times=times)

    def _keys(self) -> NDArray[np.uint64]:
        """The query in the leading bits, a hash of the row in the others."""
        bits = np.uint64(int(self.queries.max(initial=0)).bit_length())
        mixed = self.last.astype(np.uint64) * _MIX + self.rank.astype(np.uint64)
        for column in self.below.T:
            mixed = (mixed ^ (mixed >> np.uint64(29))) * _MIX + column.astype(np.uint64)
        mixed ^= mixed >> np.uint64(32)
        mixed *= _MIX
        if bits == 0:
            return mixed
        return (self.queries.astype(np.uint64) << (np.uint64(64) - bits)) | (mixed >> bits)


@dataclass(frozen=True)
class ChainCounts:
    """Counts by document ``[docs]`` and rank ``[K]``, and tails if a model needs them."""

    clicks: Floats
    skips: Floats
    """Not clicked above the last click: surely read."""
    abandoned: Floats
    """Not clicked in interactions without any click."""
    continued: Floats
    """Clicks that another click followed."""
    ended: Floats
    """Last clicks, with something below."""
    continued_by_rank: Floats
    ended_by_rank: Floats
    offsets: Integers
    tails: Tails | None

    def __add__(self, other: "ChainCounts") -> "ChainCounts":
        if not np.array_equal(self.offsets, other.offsets) or (self.tails is None) != (
            other.tails is None
        ):
            raise DataError("counts of different lists or click models cannot be added")
        names = [f.name for f in fields(self) if f.name not in ("offsets", "tails")]
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        tails = self.tails + other.tails if self.tails and other.tails else None
        return ChainCounts(**sums, offsets=self.offsets, tails=tails)

    @property
    def n_documents(self) -> int:
        return int(self.offsets[-1])


def count_chain(chunk: ClickLog, offsets: Integers, *, tails: bool) -> ChainCounts:
    """Count a chunk of a log.

    Args:
        chunk: interactions.
        offsets: where each query's documents lie.
        tails: keep the documents below last clicks; a closed form does not need them.
    """
    documents, top_k = chunk.documents, chunk.top_k
    shown = documents >= 0
    clicks = chunk.clicks & shown
    last = last_clicks(clicks)[:, None]
    ranks = np.arange(top_k)
    followed = np.concatenate([shown[:, 1:], np.zeros((len(chunk), 1), bool)], axis=1)
    final = clicks & (ranks == last) & followed
    earlier = clicks & (ranks < last)

    def by_document(which: Booleans) -> Floats:
        return np.bincount(documents[which], minlength=int(offsets[-1])).astype(np.float64)

    return ChainCounts(
        clicks=by_document(clicks),
        skips=by_document(shown & ~clicks & (ranks < last)),
        abandoned=by_document(shown & (last < 0)),
        continued=by_document(earlier),
        ended=by_document(final),
        continued_by_rank=earlier.sum(0).astype(np.float64),
        ended_by_rank=final.sum(0).astype(np.float64),
        offsets=offsets,
        tails=_tails(chunk, last) if tails else None,
    )


def last_clicks(clicks: Booleans) -> Integers:
    """Return the rank of each row's last click, from 0; -1 without a click.

    Example:
        >>> last_clicks(np.array([[True, True, False], [False, False, False]]))
        array([ 1, -1])
    """
    reverse = clicks[:, ::-1].argmax(1)
    return np.where(clicks.any(1), clicks.shape[1] - 1 - reverse, -1)


def until_first_click(chunk: ClickLog) -> ClickLog:
    """Return the interactions without the documents below the first click."""
    before: Integers = np.cumsum(chunk.clicks, axis=1) - chunk.clicks
    documents = np.where(before > 0, -1, chunk.documents)
    return ClickLog(chunk.queries, documents, chunk.clicks & (before == 0), chunk.context)


def _tails(chunk: ClickLog, last: Integers) -> Tails:
    top_k = chunk.top_k
    places = last + 1 + np.arange(top_k)
    below = np.take_along_axis(chunk.documents, np.minimum(places, top_k - 1), axis=1)
    below = np.where(places < top_k, below, -1)
    open_ended = below[:, 0] >= 0
    clicked = np.take_along_axis(chunk.documents, np.maximum(last, 0), axis=1)
    tails = Tails(
        chunk.queries,
        np.where(last < 0, -1, clicked)[:, 0],
        last[:, 0],
        below,
        np.ones(len(chunk)),
    )
    return tails.rows(open_ended).grouped()
