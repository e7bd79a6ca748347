"""Coded rows to counts, compiled: a table of hashes, and one pass over the rows."""

import numpy as np
from numba import njit

from cltr.kernels import compiling  # noqa: F401 - says so when it compiles

_JIT = {"cache": True, "error_model": "numpy", "nogil": True}
MOST = 1000
"""Ranks that a list may have."""
_FEW = 64
TWICE, GAPS, UNKNOWN, TESTED, ALL_CLICKED, SHORT, SHORT_CLICKED = range(7)
N_FOUND = 7
"""What is counted beside impressions, clicks and displays."""
TOTAL, NAMELESS, ORPHANS, NOWHERE, LOST, BEFORE, ZERO, UNCLEAR, REPEATED, BEYOND = range(10)
LOW, HIGH, CLICKS, TAKEN, TAKEN_CLICKS = range(10, 15)
N_VALUES = 15
"""What single rows tell; see :class:`cltr.logs.id_coding.Values`."""


@njit(**_JIT)
def fill_slots(pairs, slots, rows):
    """An open table from hashes to their places; ``slots`` is all 0 and a power of 2 long."""
    mask = np.uint64(len(slots) - 1)
    for i in range(len(pairs)):
        at = pairs[i] & mask
        while slots[at] != 0:
            at = (at + np.uint64(1)) & mask
        slots[at] = pairs[i]
        rows[at] = i


@njit(**_JIT)
def find_place(pair, slots, rows):
    """The place of a hash; -1 if it has none."""
    mask = np.uint64(len(slots) - 1)
    at = pair & mask
    while slots[at] != 0:
        if slots[at] == pair:
            return rows[at]
        at = (at + np.uint64(1)) & mask
    return -1


@njit(**_JIT)
def find_places(pairs, slots, rows, out):
    """Places of many hashes."""
    for i in range(len(pairs)):
        out[i] = find_place(pairs[i], slots, rows)


@njit(**_JIT)
def _note(key, pair, rank, clicked, top_k, values):
    """Count what is wrong with a row."""
    if pair == 0:
        values[NAMELESS] += 1
    elif rank == 0:
        values[ORPHANS if clicked else NOWHERE] += 1
    elif key == 0:
        values[LOST] += 1
    values[BEFORE] += rank < 0
    values[ZERO] += rank == -2
    values[BEYOND] += pair != 0 and rank > top_k


@njit(**_JIT)
def take_rows(
    keys, pairs, ranks, states, parts, top_k, drop_unclear,
    out_keys, out_pairs, out_ranks, out_states, out_parts, at, values,
):  # fmt: skip
    """Copy rows that count behind those that are there, and note what is wrong with the others.

    Args:
        keys: of interactions, ``[rows]``; 0 is none.
        pairs: of query and document; 0 is none.
        ranks: from 1; 0 is none, -1 makes no sense, -2 is a position too low by 1.
        states: 0 no click, 1 a click, 2 several, 3 unclear.
        parts: of the log: 0 training, 1 validation, 2 test.
        top_k: ranks.
        drop_unclear: whether rows whose click is unclear do not count.
        out_keys: where rows go, as all that begin with ``out``.
        out_pairs: the same.
        out_ranks: the same.
        out_states: the same.
        out_parts: the same.
        at: how many are there.
        values: what is wrong, ``[N_VALUES]``, added to; ``LOW`` and ``HIGH`` are ranks.

    Returns:
        How many are there now.
    """
    values[TOTAL] += len(keys)
    low, high, repeated, unclear = values[LOW], values[HIGH], 0, 0
    n_clicks, taken, before = 0, 0, at
    for i in range(len(keys)):
        key, pair, rank, state = keys[i], pairs[i], int(ranks[i]), states[i]
        if rank > 0:
            low, high = min(low, rank), max(high, rank)
        repeated += state == 2
        unclear += state == 3
        clicked = state == 1 or state == 2
        n_clicks += clicked
        if pair == 0 or key == 0 or rank < 1 or rank > top_k:
            _note(key, pair, rank, clicked, top_k, values)
        elif not (drop_unclear and state == 3):
            taken += clicked
            out_keys[at], out_pairs[at], out_ranks[at] = key, pair, ranks[i]
            out_states[at], out_parts[at] = state, parts[i]
            at += 1
    values[LOW], values[HIGH] = low, high
    values[REPEATED] += repeated
    values[UNCLEAR] += unclear
    values[CLICKS] += n_clicks
    values[TAKEN] += at - before
    values[TAKEN_CLICKS] += taken
    return at


@njit(**_JIT)
def _comes_twice(values):
    """Whether a value of a long run comes twice."""
    ordered = np.sort(values)
    for i in range(1, len(ordered)):
        if ordered[i] == ordered[i - 1]:
            return True
    return False


@njit(**_JIT)
def _check_long_run(pairs, ranks, start, stop, found):
    """The same as :func:`_check_run` for runs of any length."""
    if _comes_twice(ranks[start:stop]) or _comes_twice(pairs[start:stop]):
        found[TWICE] += 1
    elif ranks[start:stop].max() != stop - start:
        found[GAPS] += 1


@njit(**_JIT)
def _check_run(pairs, ranks, start, stop, found):
    """Count a run in which a rank or a document comes twice, or whose ranks leave some out."""
    one = np.uint64(1)
    filled = seen = np.uint64(0)
    highest = 0
    for i in range(start, stop):
        highest = max(highest, int(ranks[i]))
    if stop - start > _FEW or highest > _FEW:
        _check_long_run(pairs, ranks, start, stop, found)
        return
    for i in range(start, stop):
        rank = one << np.uint64(ranks[i] - 1)
        bucket = one << (pairs[i] & np.uint64(63))
        twice = filled & rank != 0
        if seen & bucket != 0:  # perhaps the same document, perhaps another
            for j in range(start, i):
                twice |= pairs[j] == pairs[i]
        if twice:
            found[TWICE] += 1
            return
        filled |= rank
        seen |= bucket
    if filled & (filled + one) != 0:
        found[GAPS] += 1


@njit(**_JIT)
def count_runs(
    keys, pairs, ranks, states, parts, slots, rows, owners, splits, top_k, sessions,
    impressions, clicks, displays, found, lengths, click_counts, run_keys,
):  # fmt: skip
    """Count rows, run by run: a run is the rows of an interaction, or a single impression.

    Args:
        keys: of interactions, ``[rows]``; runs lie together.
        pairs: of query and document.
        ranks: from 1.
        states: 1 and 2 are clicks.
        parts: of the log: 0 training, 1 validation, 2 test.
        slots: hashes of documents; see :func:`fill_slots`.
        rows: the documents' places.
        owners: the query of each document.
        splits: of each query: 0 training, 1 validation, 2 test, 3 none, -1 as ``parts`` says.
        top_k: ranks.
        sessions: whether runs are interactions.
        impressions: ``[planes, docs, K]``, added to; a plane for each part, or one for all where
            each query belongs to one part.
        clicks: ``[planes, docs, K]``, added to.
        displays: ``[planes, queries]``, added to.
        found: other counts, see above.
        lengths: interactions by number of documents, ``[MOST + 1]``.
        click_counts: interactions by number of clicks, ``[MOST + 1]``.
        run_keys: filled with the key of each run.

    Returns:
        The number of runs.
    """
    n, start, runs = len(keys), 0, 0
    while start < n:
        stop = start + 1
        while sessions and stop < n and keys[stop] == keys[start]:
            stop += 1
        if sessions:
            _check_run(pairs, ranks, start, stop, found)
        query, where, plane, n_clicks, last = -1, 0, 0, 0, start
        for i in range(start, stop):
            place = find_place(pairs[i], slots, rows)
            clicked = states[i] == 1 or states[i] == 2
            n_clicks += clicked
            if ranks[i] > ranks[last]:
                last = i
            if place < 0:
                found[UNKNOWN] += 1
                continue
            if query < 0:  # the same for all rows of a run
                query = owners[place]
                where = splits[query] if splits[query] >= 0 else int(parts[start])
                plane = where if len(impressions) > 1 else 0
            if where == 3:
                found[UNKNOWN] += 1
                continue
            found[TESTED] += where == 2
            impressions[plane, place, ranks[i] - 1] += 1
            if clicked:
                clicks[plane, place, ranks[i] - 1] += 1
        if sessions:
            length = min(stop - start, MOST)
            if query >= 0 and where < 3:
                displays[plane, query] += 1
            lengths[length] += 1
            click_counts[min(n_clicks, MOST)] += 1
            found[ALL_CLICKED] += n_clicks == length and length >= 3
            if ranks[last] < top_k:
                found[SHORT] += 1
                found[SHORT_CLICKED] += states[last] == 1 or states[last] == 2
        run_keys[runs] = keys[start]
        runs += 1
        start = stop
    return runs
