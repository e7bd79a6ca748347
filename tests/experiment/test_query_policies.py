"""Guards: rankings of single queries are certified, stored, read back and served as they are."""

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from rich.text import Text

import cltr
from cltr.errors import DataError
from cltr.experiment import train_run
from cltr.experiment.config import resolve
from cltr.experiment.evaluate_run import evaluate
from cltr.experiment.experiment import Experiment
from cltr.experiment.query_policies import RANKINGS, RULE, read_policies
from cltr.experiment.run_folder import RunFolder
from cltr.experiment.serving_rules import serving_rule
from cltr.files.arrays import read_arrays, write_arrays
from cltr.plugins import registry
from cltr.policies import PlackettLuce
from cltr.policies.rank_weights import rank_weights
from cltr.policies.worst_losses import ndcg_losses
from cltr.report.run_tables import result_tables
from cltr.serving.rule import ServingRule
from cltr.testing import tiny_dataset
from tests import small

DATA = tiny_dataset(40)
BUDGET = {"name": "budget", "loss": "2%"}


@pytest.fixture(autouse=True)
def data(monkeypatch):
    monkeypatch.setattr("cltr.data.loading.load_dataset", lambda name: DATA)


@pytest.fixture
def run(tmp_path):
    config = small.config(estimator=BUDGET, training={"epochs": 5, "learning_rate": 0.05})
    return train_run.train(config, out=tmp_path / "run"), tmp_path / "run"


def loss(result, split: str, what: str = "loss") -> float:
    return result["certificate"][split]["worst_case"]["ndcg@5"][what]


def learn(**values) -> tuple[Experiment, object, dict]:
    experiment = Experiment.simulated(small.config(**values), dataset=DATA)
    rewards = experiment.reward(experiment.simulate())
    return experiment, experiment.learn(rewards), rewards


def test_the_certificate_is_within_the_budget_and_nearly_all_of_it_is_spent(run):
    result, _ = run
    assert 0.0199 < loss(result, "train") <= 0.02
    assert loss(result, "train", "largest_query") > 0.02  # some queries lose more than the mean
    assert 0 < loss(result, "test", "largest_query") <= 0.02  # each alone
    policy, production = (result["metrics"][who] for who in ("policy", "production"))
    assert policy["train_ndcg@5"] > production["train_ndcg@5"]


def test_a_limit_on_single_queries_is_kept(tmp_path):
    estimator = {**BUDGET, "loss_per_query": 0.05}
    result = train_run.train(small.config(estimator=estimator), out=tmp_path / "run")
    assert 0.02 < loss(result, "train", "largest_query") <= 0.05
    assert loss(result, "train") <= 0.02


def test_evaluate_reads_the_rankings_and_confirms_the_certificate(run):
    result, path = run
    again = evaluate(path)
    assert again["certificate"] == result["certificate"]
    assert again["metrics"] == result["metrics"]
    assert (again["alerts"], again["certificate_confirmed"]) == ([], True)
    said, before = (
        " ".join(line.plain for line in result_tables(one) if isinstance(line, Text))
        for one in (again, result)
    )
    assert "Confirmed: computed again from the files of the run, the worst case of test" in said
    assert "Confirmed" not in before
    blended = evaluate(path, blend_to_loss=0.01)
    assert loss(blended, "train") == pytest.approx(0.01)
    assert "certificate_confirmed" not in blended


def test_changed_rankings_are_noticed(run):
    _, path = run
    arrays = {name: value.copy() for name, value in read_arrays(path / RANKINGS).items()}
    arrays["places"] = arrays["places"][:, ::-1].copy()
    write_arrays(path / RANKINGS, arrays)
    found = evaluate(path)
    assert any("2.0000 as the run says: its files were changed" in one for one in found["alerts"])
    assert found["certificate_confirmed"] is False


def test_one_changed_unseen_query_is_noticed(run):
    """The mean may be nearly the same; the most affected query is not."""
    result, path = run
    arrays = {name: value.copy() for name, value in read_arrays(path / RANKINGS).items()}
    first, last = arrays["offsets"][DATA.splits["test"][0] :][:2]
    arrays["places"][first:last] = arrays["places"][first:last, ::-1]
    write_arrays(path / RANKINGS, arrays)
    found = evaluate(path)
    assert loss(found, "test", "largest_query") > loss(result, "test", "largest_query")
    assert ["(test;" in one or "query, test" in one for one in found["alerts"]] == [True]


@pytest.mark.parametrize("name", [RANKINGS, RULE])
def test_damaged_files_are_refused_in_one_line(run, name):
    _, path = run
    if name == RANKINGS:
        arrays = dict(read_arrays(path / name))
        arrays.pop("shares")
        write_arrays(path / name, arrays)
    else:
        (path / name).write_text('{"bounded": true, "rewards": [1], "first_ranks": [1]}')
    with pytest.raises(DataError, match=name) as caught:
        evaluate(path)
    assert "\n" not in str(caught.value)


def test_on_other_data_the_rule_keeps_every_query_within_the_budget(run):
    _, path = run
    other = tiny_dataset(30, seed=5)
    found = evaluate(path, data=other)
    for split in ("train", "test"):
        assert 0 < loss(found, split, "largest_query") <= 0.02


def test_the_serving_rule_serves_the_stored_rankings(run):
    _, path = run
    rule = ServingRule.load(path / "serving.json")
    own = read_policies(RunFolder.open(path), DATA)
    assert set(rule.rankings) == set(DATA.query_ids.astype(str)) == set(rule.shares)
    number = 3
    query = str(DATA.query_ids[number])
    first, last = DATA.offsets[number : number + 2]
    documents = DATA.document_ids[first:last].astype(str).tolist()
    scores = dict.fromkeys(documents, 0.0)
    rule = replace(rule, shares={query: 1.0})
    shown = Counter(
        rule.serve(f"r{i}", query, new=scores, production=scores).shown for i in range(4000)
    )
    stored = {one.documents: one.share for one in rule.rankings[query]}
    assert set(shown) <= set(stored)
    for ranking, share in stored.items():
        assert shown[ranking] / 4000 == pytest.approx(share, abs=0.04)
    weights = own.rankings.weights(DATA.lists, np.ones(5))[first:last]
    counted = [sum(n for one, n in shown.items() if d in one) / 4000 for d in documents]
    np.testing.assert_allclose(counted, weights, atol=0.04)


def test_in_doubt_there_are_no_rankings():
    experiment, learned, rewards = learn(estimator=BUDGET)
    assert learned.own is not None
    assert replace(experiment, plan="stay").learn(rewards).own is None


def test_without_its_rankings_the_model_is_mixed_within_the_budget():
    experiment, learned, _ = learn(estimator=BUDGET, training={"epochs": 9, "learning_rate": 0.1})
    for split, served in experiment.serve(learned.model).items():
        weights, production = (
            one.weights(experiment.rank_weights) for one in (served, experiment.logging[split])
        )
        losses = ndcg_losses(weights, production, served.dataset.lists, experiment.rank_weights)
        assert 0.01 < losses.max() <= 0.02


def test_rankings_that_do_not_keep_the_bound_are_mixed_with_production():
    experiment, learned, _ = learn(estimator=BUDGET)
    loose = replace(learned.own, bounded=False)
    for split, served in experiment.serve(learned.model, own=loose).items():
        weights, production = (
            one.weights(experiment.rank_weights) for one in (served, experiment.logging[split])
        )
        losses = ndcg_losses(weights, production, served.dataset.lists, experiment.rank_weights)
        assert losses.max() <= 0.02


def test_where_empty_queries_are_left_out_every_query_keeps_the_budget(tmp_path):
    config = small.config(estimator=BUDGET, evaluation={"empty": "skip"})
    result = train_run.train(config, out=tmp_path / "run")
    assert 0 < loss(result, "train", "largest_query") <= 0.02
    assert loss(result, "train") <= 0.02


@pytest.mark.parametrize(
    "estimator",
    [
        {"name": "plain"},
        {"name": "prpo", "clip": 0.5, "rollback": 1.0},
        {"name": "band", "box": False, "price": 0.4},
    ],
)
def test_no_ranker_beats_the_optimum_on_training_queries(estimator):
    """Every installed ranker, with a number of its own for every document."""
    values = {}
    for ranker in registry().names("ranker"):
        experiment, learned, rewards = learn(
            estimator=estimator,
            ranker={"name": ranker},
            scorer={"name": "table"},
            training={"epochs": 10, "learning_rate": 0.1},
        )
        train = rewards["train"]
        new = experiment.serve(learned.model, own=learned.own)["train"].new
        weights = new.weights(experiment.rank_weights)
        prepared = experiment.components.estimator
        gain = prepared.gain(weights, train.exposure.weights, train.values)
        values[ranker] = train.query_weights @ train.dataset.lists.sum(gain)
    best = values.pop("optimum")
    assert len(values) >= 8
    assert all(value < best for value in values.values()), values


def test_the_optimum_serves_logged_queries_by_rankings_and_others_by_the_model():
    experiment, learned, rewards = learn(ranker={"name": "optimum"}, interactions=30)
    logged = rewards["train"].query_weights > 0
    assert 0 < logged.sum() < len(logged)  # some never came
    first, last = DATA.splits["train"]
    known = learned.own.rankings.known
    np.testing.assert_array_equal(known[first:last], logged)
    assert known.sum() == logged.sum()
    rule = serving_rule(experiment, learned.model, own=learned.own, share=0.5)
    assert (rule.share, rule.shares, len(rule.rankings)) == (0.5, {}, logged.sum())
    by_model = experiment.serve(learned.model)["test"].weights(experiment.rank_weights)
    served = experiment.serve(learned.model, own=learned.own)["test"]
    np.testing.assert_array_equal(served.weights(experiment.rank_weights), by_model)


def test_the_same_seed_gives_the_same_rankings(run, tmp_path):
    result, path = run
    config = resolve(
        json.loads(
            json.dumps(
                small.config(
                    estimator=BUDGET, training={"epochs": 5, "learning_rate": 0.05}
                ).model_dump(mode="json", exclude_none=True)
            )
        )
    )
    again = train_run.train(config, out=tmp_path / "again")
    assert small.same_numbers(again) == small.same_numbers(result)
    assert (path / RANKINGS).read_bytes() == (tmp_path / "again" / RANKINGS).read_bytes()


def test_new_queries_are_ranked_within_the_budget(run):
    _, path = run
    other = tiny_dataset(12, seed=5)
    queries = np.repeat(other.query_ids.astype(str), other.lists.lengths)
    documents = other.document_ids.astype(str)
    scores = np.random.default_rng(0).normal(size=other.n_documents)
    production = {"query": queries, "document": documents, "score": scores}
    asked = {"request": [f"r{i}" for i in range(24)], "query": [*other.query_ids.astype(str)] * 2}
    advice = json.loads((path / "result.json").read_text())
    advice["advice"]["share"] = 1.0
    (path / "result.json").write_text(json.dumps(advice))
    table = cltr.rank(path, other, production=production).to_frame()
    weights = table.set_index(["query", "document"])["weight"]
    found = np.array([weights[key] for key in zip(queries, documents, strict=True)])
    dcg = rank_weights("dcg", 5)
    before = PlackettLuce().expected_weights(scores, other.lists, dcg)
    losses = ndcg_losses(found, before, other.lists, dcg)
    assert 0.01 < losses.max() <= 0.02
    served = cltr.rank(path, other, production=production, requests=asked).to_frame()
    assert set(served["arm"]) == {"new"}
    assert len(served) == 2 * np.minimum(other.lists.lengths, 5).sum()


def test_one_policy_of_a_query_serves_all_parts_of_a_log(tmp_path, monkeypatch):
    """A log on lists of its own: training and test clicks are on the same queries."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    relevance, rows = rng.random((12, 6)), []
    for i in range(1500):
        query = int(12 * rng.random() ** 2)
        order = np.argsort(-rng.gumbel(size=6) - 2 * relevance[query])[:4]
        for k, d in enumerate(order.tolist()):
            click = int(rng.random() < relevance[query, d] / (k + 1))
            rows.append((f"s{i}", f"q{query}", f"d{d}", k + 1, click))
    names = ("session", "query", "doc", "position", "click")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    log = cltr.ingest(columns, out="log.h5")
    found = cltr.train(
        log=log.path, out="run", estimator="budget", on_doubt="ignore", reward="ips",
        options={"estimator.loss": "2%", "training.epochs": 2},
    )  # fmt: skip
    assert json.loads((tmp_path / "run" / RULE).read_text())["bounded"] is True
    metric = next(k for k in found.result["certificate"]["test"]["worst_case"] if "ndcg" in k)
    cases = [
        found.result["certificate"][split]["worst_case"][metric] for split in ("train", "test")
    ]
    assert 0.015 < max(case["loss"] for case in cases) <= 0.02
    assert cases[0]["largest_query"] > 0.02
