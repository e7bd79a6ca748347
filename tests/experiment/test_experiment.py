"""Guards the order of things: what each stage is given."""

from dataclasses import replace

import numpy as np
import pytest

from cltr.errors import DataError, UsageError
from cltr.evaluation.metrics import measure
from cltr.experiment.components import compose
from cltr.experiment.experiment import Experiment
from cltr.experiment.initial_model import new_model, start_model
from cltr.experiment.run_log import cut_clicks
from cltr.experiment.seeds import seed_for
from cltr.exposure.exposure import counted_exposure, exact_exposure
from cltr.exposure.production_ranker import Production
from cltr.interfaces import RewardFunction
from cltr.policies import PlackettLuce
from cltr.policies.on_dataset import ScoredPolicy
from cltr.policies.rank_weights import rank_weights
from cltr.training.score_documents import score
from cltr.types import LOG_PARTS
from tests import small
from tests.experiment.small_runs import DATA, clicks, experiment, learn, produce, state_of


class Listening(RewardFunction):
    """Notes what it is given."""

    name = "listening"

    def __init__(self) -> None:
        super().__init__()
        self.fits, self.calls = [], []

    def fit(self, data, click_model, *, seed=0):
        self.fits.append((data, click_model, seed))

    def mu(self, data, *, propensity_clip=0.0):
        self.calls.append((data, propensity_clip))
        return data.statistics.click_rate


def ndcg(policy) -> float:
    return measure(policy, top_k=5)["ndcg@5"]


@pytest.mark.parametrize(
    ("options", "n_judged"),
    [
        ({}, 10),
        ({"min_queries": 2}, 2),
        ({"min_queries": 1, "fraction": 0.5}, 6),
        ({"fraction": 1}, 12),
    ],
)
def test_production_sees_a_few_judgements(options, n_judged):
    """Other labels change production only where they lie on its few queries."""
    assert DATA.part("train").n_queries == 12
    values = {"production": {**small.CHOICES["production"], **options}}
    before = produce(**values).scores
    moved = 0
    for query in range(12):
        start, stop = DATA.offsets[query], DATA.offsets[query + 1]
        labels = DATA.labels.copy()
        labels[start:stop] = (labels[start:stop] + 1 + np.arange(stop - start)) % 5
        other = replace(DATA, labels=labels)
        after = produce(other, **values).scores
        moved += not np.array_equal(before, after)
    single = int((DATA.part("train").lists.lengths == 1).sum())  # one document: nothing to learn
    assert n_judged - single <= moved <= n_judged


def test_production_may_have_a_scorer_of_its_own():
    own = produce(production={"scorer": "linear", "epochs": 1})
    assert own.scorer == "linear"
    assert len(own.model.state()) == 2
    assert produce().scorer == "mlp"


def test_validation_clicks_come_in_proportion():
    run = experiment(interactions=1200)
    assert [run.n_displays(split) for split in LOG_PARTS] == [1200, 600, 600]
    found = clicks(produce(), interactions=1200)
    assert [part.n_interactions for part in found.values()] == [1200, 600, 600]
    assert experiment(interactions=1).n_displays("valid") == 1


def test_a_log_that_shows_more_ranks_is_cut():
    """IPS from five shown ranks, corrected for the first three, still finds the relevance."""
    production = produce()
    run = experiment(production, top_k=3, interactions=4_000_000)
    wide = clicks(production, interactions=4_000_000)
    data = run.observe(wide)["train"]
    assert data.statistics.top_k == 3
    np.testing.assert_array_equal(data.statistics.displays, wide["train"].displays)
    run.components.reward.fit(data, run.components.click_model)
    likely = data.exposure.propensities > 0.05
    error = np.abs(run.components.reward.mu(data) - data.dataset.relevance)[likely]
    assert likely.sum() > 30
    assert error.max() < 0.05


def test_a_log_that_shows_fewer_ranks_is_refused():
    production = produce()
    with pytest.raises(UsageError) as caught:
        cut_clicks(clicks(production, top_k=3), 5)
    line = "--top-k is 5, but the log shows 3 ranks; use --top-k 3 or less"
    assert str(caught.value) == line


def test_a_log_without_interactions_is_refused():
    found = clicks(produce())
    nothing = replace(found["valid"], displays=np.zeros_like(found["valid"].displays))
    with pytest.raises(DataError, match="the log has no interactions on the valid queries"):
        cut_clicks({**found, "valid": nothing}, 5)


def test_exposure_is_exact_or_counted():
    production = produce()
    found = clicks(production)
    scored = production.on(DATA, "train")
    ranks = rank_weights("dcg", 5)
    model = compose(small.config()).click_model
    for way in ("exact", "counted"):
        exposure = experiment(production, exposure=way).observe(found)["train"].exposure
        if way == "exact":
            expected = exact_exposure(
                scored.scores, scored.dataset.lists, PlackettLuce(), model, ranks
            )
        else:
            expected = counted_exposure(found["train"], model, ranks)
        assert exposure.source == way
        for name in ("weights", "propensities", "attention"):
            np.testing.assert_array_equal(getattr(exposure, name), getattr(expected, name))


def test_counted_exposure_comes_to_the_exact_one():
    production = produce()
    found = clicks(production, interactions=10**8)
    both = [
        experiment(production, exposure=way).observe(found)["train"].exposure
        for way in ("exact", "counted")
    ]
    np.testing.assert_allclose(both[0].weights, both[1].weights, atol=2e-3)
    np.testing.assert_allclose(both[0].propensities, both[1].propensities, atol=2e-3)


@pytest.mark.parametrize(
    ("values", "limit"),
    [
        ({"interactions": 2500}, 10 / 50),
        ({"interactions": 50}, 1.0),
        ({"propensity_clip": 0.3}, 0.3),
        ({"propensity_clip": 5.0}, 1.0),
    ],
)
def test_propensities_are_clipped_on_training_clicks_alone(values, limit):
    listening = Listening()
    parts = compose(small.config(**values)).replace(reward=listening)
    learn(parts, **values)
    (fitted,) = listening.fits
    assert fitted[1] is parts.click_model
    assert fitted[2] == seed_for(1, "reward")
    assert fitted[0].dataset.n_queries == DATA.part("train").n_queries
    queries = [data.dataset.n_queries for data, _ in listening.calls]
    assert queries == [DATA.part(split).n_queries for split in ("train", "valid", "test")]
    assert [clip for _, clip in listening.calls] == [pytest.approx(limit), 0.0, 0.0]


def test_logging_weights_are_never_clipped():
    listening = Listening()
    parts = compose(small.config()).replace(reward=listening)
    production = produce()
    learn(parts, production)
    data, _ = listening.calls[0]
    scored = production.on(DATA, "train")
    # Equal bits: where nothing has moved, no document lies inside or outside of a band at 1.
    np.testing.assert_array_equal(data.exposure.weights, scored.weights(rank_weights("dcg", 5)))


@pytest.mark.parametrize("n", [1000, 4000])
def test_schedules_are_of_the_training_interactions(n):
    config = small.config(interactions=n)
    parts = compose(config)
    learn(parts, interactions=n)
    assert parts.estimator.low == pytest.approx(100 / n)
    assert parts.estimator.high == pytest.approx(n / 100)


def test_training_starts_from_the_weights_of_production():
    production = produce()
    model = start_model(small.config(), DATA, production, compose(small.config()).scorer)
    assert state_of(model) == state_of(production.model)
    assert model is not production.model


def test_training_may_start_from_random_weights():
    production = produce()
    config = small.config(init="random")
    model = start_model(config, DATA, production, compose(config).scorer)
    again = start_model(config, DATA, production, compose(config).scorer)
    assert state_of(model) == state_of(again)
    assert state_of(model) != state_of(production.model)


@pytest.mark.parametrize(("init", "best"), [("production", 0), ("random", 1)])
def test_a_start_is_kept_for_being_no_worse_only_where_it_is_production(init, best):
    """Steps too small to change a weight: every epoch is as good as the start."""
    found = learn(init=init, training={"epochs": 3, "learning_rate": 1e-30})
    assert found.state.best_epoch == best


@pytest.mark.parametrize("known", [True, False], ids=["other scorer", "scores alone"])
def test_where_the_scorer_differs_the_start_is_production_itself(known):
    """Also where production is known by its scores alone, as from a log."""
    production = produce(production={**small.CHOICES["production"], "scorer": "linear"})
    if not known:
        production = Production(production.scores, scorer="")
    config = small.config(scorer={"name": "mlp", "hidden": [12]})
    experiment = Experiment(config, compose(config), DATA, production)
    model = start_model(config, experiment.dataset, production, experiment.components.scorer)
    np.testing.assert_array_equal(score(model, experiment.dataset), production.scores)


def test_an_epoch_moves_the_weights_and_none_does_not():
    for epochs, moved in ((0, False), (2, True)):
        production = produce()
        found = learn(production=production, training={"epochs": epochs, "learning_rate": 0.05})
        assert (state_of(found.model) != state_of(production.model)) == moved


@pytest.mark.parametrize("rollback", [0.0, 1.0])
@pytest.mark.parametrize("users", ["trust-bias", "adversarial"])
def test_with_clip_1_production_is_where_training_stays(users, rollback):
    """Neither rounding nor weight decay may set off a policy that has nothing to gain."""
    production = produce()
    found = learn(
        production=production,
        users={"name": users},
        estimator={"name": "prpo", "clip": 1, "rollback": rollback},
        training={"epochs": 4},
    )
    assert found.clip_fraction == 1.0
    values = [record["valid_value"] for record in found.state.history]
    assert values == pytest.approx([values[0]] * 5, rel=1e-6)
    for key, weights in found.state.weights.items():
        np.testing.assert_allclose(weights, production.model.state()[key], atol=1e-5)


def test_metrics_are_of_the_scores_on_each_split():
    production = produce()
    run = experiment(production)
    model = new_model(run.components.scorer, DATA, seed=5)
    sky = new_model(run.components.scorer, DATA, seed=6)
    found = run.judge(run.serve(model), skyline=sky)
    assert list(found["metrics"]) == ["production", "production_sorted", "policy", "skyline"]
    rivals = {
        "production": production.scores,
        "policy": score(model, DATA),
        "skyline": score(sky, DATA),
    }
    for who, scores in rivals.items():
        for split, key in (("test", "ndcg@5"), ("train", "train_ndcg@5")):
            part = DATA.part(split)
            expected = ndcg(ScoredPolicy(part, scores[DATA.documents_of(split)], PlackettLuce()))
            assert found["metrics"][who][key] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("metric", "keys"), [("dcg", {"train", "test"}), ("clicks", {"train", "test", "clicks"})]
)
def test_certificates_are_for_the_reported_and_the_training_metric(metric, keys):
    run = experiment(metric=metric)
    model = new_model(run.components.scorer, DATA, seed=5)
    run.prepare(2000)
    found = run.judge(run.serve(model))["certificate"]
    assert set(found) == keys
    if metric != "dcg":
        assert set(found[metric]) == {"train", "test"}
        assert found[metric]["test"]["worst_loss"] != found["test"]["worst_loss"]


def test_the_skyline_beats_production_on_what_it_has_seen():
    scorer = {"name": "mlp"}
    run = experiment(produce(), scorer=scorer, training={"epochs": 40, "learning_rate": 0.05})
    sky, part = run.learn_from_labels(), DATA.part("train")
    theirs = ndcg(produce().on(DATA, "train"))
    ours = ndcg(ScoredPolicy(part, score(sky, part), PlackettLuce()))
    assert ours > theirs + 0.02


def test_each_expected_weight_is_computed_once_and_each_model_scores_once(monkeypatch):
    """Of a whole run, rewards to certificates, for two metrics."""
    run = experiment(metric="clicks", training={"epochs": 0})
    calls, scored = [], []
    compute = PlackettLuce.expected_weights

    def counted(self, scores, lists, weights):
        calls.append((scores.tobytes(), lists.lengths.tobytes(), weights.tobytes()))
        return compute(self, scores, lists, weights)

    def scoring(model, dataset):
        scored.append((id(model), dataset.n_documents))
        return score(model, dataset)

    rewards = run.reward(run.simulate())
    model = new_model(run.components.scorer, DATA, seed=5)
    sky = new_model(run.components.scorer, DATA, seed=6)
    run.prepare(2000)
    monkeypatch.setattr(PlackettLuce, "expected_weights", counted)
    monkeypatch.setattr("cltr.experiment.experiment.score", scoring)
    run.judge(run.serve(model), skyline=sky, rewards=rewards)
    assert len(calls) == len(set(calls))
    assert len(scored) == len(set(scored)) == 2
