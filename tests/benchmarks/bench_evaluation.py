"""Expected NDCG over a test split, plain NDCG beside ir-measures, and how long a start takes."""

import ir_measures
import numpy as np

from cltr.evaluation.estimators import ips_terms
from cltr.evaluation.metrics import expected_ndcg
from cltr.experiment.candidates import CandidateRanker
from cltr.experiment.judge_candidates import judge_candidate, weigh
from cltr.experiment.judged_log import log_config, open_judged_log
from cltr.policies import Deterministic, PlackettLuce
from cltr.policies.rank_weights import rank_weights
from tests.benchmarks.processes import measure
from tests.benchmarks.starts import import_seconds, train_seconds
from tests.benchmarks.work import Problem, random_lists
from tests.gate_rates import World, serve


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


def bench_score_in_blocks(contest):
    """Scoring in blocks, beside the same network by torch on 65,536 rows at once."""
    import torch

    from cltr.training.score_documents import score

    problem = Problem(queries=1000)
    features = torch.from_numpy(problem.dataset.features)

    def at_once() -> np.ndarray:
        with torch.inference_mode():
            parts = [problem.model.module.layers(part) for part in features.split(65_536)]
            return torch.cat(parts).squeeze(-1).numpy().astype(np.float64)

    np.testing.assert_allclose(score(problem.model, problem.dataset), at_once(), atol=1e-5)
    contest(
        "score",
        lambda: score(problem.model, problem.dataset),
        work="1,000 queries of 120 documents, 136 features",
        rounds=5,
        **{"65,536_rows_at_once": at_once},
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


def a_million(folder):
    """A log of a million interactions, a candidate, and IPS with its error in bare numpy."""
    world = World("trust-bias", "even")
    world.write_log(folder / "log.h5", 1_000_000, seed=0)
    config = log_config(folder / "log.h5", click_model="trust-bias")
    judged = open_judged_log(config, clicks="all")
    candidate = CandidateRanker("better", serve(judged, world.candidates["better"]), "")
    parts = [
        (one.fold.held_out, one.difference(one.fold.held_out)) for one in weigh(judged, candidate)
    ]

    def bare() -> tuple[float, float]:
        terms = np.concatenate(
            [
                (
                    (differences / part.exposure.propensities)[part.units.documents]
                    * (part.units.clicks - part.affine.trust)
                ).sum(1)
                for part, differences in parts
            ]
        )
        return float(terms.mean()), float(terms.std(ddof=1) / np.sqrt(len(terms)))

    return judged, candidate, bare


def bench_one_candidate(contest, tmp_path):
    """All that the gate computes about a candidate, beside IPS and its error in bare numpy.

    Both have the interactions in memory. The log is judged as a whole, in three folds.
    """
    judged, candidate, bare = a_million(tmp_path)

    def ours() -> tuple[float, float]:
        row = judge_candidate(judged, candidate).rows[0]
        return row.difference, row.error or 0.0

    assert np.allclose(ours(), bare(), rtol=1e-6)
    work = "1,000,000 interactions of 5 documents"
    contest("one candidate, all that `gate` computes", ours, work=work, rounds=3, IPS_in_numpy=bare)


def bench_ips(contest, tmp_path):
    """IPS and its error alone, from the same interactions."""
    judged, candidate, bare = a_million(tmp_path)
    weights = weigh(judged, candidate)

    def ours() -> tuple[float, float]:
        terms = np.concatenate(
            [ips_terms(one.fold.held_out, one.difference(one.fold.held_out)) for one in weights]
        )
        return float(terms.mean()), judged.dependence.error(terms, np.ones(len(terms))) or 0.0

    assert np.allclose(ours(), bare(), rtol=1e-6)
    work = "1,000,000 interactions of 5 documents"
    contest("one candidate, IPS", ours, work=work, rounds=3, IPS_in_numpy=bare)


def bench_start(contest):
    """Seconds by the wall: a child's processor time is not the parent's."""
    ours = min(measure("tests.benchmarks.starts:cltr").seconds for _ in range(5))
    bare = min(measure("tests.benchmarks.starts:python").seconds for _ in range(5))
    contest.done(
        stage="`cltr --help`",
        work="a new process",
        ours=ours,
        against=f"import click {1000 * bare:.0f} ms",
        ratio=ours / bare,
    )


def bench_train_start(contest):
    """From nothing to a verdict on the demo, and the end of the process: processor time."""
    peak = measure("tests.benchmarks.starts:train_once").peak  # compiles what is not compiled yet
    turns = [(train_seconds(), import_seconds()) for _ in range(4)][1:]  # the first keeps bytecode
    ours, bare = map(min, zip(*turns, strict=True))
    contest.done(
        stage="`cltr train`, start",
        work="a whole process, demo, one epoch of everything",
        ours=ours,
        against=f"import torch, numba {bare:.2f} s",
        ratio=ours / bare,
        peak=peak,
    )
