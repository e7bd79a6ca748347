r"""Exposure from the records of a served log: by query, part of the log and rank.

For each request i the probability to show document d at rank k is known, also of documents that
were not shown:

.. math:: P_i(d, k) = \lambda_i P_{\text{new},i}(d, k) + (1 - \lambda_i) P_{\text{prod},i}(d, k),

or that of the team draft where the request was interleaved. A query's exposure is its mean over the
query's requests; over those of one part of the log for that part, since shares and rankers change
while a log grows.
"""

import json
from hashlib import md5
from typing import Any

import numpy as np

from cltr.errors import DataError
from cltr.files.table_files import arrays
from cltr.logs.count_arrays import Assembled
from cltr.logs.id_coding import Tally
from cltr.logs.logged_chances import LoggedChances
from cltr.logs.score_files import listed_documents, scores_given
from cltr.logs.served_format import STORED, record_tables
from cltr.policies import Deterministic, PlackettLuce
from cltr.policies.team_draft import Drafter, team_draft
from cltr.types import LOG_PARTS, Floats, Lists

CELLS, DISPLAYS = "served_cells", "served_displays"
"""Tables of a connection: sums of probabilities by document and rank, requests by query."""
POLICIES = {"sampled": PlackettLuce(), "sorted": Deterministic()}
AT_ONCE = 5_000
"""Different requests whose probabilities are computed together."""
DRAWS = 4_096
"""Draws of a query's interleaved rankings, shared among its different requests."""
PARTS = tuple(f"n{number}" for number in range(len(LOG_PARTS)))
"""Columns of how many requests are in each part of the log."""
Row = dict[str, Any]


def offer_candidates(tally: Tally) -> bool:
    """A table ``production`` of all candidates in the records, with production's scores of them.

    Returns:
        Whether the log has such records.
    """
    tables = record_tables(tally.connection)
    if not tables:
        return False
    kinds = f"SELECT DISTINCT query, documents, production FROM ({_union(tables)})"
    tally.connection.execute(
        "CREATE OR REPLACE TABLE production AS SELECT query, document, min(score) AS score, "
        "max(score) AS other FROM (SELECT query, unnest(documents) AS document, "
        f"unnest(production) AS score FROM ({kinds})) GROUP BY ALL"
    )
    return True


def served_scores(tally: Tally, found: Assembled) -> Floats | None:
    """Production's scores in the records, ``[docs]``, if every document has one and the same."""
    scores = scores_given(tally.connection, found.lists)
    tolerance = "1e-6 * greatest(1.0, abs(score))"
    (varying,) = tally.row(f"SELECT count(*) FROM production WHERE other - score > {tolerance}")
    missing = int(np.isnan(scores).sum())
    tally.problems.found("varying-scores", varying)
    tally.problems.found("missing-scores", missing)
    return None if varying or missing else scores


def served_chances(tally: Tally, found: Assembled) -> LoggedChances | None:
    """Exposure from the records of a served log; None if the log is of another kind."""
    tables = record_tables(tally.connection)
    if not tables:
        return None
    records = _union(tables)
    (lacking,) = tally.row(
        f"SELECT count(*) FROM ({records}) WHERE orders[1] = '{STORED}' AND rankings IS NULL"
    )
    if lacking:
        why = f"{lacking:,} records name stored rankings and do not have them ('rankings')"
        return LoggedChances(notes=(f"exposure is counted: {why}",))
    drawn = _sum_chances(tally, records)
    whole, parts = _arrays(tally, found)
    notes = (
        f"exposure of {drawn:,} interleaved requests with sampled rankings is the mean of "
        f"{DRAWS:,} draws a query; all other exposure is exact",
    )
    return LoggedChances(whole, parts, notes=notes if drawn else ())


def _union(tables: list[str]) -> str:
    return " UNION ALL ".join(f"SELECT * FROM {table}" for table in tables)


def _sum_chances(tally: Tally, records: str) -> int:
    """Fill the tables; the number of interleaved requests whose rankings were drawn."""
    connection = tally.connection
    sums = ", ".join(f"{part} DOUBLE" for part in PARTS)
    connection.execute(
        f"CREATE TABLE {CELLS} (query VARCHAR, document VARCHAR, rank BIGINT, {sums}); "
        f"CREATE TABLE {DISPLAYS} (query VARCHAR, {sums})"
    )
    key = tally.hash_of("query", "request")
    counted = f"SELECT key, min(part) AS part FROM {tally.table} WHERE {tally.usable} GROUP BY key"
    ns = ", ".join(f"count_if(part = {number}) AS {name}" for number, name in enumerate(PARTS))
    connection.execute(
        "CREATE TABLE served_kinds AS SELECT *, sum(n) OVER (PARTITION BY query, mixed) AS asked "
        "FROM (SELECT query, arm = 'interleaved' AS mixed, share, orders, documents, new, "
        f"production, len(shown) AS places, rankings, {ns}, count(*) AS n FROM "
        f"(SELECT *, {key} AS key FROM ({records})) JOIN ({counted}) USING (key) GROUP BY ALL)"
    )
    connection.execute(
        f"INSERT INTO {DISPLAYS} SELECT query, {', '.join(f'sum({part})' for part in PARTS)} "
        "FROM served_kinds GROUP BY query"
    )
    added = ", ".join(f"sum({part})" for part in PARTS)
    for batch in connection.cursor().sql("SELECT * FROM served_kinds").to_arrow_reader(AT_ONCE):
        connection.register("served_part", _cells(batch.to_pylist(), tally.top_k))
        connection.execute(
            f"INSERT INTO {CELLS} SELECT query, document, rank, {added} FROM served_part GROUP BY "
            "ALL"
        )
        connection.unregister("served_part")
    (drawn,) = tally.row(
        "SELECT coalesce(sum(n), 0)::BIGINT FROM served_kinds WHERE mixed AND "
        "(orders[1] <> 'sorted' OR orders[2] <> 'sorted')"
    )
    return int(drawn)


def _cells(rows: list[Row], top_k: int) -> Any:
    """Probabilities of each document at each rank, times the number of such requests."""
    import pyarrow

    lengths = np.array([len(row["documents"]) for row in rows], np.int64)
    lists = Lists.of_offsets(np.concatenate([[0], np.cumsum(lengths)]))
    chances = _chances(rows, lists, top_k)
    documents, ranks = np.nonzero(chances)
    names = np.array([one for row in rows for one in row["documents"]], object)
    owners = lists.owners[documents]
    queries = np.array([row["query"] for row in rows], object)
    counts = {part: np.array([row[part] for row in rows], np.float64)[owners] for part in PARTS}
    text = pyarrow.string()
    return pyarrow.table(
        {
            "query": pyarrow.array(queries[owners], text),
            "document": pyarrow.array(names[documents], text),
            "rank": ranks + 1,
            **{part: n * chances[documents, ranks] for part, n in counts.items()},
        }
    )


def _chances(rows: list[Row], lists: Lists, top_k: int) -> Floats:
    """P(rank(d) = k) of each kind of request, ``[docs, top_k]``; 0 beyond what it shows."""
    share = np.repeat([row["share"] for row in rows], lists.lengths)[:, None]
    new, production = (_by_policy(rows, number, lists, top_k) for number in (0, 1))
    chances: Floats = share * new + (1 - share) * production
    for row, begin in zip(rows, lists.starts, strict=True):
        if row["mixed"]:
            chances[begin : begin + len(row["documents"])] = _drafted(row, top_k)
    places = np.repeat([row["places"] for row in rows], lists.lengths)
    return np.asarray(np.where(np.arange(top_k) < places[:, None], chances, 0.0))


def _by_policy(rows: list[Row], ranker: int, lists: Lists, top_k: int) -> Floats:
    """P(rank(d) = k) by one of the two rankers, ``[docs, top_k]``."""
    scores = np.concatenate([np.asarray(_scores(row, ranker)) for row in rows])
    orders = np.repeat([row["orders"][ranker] for row in rows], lists.lengths)
    names = np.array([one for row in rows for one in row["documents"]])
    found = np.zeros((len(scores), top_k))
    for name, policy in POLICIES.items():
        if (orders == name).any():
            values = _untied(scores, names, lists) if name == "sorted" else scores
            chosen = policy.rank_distribution(values, lists, top_k)
            found = np.where((orders == name)[:, None], chosen, found)
    for row, begin in zip(rows, lists.starts, strict=True):
        if row["orders"][ranker] == STORED:
            stored = _drafter(row, ranker)
            at = stored.keys[:, :, None] == np.arange(top_k)
            found[begin : begin + len(row["documents"])] = np.einsum("r,rdk->dk", stored.shares, at)
    return found


def _untied(scores: Floats, names: Any, lists: Lists) -> Floats:
    """Scores that sort alike, where ties go by document id."""
    order = np.lexsort((names, -scores, lists.owners))
    values = np.empty(len(scores))
    values[order] = -lists.places.astype(np.float64)
    return values


def _scores(row: Row, ranker: int) -> list[float]:
    scores: list[float] = row["new" if ranker == 0 else "production"]
    return scores


def _drafted(row: Row, top_k: int) -> Floats:
    """P(rank(d) = k) of an interleaved request."""
    places = min(row["places"], top_k)
    seed = int(md5(repr(sorted(row.items())).encode(), usedforsecurity=False).hexdigest()[:15], 16)
    found = np.zeros((len(row["documents"]), top_k))
    found[:, :places] = team_draft(
        _drafter(row, 0),
        _drafter(row, 1),
        top_k=places,
        n_draws=int(np.clip(np.ceil(DRAWS * row["n"] / row["asked"]), 64, DRAWS)),
        seed=seed,
    )
    return found


def _drafter(row: Row, ranker: int) -> Drafter:
    scores, order = np.array(_scores(row, ranker)), row["orders"][ranker]
    if order == "sampled":
        return Drafter(scores[None], np.ones(1), samples=True)
    names = row["documents"]
    ranking = sorted(range(len(names)), key=lambda one: (-scores[one], names[one]))
    if order == "sorted":
        return Drafter(_places([ranking]), np.ones(1))
    numbers = {name: number for number, name in enumerate(names)}
    rankings, shares = [], []
    for stored in json.loads(row["rankings"]):
        known = dict.fromkeys(numbers[one] for one in stored["documents"] if one in numbers)
        rankings.append([*known, *(one for one in ranking if one not in known)])
        shares.append(float(stored["share"]))
    if not abs(sum(shares) - 1) <= 1e-6:
        raise DataError(
            f"a record of query '{row['query']}' has stored rankings whose shares add up to "
            f"{sum(shares):g}, not 1"
        )
    return Drafter(_places(rankings), np.array(shares) / sum(shares))


def _places(rankings: list[list[int]]) -> Floats:
    """Where each ranking has each document, from 0, ``[rankings, docs]``."""
    return np.argsort(np.array(rankings), axis=1).astype(np.float64)


def _arrays(tally: Tally, found: Assembled) -> tuple[Floats, dict[str, Floats]]:
    """The mean over all requests, and over those of each part where they differ."""
    lists = found.lists
    columns = ", ".join(f"sum({part}) AS {part}" for part in PARTS)
    with listed_documents(tally.connection, lists):
        cells = arrays(
            tally.connection,
            f"SELECT row, rank, {columns} FROM {CELLS} JOIN given USING (query, document) "
            f"WHERE rank <= {int(tally.top_k)} GROUP BY row, rank",
        )
        displays = arrays(
            tally.connection,
            f"SELECT row, {', '.join(PARTS)} FROM given JOIN {DISPLAYS} USING (query)",
        )
    sums = np.zeros((len(PARTS), lists.n_documents, tally.top_k))
    asked = np.zeros((len(PARTS), lists.n_documents, 1))
    at = np.asarray(cells["row"], np.int64), np.asarray(cells["rank"], np.int64) - 1
    for number, part in enumerate(PARTS):
        sums[number][at] = np.asarray(cells[part])
        asked[number][np.asarray(displays["row"], np.int64), 0] = np.asarray(displays[part])
    whole = np.clip(sums.sum(0) / np.maximum(asked.sum(0), 1), 0.0, 1.0)
    # A query that was not asked in a part has no exposure there; it keeps that of the log.
    parts = np.where(asked > 0, np.clip(sums / np.maximum(asked, 1), 0.0, 1.0), whole)
    if not found.places.shared or np.abs(parts - whole).max(initial=0.0) < 1e-12:
        return whole, {}
    return whole, {
        part: parts[number] for number, part in enumerate(LOG_PARTS) if asked[number].any()
    }
