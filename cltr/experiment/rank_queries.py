"""Rank the documents of queries by a run's model, some whole queries at a time."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from cltr.data.disk_spool import cut_lists
from cltr.data.matched_features import MatchedFeatures
from cltr.errors import DataError, UsageError
from cltr.experiment.evaluate_run import load_production
from cltr.experiment.hand_over import SERVING
from cltr.experiment.provenance import check_data, open_data
from cltr.experiment.query_policies import rankings_by_rule, read_policies, read_rule
from cltr.experiment.run_model import RunModel
from cltr.experiment.serving_rules import stored_rankings
from cltr.interfaces import PerQuery, QueryTask
from cltr.policies import Deterministic, PlackettLuce
from cltr.policies.query_rankings import QueryRankings
from cltr.policies.rank_weights import rank_weights
from cltr.serving.rule import ServingRule
from cltr.types import Dataset, Floats


@dataclass(frozen=True)
class Candidates:
    """Documents to rank: features in the model's order, and production's scores if known."""

    run: RunModel
    features: MatchedFeatures
    production: Floats | None = None

    def __post_init__(self) -> None:
        """Refuse documents that the model cannot score."""
        inputs, dataset = self.run.inputs, self.features.dataset
        own = dataset.fingerprint == inputs.data
        path = self.run.folder.path
        if inputs.own_documents and not own:
            raise UsageError(
                f"{path}: the scorer '{self.run.components.scorer.name}' knows the documents of "
                f"its own data set only, and '{dataset.name}' is another; leave out --data"
            )
        if inputs.production and inputs.matched and not own:
            raise UsageError(
                f"{path}: the model adds to scores that were matched to how often production "
                "showed documents, and new queries have no such scores; train on a log with "
                "production's scores (cltr ingest --production)"
            )

    @classmethod
    def own(cls, run: RunModel, given: Dataset | None = None) -> "Candidates":
        """The documents of the run's own data set.

        Args:
            run: whose model.
            given: that data set, where it is open; else it is found by its name in the run.
        """
        config = run.config
        if given is None:
            config, given = open_data(config)
        dataset = given
        check_data(run.folder, config, dataset)
        known = load_production(config, run.folder, dataset, elsewhere=False)
        scores = known.scores
        if scores is None and run.inputs.production:
            scores = known.start(dataset, config.top_k)
        return cls(run, MatchedFeatures(dataset, None), scores)

    @cached_property
    def stored(self) -> QueryRankings | None:
        """Rankings of all queries, where these are the run's own and it has stored them."""
        dataset = self.features.dataset
        if dataset.fingerprint != self.run.inputs.data:
            return None
        own = read_policies(self.run.folder, dataset)
        return None if own is None else own.rankings

    def parts(self) -> Iterator["RankedPart"]:
        """Whole queries, as many as fit a block, with their scores."""
        dataset, run = self.features.dataset, self.run
        normalized = run.is_normalized(dataset)
        weights = rank_weights("dcg", run.config.top_k)
        for first, last in cut_lists(dataset.lists.lengths, max(dataset.n_features, 16)):
            part = dataset.queries(first, last)
            begin = int(dataset.offsets[first] - dataset.offsets[0])
            rows = slice(begin, begin + part.n_documents)
            production = None if self.production is None else self.production[rows]
            documents = run.prepared(
                self.features.of(part),
                part.offsets,
                production=production,
                normalized=normalized,
                first_row=part.first_document,
            )
            scores = run.scores(documents)
            omega = run.policy.expected_weights(scores, part.lists, weights)
            own = self._rankings(part, (first, last), scores, production)
            if own is not None:
                stored = np.repeat(own.known, part.lists.lengths)
                omega = np.where(stored, own.weights(part.lists, weights), omega)
            yield RankedPart(part, scores, omega, production, own)

    def _rankings(
        self, part: Dataset, queries: tuple[int, int], scores: Floats, production: Floats | None
    ) -> QueryRankings | None:
        """Rankings of queries that have a policy of their own, stored or by the run's rule."""
        run = self.run
        if self.stored is not None:
            return self.stored.queries(*queries)
        rule = read_rule(run.folder)
        if rule is None or production is None:
            return None
        estimator, weights = run.estimator, rank_weights("dcg", run.config.top_k)
        assert isinstance(estimator, PerQuery)
        policy = PlackettLuce() if run.rule.production == "sampled" else Deterministic()
        old = policy.expected_weights(production, part.lists, weights)
        task = QueryTask(estimator, old, old, part.lists, weights, np.ones(part.n_queries))
        return rankings_by_rule(estimator, rule, scores, task)


@dataclass(frozen=True)
class RankedPart:
    """Some queries with the scores of their documents."""

    dataset: Dataset
    scores: Floats
    weights: Floats
    """Expected DCG weights under the run's policy."""
    production: Floats | None
    rankings: QueryRankings | None = None
    """Of queries that have a policy of their own."""

    def table(self, shares: Mapping[str, float] | None, share: float) -> Any:
        """A row for each document, each query's by falling score, equal ones by document id.

        Documents of a query with a policy of its own come by falling weight first.

        Args:
            shares: of the new ranker by query; None leaves the column out.
            share: of the new ranker in other queries.
        """
        import pyarrow

        part, lists = self.dataset, self.dataset.lists
        documents, queries = part.document_ids.astype(str), part.query_ids.astype(str)
        first = np.zeros(part.n_documents)
        if self.rankings is not None:
            first = np.repeat(self.rankings.known, lists.lengths) * self.weights
        order = np.lexsort((documents, -self.scores, -first, lists.owners))
        columns = {
            "query": np.repeat(queries, lists.lengths),
            "document": documents[order],
            "rank": lists.places + 1,
            "score": self.scores[order],
            "weight": self.weights[order],
        }
        if shares is not None:
            known = np.array([shares.get(query, share) for query in queries.tolist()])
            columns["share"] = np.repeat(known, lists.lengths)
        return pyarrow.table(columns, schema=schema(shares=shares is not None))

    def of_queries(self) -> Iterator[tuple[str, dict[str, float], dict[str, float] | None]]:
        """Each query's scores by document: those of the run, and production's where known."""
        offsets = self.dataset.offsets.tolist()
        documents = self.dataset.document_ids.astype(str).tolist()
        new = self.scores.tolist()
        old = None if self.production is None else self.production.tolist()
        for number, query in enumerate(self.dataset.query_ids.astype(str).tolist()):
            rows = slice(offsets[number], offsets[number + 1])
            names = documents[rows]
            production = None if old is None else dict(zip(names, old[rows], strict=True))
            yield query, dict(zip(names, new[rows], strict=True)), production


def schema(*, shares: bool) -> Any:
    """Columns of rankings by score."""
    import pyarrow

    text, number = pyarrow.string(), pyarrow.float64()
    columns = [("query", text), ("document", text), ("rank", pyarrow.int64())]
    columns += [("score", number), ("weight", number)]
    return pyarrow.schema([*columns, *([("share", number)] if shares else [])])


def ranked(candidates: Candidates) -> tuple[Any, Iterator[Any]]:
    """All documents with score, rank and expected weight: the schema, and tables block by block."""
    run = candidates.run
    rule = run.rule if (run.folder.path / SERVING).exists() else None
    shares = rule.shares if rule is not None and (rule.shares or rule.share < 1) else None
    share = 1.0 if rule is None else rule.share
    tables = (part.table(shares, share) for part in candidates.parts())
    return schema(shares=shares is not None), tables


def served(
    candidates: Candidates, requests: Mapping[str, Sequence[str]]
) -> tuple[Any, Iterator[Any]]:
    """What requests get by the run's serving rule: the schema, and tables block by block.

    Args:
        candidates: of all queries.
        requests: their ids by query.
    """
    import pyarrow

    text = pyarrow.string()
    columns = pyarrow.schema(
        {
            "request": text,
            "query": text,
            "arm": text,
            "share": pyarrow.float64(),
            "rank": pyarrow.int64(),
            "document": text,
        }
    )
    dataset = candidates.features.dataset
    known = {*dataset.query_ids.astype(str).tolist()}
    unknown = next((query for query in requests if query not in known), None)
    if unknown is not None:
        raise DataError(f"a request is for query '{unknown}', which has no documents in the data")
    parts = candidates.parts()
    tables = (pyarrow.table(_serve(candidates.run, p, requests), schema=columns) for p in parts)
    return columns, tables


def _serve(
    run: RunModel, part: RankedPart, requests: Mapping[str, Sequence[str]]
) -> dict[str, list[Any]]:
    rule = _with_rankings(run, part)
    rows: list[tuple[Any, ...]] = []
    for query, new, production in part.of_queries():
        asked = requests.get(query, ())
        if asked and production is None and rule.share_of(query) < 1:
            raise UsageError(
                f"query '{query}': the new ranker gets {rule.share_of(query):.0%} of its requests "
                "and production the rest, so production's scores are needed (--production)"
            )
        for request in asked:
            got = rule.serve(request, query, new=new, production=production or new)
            rows += [
                (request, query, got.arm, got.share, rank, document)
                for rank, document in enumerate(got.shown, start=1)
            ]
    names = ("request", "query", "arm", "share", "rank", "document")
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def _with_rankings(run: RunModel, part: RankedPart) -> ServingRule:
    """The run's rule, with the rankings of queries that it does not know."""
    rule = run.rule
    if part.rankings is None:
        return rule
    share = float(run.folder.read_json("result.json")["advice"]["share"])
    found = dict(stored_rankings(part.rankings, part.dataset))
    new = {query: stored for query, stored in found.items() if query not in rule.rankings}
    return replace(
        rule,
        rankings={**rule.rankings, **new},
        shares={**dict.fromkeys(new, share), **rule.shares},
    )
