r"""Probabilities to show a document at a rank, from logged propensities or scores.

Every estimate is linear in :math:`P_0(d, k)`, the probability that a display of a query shows
document d at rank k. Where several policies served a query, a display came from policy l with the
share :math:`N_l / N` of the query's traffic, so

.. math:: P_0(d, k) = \sum_l \frac{N_l}{N} P_l(d, k),

which holds for :math:`\rho_0`, :math:`\omega_0` and every reward. A policy that never shows a
document there adds 0, so propensities may not be averaged over impressions: only policies that show
a document log one. Where the policy is not told, and propensities of a query differ or add up to
more than 1, counting is the unbiased way: :math:`E[n(d, k)] = N P_0(d, k)`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cltr.errors import DataError
from cltr.files.table_files import arrays
from cltr.logs.count_arrays import Assembled
from cltr.logs.id_coding import Tally
from cltr.policies import PlackettLuce
from cltr.types import LOG_PARTS, Booleans, Floats, Integers

MOST_LOGGERS = 100
ROUNDING = 1e-3
"""Propensities of a query that add up to more than 1 by this much are not those of one policy."""


@dataclass(frozen=True)
class LoggedChances:
    """What is known of the policies that served a log."""

    whole: Floats | None = None
    """P(rank(d) = k) over all parts of the log, ``[docs, K]``; None if nothing was logged."""
    by_part: Mapping[str, Floats] = field(default_factory=dict)
    """The same for each part of the log, where policies are told apart."""
    loggers: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Displays of each policy by part of the log."""
    notes: tuple[str, ...] = ()
    """What must be said of it."""


def logged_chances(tally: Tally, found: Assembled) -> LoggedChances:
    """From propensities, else from scores of several policies, of a counted log."""
    names = _loggers(tally)
    if "propensity" not in tally.columns and not names:
        return LoggedChances()
    displays = _displays(tally, found, names)
    chances = _by_logger(tally, found, displays.sum(0), max(len(names), 1))
    if chances is None:
        return LoggedChances(loggers=_counts(names, displays))
    if not names:
        return LoggedChances(chances[0])
    return LoggedChances(
        _pool(chances, displays.sum(0), found),
        {
            part: _pool(chances, displays[number], found)
            for number, part in enumerate(LOG_PARTS)
            if found.places.shared and displays[number].any()
        },
        _counts(names, displays),
    )


def _counts(names: list[str], displays: Integers) -> dict[str, dict[str, int]]:
    totals = displays.sum(1)
    return {
        name: {part: int(totals[i, j]) for i, part in enumerate(LOG_PARTS)}
        for j, name in enumerate(names)
    }


def _loggers(tally: Tally) -> list[str]:
    """Names of the policies, in order; none if they are not told apart."""
    if "logger" not in tally.columns:
        return []
    where = tally.problems.where
    names, missing = tally.row(
        "SELECT list_sort(list(DISTINCT logger::VARCHAR)), count_if(logger IS NULL) "
        f"FROM {tally.table} WHERE {tally.usable}"
    )
    if missing:
        raise DataError(
            f"{where}: {missing:,} rows have no value in the logger column; fill it "
            "in, or leave these rows out"
        )
    if len(names) > MOST_LOGGERS:
        raise DataError(
            f"{where}: the logger column has {len(names):,} different values, such as "
            f"'{names[0]}'; expected the name of the policy that served a row, so only a few"
        )
    several = "GROUP BY key HAVING min(logger) <> max(logger)"
    mixed = (
        tally.has_sessions
        and tally.row(
            f"SELECT count(*) FROM (SELECT key FROM {tally.table} WHERE {tally.usable} {several})"
        )[0]
    )
    if mixed:
        raise DataError(f"{where}: {mixed:,} interactions have several loggers; expected one each")
    return list(names)


def _displays(tally: Tally, found: Assembled, names: list[str]) -> Integers:
    """Displays by part of the log, query and policy, ``[parts, queries, L]``.

    Of single impressions, the fewest lists that can have shown them: a rank shows one at a time.
    """
    logger = "min(logger)::VARCHAR" if names else "''"
    whose, rank = ("key", "0") if tally.has_sessions else ("rowid", "min(rank)")
    rows = arrays(
        tally.connection,
        f"SELECT pair, logger, part, rank, count(*) AS n FROM (SELECT min(pair) AS pair, {logger} "
        f"AS logger, min(part) AS part, {rank} AS rank FROM {tally.table} WHERE {tally.usable} "
        f"GROUP BY {whose}) GROUP BY ALL",
    )
    places = found.places.find(np.asarray(rows["pair"], np.uint64))
    known = places >= 0
    queries = found.places.owners[places[known]]
    of_rows, of_queries = np.asarray(rows["part"])[known], found.places.splits[queries]
    parts = np.where(of_queries >= 0, of_queries, of_rows)
    numbers = np.searchsorted(names or [""], np.asarray(rows["logger"], str)[known])
    ranks = np.asarray(rows["rank"], np.int64)[known]
    shape = (len(LOG_PARTS) + 1, found.lists.n_queries, max(len(names), 1), tally.top_k + 1)
    displays = np.zeros(shape if not tally.has_sessions else (*shape[:3], 1), np.int64)
    np.add.at(displays, (parts, queries, numbers, ranks), np.asarray(rows["n"])[known])
    fewest: Integers = displays[: len(LOG_PARTS)].max(-1)
    return fewest


def _by_logger(tally: Tally, found: Assembled, displays: Integers, n: int) -> Floats | None:
    """P(rank(d) = k) of each policy, ``[L, docs, K]``, by propensities, scores or counts.

    Args:
        tally: counted.
        found: where documents lie.
        displays: of each query and policy, ``[queries, L]``.
        n: policies.
    """
    cells = _cells(tally, found, n)
    shape = (n, found.lists.n_documents, tally.top_k)
    at = cells["logger"], cells["row"], cells["rank"]
    counted = np.zeros(shape)
    counted[at] = cells["n"]
    counted /= np.maximum(displays.T[:, found.lists.lists.owners], 1)[:, :, None]
    if "propensity" in tally.columns:
        given = np.zeros(shape)
        given[at] = (cells["low"] + cells["high"]) / 2
        varies = np.zeros(shape, np.bool_)
        varies[at] = cells["high"] - cells["low"] > 1e-6 * cells["high"]
        wrong = _implausible(given, varies, found)
        unit = wrong.any(0)
        tally.problems.found("varying-propensities", int(unit.sum()), of=found.lists.n_queries)
        return np.where(wrong[:, found.lists.lists.owners, None], counted, given)
    if "score" in tally.columns:
        return _by_scores(tally, found, cells, counted)
    return None


def _cells(tally: Tally, found: Assembled, n: int) -> dict[str, Any]:
    """Impressions by document, rank and policy, with what was logged of them."""
    logger = "dense_rank() OVER (ORDER BY logger::VARCHAR) - 1" if n > 1 else "0"
    rows = f"SELECT *, {logger} AS number FROM {tally.table} WHERE {tally.usable}"
    chance = "propensity" if "propensity" in tally.columns else "NULL::DOUBLE"
    score = "score" if "score" in tally.columns else "NULL::DOUBLE"
    cells = arrays(
        tally.connection,
        f"SELECT pair, rank - 1 AS rank, number AS logger, count(*) AS n, min({chance}) AS low, "
        f"max({chance}) AS high, min({score}) AS least, max({score}) AS most FROM ({rows}) "
        "GROUP BY ALL",
    )
    places = found.places.find(np.asarray(cells["pair"], np.uint64))
    kept = {name: np.ma.filled(values, np.nan)[places >= 0] for name, values in cells.items()}
    return kept | {"row": places[places >= 0], "rank": kept["rank"].astype(np.int64)}


def _implausible(given: Floats, varies: Booleans, found: Assembled) -> Booleans:
    """Queries whose propensities are not those of one policy, ``[L, queries]``."""
    starts = found.lists.offsets[:-1]
    totals = np.add.reduceat(given, starts, axis=1)
    bad: Booleans = np.logical_or.reduceat(varies.any(-1), starts, axis=1)
    bad |= (totals > 1 + ROUNDING).any(-1)
    missing = (given == 0) & varies
    return bad | np.logical_or.reduceat(missing.any(-1), starts, axis=1)


def _by_scores(
    tally: Tally, found: Assembled, cells: dict[str, Any], counted: Floats
) -> Floats | None:
    """Plackett-Luce with each policy's scores; counts where these change or are missing."""
    low = np.full(counted.shape[:2], np.inf)
    high = np.full(counted.shape[:2], -np.inf)
    at = cells["logger"], cells["row"]
    np.minimum.at(low, at, cells["least"])
    np.maximum.at(high, at, cells["most"])
    owners = found.lists.lists.owners
    result = counted.copy()
    for number, (least, most) in enumerate(zip(low, high, strict=True)):
        served = np.bincount(owners, np.isfinite(least), minlength=found.lists.n_queries) > 0
        bad = ~np.isfinite(least) | (most - least > 1e-6 * np.maximum(1.0, np.abs(least)))
        whole = served & (np.bincount(owners, bad, minlength=found.lists.n_queries) == 0)
        if not whole.any():
            continue
        scores = np.where(whole[owners], (least + most) / 2, 0.0)
        chances = PlackettLuce().rank_distribution(scores, found.lists.lists, tally.top_k)
        result[number] = np.where(whole[owners, None], chances, counted[number])
    return result


def _pool(chances: Floats, displays: Integers, found: Assembled) -> Floats:
    """The mixture of policies by their share of each query's traffic, ``[docs, K]``."""
    shares = displays / np.maximum(displays.sum(-1, keepdims=True), 1)
    pooled: Floats = np.einsum("ld,ldk->dk", shares.T[:, found.lists.lists.owners], chances)
    return pooled
