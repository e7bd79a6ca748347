"""A training step against the scorer alone and against the textbook, and every ranker."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from cltr.documents import Batch, Documents
from cltr.interfaces import Objective, QueryTask
from cltr.plugins import registry
from cltr.policies import Deterministic, PlackettLuce, sample_rankings
from cltr.policies.exploring import explore_weights
from cltr.policies.query_rankings import QueryRankings
from cltr.training import standardize
from cltr.training.optimum_ranker import Optimum
from cltr.types import Floats
from tests.benchmarks import textbook
from tests.benchmarks.seam import checks_of
from tests.benchmarks.work import Problem

SCALES = (0.1, 1.0, 3.0, 6.0, 40.0)
"""Flat to very peaked; 40 is where training on many clicks ends."""
QUERIES = {10: 320, 120: 64, 1000: 32}


def named(problem: Problem) -> str:
    return f"{problem.documents} documents, K={problem.top_k}, score scale {problem.scale:g}"


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("documents", [120, 1000, 10])
@pytest.mark.parametrize("ranker", ["exact", "pl-rank"])
def bench_step(contest, ranker, documents, scale):
    """The bar: forward and backward pass of an MLP 150-75 on 136 features."""
    problem = Problem(queries=QUERIES[documents], documents=documents, scale=scale)
    bars = {"exact": 2.0, "pl-rank": 2.5}
    contest(
        f"step, `{ranker}`",
        problem.train(ranker),
        work=named(problem),
        per=problem.queries,
        bar=bars[ranker] if documents > 10 else None,
        rounds=7,
        scorer_alone=problem.scorer_alone(),
        own_scorer_alone=problem.scorer_alone(fast=True),
    )


@pytest.mark.parametrize("scale", [1.0, 6.0, 40.0])
@pytest.mark.parametrize("top_k", [10, 20])
@pytest.mark.parametrize("documents", [120, 1000])
def bench_step_of_more_ranks(contest, documents, top_k, scale):
    """What a metric of more ranks costs."""
    queries = QUERIES[documents] // 2
    problem = Problem(queries=queries, documents=documents, top_k=top_k, scale=scale)
    contest(
        "step, `exact`",
        problem.train("exact"),
        work=named(problem),
        per=problem.queries,
        bar=2.0,
        rounds=5,
        scorer_alone=problem.scorer_alone(),
        own_scorer_alone=problem.scorer_alone(fast=True),
    )


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("documents", [120, 1000])
def bench_omega_error(contest, documents, scale):
    """Of what the steps above use, beside a far finer integral."""
    problem = Problem(queries=8, documents=documents, scale=scale)
    lists, fine = problem.dataset.lists, PlackettLuce(accuracy=1e-12)
    found = PlackettLuce().expected_weights(problem.scores, lists, problem.ranks)
    error = np.abs(found - fine.expected_weights(problem.scores, lists, problem.ranks)).max()
    contest.done(
        stage="error of ω",
        work=named(problem),
        ours=f"{error:.0e}",
        against="accuracy=1e-12",
        bar=1e-5,
    )
    assert error <= 1e-5


def bench_standardization(contest, monkeypatch):
    """Fitted to a few features at a time, beside all of them at once."""
    features = Problem(queries=800).dataset.features

    def at_once() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(standardize, "COLUMNS_AT_ONCE", 1000)
            standardize.fit_standardization(features)

    contest(
        "standardisation, fit",
        lambda: standardize.fit_standardization(features),
        work=f"{len(features):,} documents, 136 features",
        rounds=3,
        all_features_at_once=at_once,
    )


def bench_small_slopes(contest):
    """A step of the network where policies are so peaked that most slopes are next to nothing."""
    model, documents = Problem(queries=32).model, Documents.of(Problem(queries=32).dataset)
    one = np.random.default_rng(0).normal(size=len(documents))
    contest(
        "step of the network",
        lambda: model.step(documents, lambda scores: 1e-36 * one),
        work="3,840 documents, slopes of size 1e-36",
        slopes_of_size_1=lambda: model.step(documents, lambda scores: one),
    )


@pytest.mark.parametrize("documents", [120, 10])
def bench_seam(contest, documents):
    """The checks of what components return, as a share of the steps that they are in."""
    problem = Problem(queries=QUERIES[documents], documents=documents)
    contest(
        "checks of the seam",
        checks_of(problem),
        work=named(problem),
        per=problem.queries,
        bar=0.02,
        **{"steps,_`exact`": problem.train("exact")},
    )


@pytest.mark.parametrize(
    "ranker",
    ["reinforce", "placement", "pl-rank-2", "stochastic-rank", "lambdarank", "lambdaloss"],
)
def bench_other_rankers(contest, ranker):
    problem = Problem()
    contest(
        f"step, `{ranker}`",
        problem.train(ranker),
        work=named(problem),
        per=problem.queries,
        rounds=5,
        scorer_alone=problem.scorer_alone(),
        own_scorer_alone=problem.scorer_alone(fast=True),
    )


@pytest.mark.parametrize("stage", ["best weights", "rankings with shares"])
@pytest.mark.parametrize("documents", [120, 1000])
def bench_optimum(contest, documents, stage):
    """The best policy of every query, and its rankings, beside one exact gradient."""
    problem = Problem(queries=8, documents=documents)
    split, lists = problem.split, problem.dataset.lists
    given = (problem.estimator, split.values, split.exposure.weights, lists, problem.ranks)
    task = QueryTask(*given, split.query_weights)
    best = Optimum().query_weights(task)
    ours = {
        "best weights": lambda: Optimum().query_weights(task),
        "rankings with shares": lambda: QueryRankings.of(best, lists, problem.ranks),
    }
    beside_a_gradient(contest, f"`optimum`, {stage}", ours[stage], problem)


@pytest.mark.parametrize("stage", ["best overlap", "rankings with shares"])
@pytest.mark.parametrize("documents", [120, 1000])
def bench_explore(contest, documents, stage):
    """What `cltr explore` finds where production sorts, and its rankings, beside one gradient."""
    problem = Problem(queries=8, documents=documents)
    lists, ranks = problem.dataset.lists, problem.ranks
    production = Deterministic().expected_weights(problem.scores, lists, ranks)

    def explored() -> Floats:
        return explore_weights(production, lists, ranks, max_loss=0.01)

    weights = explored()
    ours = {
        "best overlap": explored,
        "rankings with shares": lambda: QueryRankings.of(weights, lists, ranks),
    }
    beside_a_gradient(contest, f"`explore`, {stage}", ours[stage], problem)


def beside_a_gradient(contest, stage: str, ours: Callable[[], object], problem: Problem) -> None:
    lists, rewards = problem.dataset.lists, problem.split.values
    contest(
        stage,
        ours,
        work=named(problem),
        per=problem.queries,
        rounds=5,
        one_exact_gradient=lambda: PlackettLuce().gradient(
            problem.scores, rewards, lists, problem.ranks
        ),
    )


@pytest.mark.parametrize("ranker", ["exact", "pl-rank", "reinforce"])
def bench_textbook_reinforce(contest, ranker):
    """The same step by plain REINFORCE with 1000 rankings, in torch, batch at once.

    And as the code published with the paper has it: whole rankings, two samplings, four queries.
    """
    problem = Problem(queries=32)
    contest(
        f"step, `{ranker}`",
        problem.train(ranker),
        work=named(problem),
        per=problem.queries,
        rounds=3,
        textbook_REINFORCE=textbook.Reinforce(problem).epoch(),
        **{"the_authors'_way": textbook.Reinforce(problem, as_authors=True).epoch()},
    )


@pytest.mark.parametrize("scale", [0.1, 6.0])
@pytest.mark.parametrize("documents", [120, 1000])
def bench_sampling(contest, documents, scale):
    scores = scale * np.random.default_rng(0).normal(size=(8, documents))
    mask, rng = np.ones(scores.shape, bool), np.random.default_rng(0)
    tensor = torch.from_numpy(scores).float()
    contest(
        "1000 rankings",
        lambda: sample_rankings(scores, mask, top_k=5, n_samples=1000, rng=rng),
        work=f"{documents} documents, K=5, score scale {scale:g}",
        per=8,
        rounds=5,
        **{"full-sort_Gumbel": lambda: textbook.gumbel_rankings(tensor, 1000, top_k=5)},
    )


@pytest.mark.parametrize(
    ("documents", "top_k"), [(120, 5), (120, 30), (120, 100), (1000, 30), (1000, 300)]
)
def bench_many_ranks(contest, documents, top_k):
    """The gradient alone, exact and sampled, with the samples' error."""
    problem = Problem(queries=4, documents=documents, top_k=top_k)
    (batch,) = problem.batches()
    scores = problem.scores.reshape(batch.mask.shape)
    scored = Batch(scores, batch.mask, problem.ranks)
    weights = PlackettLuce().expected_weights(scores, scored.lists, problem.ranks)
    objective = Objective(problem.estimator, weights, batch.exposure, batch.rewards, 0.0)

    def gradient(name: str):
        ranker, rng = registry().find("ranker", name)(), np.random.default_rng(0)
        return lambda: ranker.gradient(scored, objective, rng)

    exact, sampled = gradient("exact"), gradient("pl-rank")
    error = np.linalg.norm(sampled() - exact()) / np.linalg.norm(exact())
    contest(
        "gradient, `exact`",
        exact,
        work=f"{documents} documents, K={top_k}",
        per=problem.queries,
        rounds=3,
        **{f"pl-rank,_{error:.0%}_off,": sampled},
    )


def bench_torch_backend(contest):
    problem = Problem(queries=32)
    contest(
        "step, `exact` in torch",
        problem.train("exact", backend="torch"),
        work=named(problem) + ", cpu",
        per=problem.queries,
        rounds=3,
        compiled=problem.train("exact"),
    )


def bench_epoch(contest):
    """A slice of an epoch over MSLR-WEB30k's size; ``epoch.py`` does the whole."""
    problem = Problem(queries=2000)
    contest(
        "epoch, `exact`",
        problem.train("exact"),
        work="2,000 queries of 120 documents, 136 features",
        rounds=2,
        bar=2.5,
        scorer_alone=problem.scorer_alone(),
        own_scorer_alone=problem.scorer_alone(fast=True),
    )
