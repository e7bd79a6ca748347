"""Expected NDCG over a test split, plain NDCG beside ir-measures, and how long a start takes."""

import subprocess
import sys
from pathlib import Path

import ir_measures
import numpy as np

from cltr.evaluation.metrics import expected_ndcg
from cltr.policies import Deterministic, PlackettLuce
from cltr.policies.rank_weights import rank_weights
from tests.benchmarks.processes import measure
from tests.benchmarks.work import Problem, random_lists


def bench_expected_ndcg(contest):
    """MSLR-WEB30k's test split: 6,000 queries of 120 documents, all of it, without the scorer."""
    dataset = random_lists(6000, 120, features=0)
    scores = np.random.default_rng(0).normal(size=dataset.n_documents)
    weights = rank_weights("dcg", 5)

    def evaluate():
        omega = PlackettLuce().expected_weights(scores, dataset.lists, weights)
        return expected_ndcg(omega, dataset.labels, dataset.lists, top_k=5).mean()

    contest("expected NDCG@5", evaluate, work="6,000 queries of 120 documents", rounds=3)


def bench_score_and_evaluate(contest):
    from cltr.training.score_documents import score

    problem = Problem(queries=1000)
    weights = rank_weights("dcg", 5)

    def evaluate():
        omega = PlackettLuce().expected_weights(
            score(problem.model, problem.dataset), problem.dataset.lists, weights
        )
        return expected_ndcg(omega, problem.dataset.labels, problem.dataset.lists, top_k=5).mean()

    contest(
        "score, expected NDCG@5",
        evaluate,
        work="1,000 queries of 120 documents, 136 features",
        rounds=3,
        scores_alone=lambda: score(problem.model, problem.dataset),
    )


def bench_ndcg_of_a_ranking(contest):
    """One deterministic ranking, linear gain; both sides have the data as they like it."""
    dataset = random_lists(300, 120, features=0)
    scores = np.random.default_rng(0).normal(size=dataset.n_documents)
    weights, lists = rank_weights("dcg", 5), dataset.lists
    owners = lists.owners.astype(str).tolist()
    names = dataset.document_ids.astype(str).tolist()
    grades = dataset.labels.astype(int).tolist()
    judged = [ir_measures.Qrel(*row) for row in zip(owners, names, grades, strict=True)]
    run = [ir_measures.ScoredDoc(*row) for row in zip(owners, names, scores, strict=True)]
    evaluator = ir_measures.evaluator([ir_measures.nDCG @ 5], judged)

    def ours() -> float:
        omega = Deterministic().expected_weights(scores, lists, weights)
        return float(expected_ndcg(omega, dataset.labels, lists, top_k=5).mean())

    def theirs() -> float:
        return evaluator.calc_aggregate(run)[ir_measures.nDCG @ 5]

    assert abs(ours() - theirs()) < 1e-9
    contest(
        "NDCG@5 of a ranking",
        ours,
        work="300 queries of 120 documents",
        rounds=3,
        **{"ir-measures": theirs},
    )


def start_cltr() -> None:
    """``cltr --help`` in a new process."""
    subprocess.run(
        [Path(sys.executable).parent / "cltr", "--help"], capture_output=True, check=True
    )


def start_python() -> None:
    """A process that imports what every command line needs."""
    subprocess.run([sys.executable, "-c", "import click"], capture_output=True, check=True)


def bench_start(contest):
    """Seconds by the wall: a child's processor time is not the parent's."""
    ours = min(measure("tests.benchmarks.bench_evaluation:start_cltr").seconds for _ in range(5))
    bare = min(measure("tests.benchmarks.bench_evaluation:start_python").seconds for _ in range(5))
    contest.done(
        stage="`cltr --help`",
        work="a new process",
        ours=ours,
        against=f"import click {1000 * bare:.0f} ms",
        ratio=ours / bare,
    )
