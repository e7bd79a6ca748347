"""A ranker from anywhere as a policy: its scores matched to a data set's documents, and completed.

A table need not fit the lists of the log. What does not fit is counted, and one rule completes it:

- A document without a score ranks below all documents of its query that have one; several such
  documents stand in production's order.
- A query without any score is served by production.
- Rows with a query or a document that the log does not know are left out.
- Equal scores stand in production's order when rankings are sorted.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from cltr.errors import DataError, UsageError
from cltr.files.table_files import workspace
from cltr.logs.score_files import create_scores, listed_documents, scores_given
from cltr.policies import Deterministic, PlackettLuce
from cltr.policies.on_dataset import CountedPolicy, Mixture, ScoredPolicy
from cltr.policies.rank_weights import rank_weights
from cltr.types import Dataset, Floats, Integers, Lists

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

Serve: TypeAlias = Literal["sorted", "sampled"]
"""Rankings sorted by score, or drawn by Plackett-Luce with the scores as logits."""
BELOW = 30.0
"""How far below the lowest score of its query a document without one is placed. Drawn by
Plackett-Luce it comes first with a chance of less than 1e-13."""


@dataclass(frozen=True)
class ScoreReport:
    """How a table of scores fits the lists of a log."""

    rows: int
    """Query-document pairs in the table."""
    matched: int
    """Pairs that the log knows."""
    unknown_queries: int
    """Queries of the table that the log does not know; their rows are left out."""
    unknown_documents: int
    """Pairs of a known query whose document the log does not know; left out."""
    missing_documents: int
    """Documents without a score in queries that have scores; ranked last."""
    unscored_queries: int
    """Queries of the log without any score; production serves them."""
    tied_documents: int
    """Documents whose score another document of their query has too."""
    n_documents: int
    n_queries: int
    guessed: str = ""
    """The column of the scores, where it is the only one with numbers and has another name."""

    def sentences(self) -> list[str]:
        """What did not fit, and what was done about it."""
        told = {
            f"{self.missing_documents:,} of {self.n_documents:,} documents have no score; they "
            "rank below the scored documents of their query, in production's order": (
                self.missing_documents
            ),
            f"{self.unscored_queries:,} of {self.n_queries:,} queries have no score; production "
            "serves them": self.unscored_queries,
            f"{self.unknown_queries:,} queries of the table are not in the log; they are left "
            "out": self.unknown_queries,
            f"{self.unknown_documents:,} of {self.rows:,} rows have a document that the log does "
            "not know for their query; they are left out, so serve the candidate without them": (
                self.unknown_documents
            ),
            f"{self.tied_documents:,} documents share their score with another one of their "
            "query; sorted, they stand in production's order": self.tied_documents,
            f"The scores are those of the column '{self.guessed}', the only other one with "
            "numbers": len(self.guessed),
        }
        return [f"{sentence}." for sentence, number in told.items() if number]

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True)
class GivenScores:
    """Scores of a table on the documents of a log."""

    scores: Floats
    """``[docs]``; NaN where none was given."""
    ranked: bool
    """Whether the table gave ranks; the scores are then minus the ranks."""
    report: ScoreReport


def check_scores(path: Path, *, score_column: str = "") -> None:
    """Refuse a file that is no table of scores or ranks, and no TREC run."""
    with workspace() as connection:
        create_scores(connection, path, candidate=True, score_column=score_column)


def read_candidate(path: Path, dataset: Dataset, *, score_column: str = "") -> GivenScores:
    """Read a table of scores or ranks, or a TREC run, and match it to a data set.

    Args:
        path: Parquet, CSV, TSV, JSON lines or a TREC run.
        dataset: the lists of the log.
        score_column: the column of the scores; by default it is found.
    """
    with workspace() as connection:
        taken = create_scores(connection, path, candidate=True, score_column=score_column)
        scores = scores_given(connection, dataset)
        with listed_documents(connection, dataset):
            known = "SELECT DISTINCT query FROM given"
            rows, known_rows, unknown = connection.execute(
                f"SELECT count(*), count_if(query IN ({known})), "
                f"count(DISTINCT query) FILTER (query NOT IN ({known})) FROM production"
            ).fetchall()[0]
            if np.isnan(scores).all():
                raise DataError(f"{path}: {_nothing_known(connection, rows)}")
    given = ~np.isnan(scores)
    in_query = dataset.lists.sum(given.astype(np.float64)) > 0
    missing = ~given & np.repeat(in_query, dataset.lists.lengths)
    report = ScoreReport(
        rows=int(rows),
        matched=int(given.sum()),
        unknown_queries=int(unknown),
        unknown_documents=int(known_rows) - int(given.sum()),
        missing_documents=int(missing.sum()),
        unscored_queries=int((~in_query & (dataset.lists.lengths > 0)).sum()),
        tied_documents=_tied(scores, dataset.lists),
        n_documents=dataset.n_documents,
        n_queries=dataset.n_queries,
        guessed=taken.guessed,
    )
    return GivenScores(scores, taken.ranked, report)


def _nothing_known(connection: "Connection", rows: int) -> str:
    """That a table has no row of the log, with a row of each side, and what may be behind it."""
    sides = (
        connection.execute(f"SELECT query, document FROM {table} LIMIT 1").fetchall()[0]
        for table in ("production", "given")
    )
    mine, logged = (f"query '{query}' and document '{document}'" for query, document in sides)
    swapped = connection.execute(
        "SELECT count(*) FROM production JOIN given ON production.query = given.document "
        "AND production.document = given.query"
    ).fetchall()[0][0]
    why = "expected the query and document ids that were ingested"
    if swapped:
        why = "query and document look swapped"
    return (
        f"none of its {rows:,} rows is a query and document of the log; it has {mine}, the log has "
        f"{logged}; {why}"
    )


def _tied(scores: Floats, lists: Lists) -> int:
    """Documents whose score another document of their query has too."""
    given = ~np.isnan(scores)
    pairs = np.stack([lists.owners[given].astype(np.float64), scores[given]])
    _, counts = np.unique(pairs, axis=1, return_counts=True)
    return int(counts[counts > 1].sum())


def serve_scores(
    scores: Floats, production: ScoredPolicy | CountedPolicy, *, serve: Serve, ranked: bool = False
) -> Mixture:
    """What users get from a table of scores; production serves queries without any.

    Args:
        scores: of the documents of one split, ``[docs]``; NaN where none was given.
        production: on that split.
        serve: sorted by score, or drawn.
        ranked: whether the scores were made of ranks, which nothing can be drawn from.
    """
    if serve == "sampled" and ranked:
        raise UsageError("--serve sampled draws rankings by their scores; the table has ranks only")
    lists = production.dataset.lists
    order = _places(production)
    scored = lists.sum((~np.isnan(scores)).astype(np.float64)) > 0
    complete = _complete(scores, order, lists)
    if serve == "sorted":
        complete = -_ranks(complete, order, lists).astype(np.float64)
    policy = Deterministic() if serve == "sorted" else PlackettLuce()
    new = ScoredPolicy(production.dataset, complete, policy)
    return Mixture(new, production, scored.astype(np.float64))


def _places(production: ScoredPolicy | CountedPolicy) -> Integers:
    """Each document's place in production's order, from 0: by its score or expected weight."""
    if isinstance(production, ScoredPolicy):
        values = production.scores
    else:
        values = production.weights(rank_weights("dcg", production.rank_distribution.shape[1]))
    return _ranks(values, production.dataset.lists.places, production.dataset.lists)


def _ranks(scores: Floats, ties: Integers, lists: Lists) -> Integers:
    """Ranks by falling score, from 0, ``[docs]``; ``ties`` orders equal scores."""
    order = np.lexsort((ties, -scores, lists.owners))
    ranks = np.empty(len(scores), np.int64)
    ranks[order] = lists.places
    return ranks


def _complete(scores: Floats, order: Integers, lists: Lists) -> Floats:
    """Scores with those that are missing placed below the others, in production's order."""
    missing = np.isnan(scores)
    lowest = np.full(len(lists.lengths), np.inf)
    np.minimum.at(lowest, lists.owners[~missing], scores[~missing])
    lowest = np.where(np.isfinite(lowest), lowest, 0.0)
    below = np.repeat(lowest, lists.lengths) - BELOW - order
    complete: Floats = np.where(missing, below, scores)
    return complete


def reference_policies(production: ScoredPolicy | CountedPolicy) -> dict[str, Mixture]:
    """Rankers to compare a candidate with: production sorted, and any order with equal chance."""
    dataset = production.dataset
    ranks = _places(production).astype(np.float64)
    ones = np.ones(dataset.n_queries)
    sorted_ = ScoredPolicy(dataset, -ranks, Deterministic())
    uniform = ScoredPolicy(dataset, np.zeros(dataset.n_documents), PlackettLuce())
    return {
        "production, sorted": Mixture(sorted_, production, ones),
        "uniform": Mixture(uniform, production, ones),
    }


def unchanged(production: ScoredPolicy | CountedPolicy) -> Mixture:
    """Production itself as a candidate."""
    zero = np.zeros(production.dataset.n_documents)
    new = ScoredPolicy(production.dataset, zero, PlackettLuce())
    return Mixture(new, production, np.zeros(production.dataset.n_queries))
