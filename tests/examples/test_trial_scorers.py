"""Guards the contract of models by three scorers that differ in all that it leaves open.

One looks at whole lists, one draws in every step, one grows on all training queries at once.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cltr.documents import Documents, ModelSetup
from cltr.experiment import train_run
from cltr.experiment.experiment import Experiment
from cltr.experiment.run_folder import RunFolder
from cltr.plugins import load_file, registry
from cltr.testing import check_scorer, tiny_dataset
from cltr.training.score_documents import score
from tests import small

FOLDER = Path(__file__).parents[2] / "examples" / "scorers"
OPTIONS = {
    "self-attention": {"width": 6},
    "dropout-norm": {"hidden": 8, "dropout": 0.5},
    "boosted-trees": {"smallest_leaf": 3, "leaves": 4},
}
every_scorer = pytest.mark.parametrize("name", OPTIONS)
DATA = small.dataset()
TRAINING = {"epochs": 4, "batch_queries": 4, "patience": 4, "learning_rate": 0.02}


@pytest.fixture(autouse=True)
def _plugins():
    pytest.importorskip("lightgbm")
    for file in sorted(FOLDER.glob("*.py")):
        load_file(file)


def scorer(name: str):
    return registry().find("scorer", name)(**OPTIONS[name])


def config(name: str, **values):
    chosen = {"scorer": {"name": name, **OPTIONS[name]}, "training": TRAINING}
    production = {"epochs": 2, "learning_rate": 0.05, "scorer": "linear"}
    return small.config(**{**chosen, "production": production, **values})


def learn(name: str, **values) -> tuple[Experiment, object]:
    run = Experiment.simulated(config(name, **values), dataset=DATA)
    return run, run.learn(run.reward(run.simulate()))


@every_scorer
def test_they_conform(name):
    check_scorer(scorer(name))


@every_scorer
def test_they_learn_from_labels(name):
    run = Experiment.simulated(config(name, training={**TRAINING, "epochs": 60}), dataset=DATA)
    sky = score(run.learn_from_labels(), run.dataset)
    train = run.dataset.documents_of("train")
    assert np.corrcoef(sky[train], DATA.labels[train])[0, 1] > 0.5


@every_scorer
def test_the_seed_decides(name):
    def state(seed: int) -> dict:
        found = learn(name, seed=seed)[1].state.weights
        return {key: array.tobytes() for key, array in found.items()}

    assert state(1) == state(1)
    assert state(1) != state(2)


@every_scorer
def test_a_stopped_run_goes_on_to_the_same_bits(name, tmp_path):
    run = Experiment.simulated(config(name), dataset=DATA)
    rewards = run.reward(run.simulate())
    folders = {}

    def save(state):
        folders[state.epoch] = RunFolder.create(tmp_path / str(state.epoch), label="")
        folders[state.epoch].checkpoint.save(state)

    whole = run.learn(rewards, on_epoch=save)
    expected = score(whole.model, run.dataset)
    for folder in folders.values():
        again = run.learn(rewards, state=RunFolder(folder.path).checkpoint.load())
        np.testing.assert_array_equal(score(again.model, run.dataset), expected)
        assert again.state.history == whole.state.history


@every_scorer
def test_a_run_is_saved_and_judged_again(name, tmp_path, monkeypatch):
    from cltr.experiment.evaluate_run import evaluate

    monkeypatch.chdir(tmp_path)
    chosen = config(name, data=small.saved(tmp_path))
    result = train_run.train(chosen, out=tmp_path / "run")
    found = evaluate(tmp_path / "run")
    assert found["metrics"]["policy"] == result["metrics"]["policy"]
    assert found["certificate"] == result["certificate"]


def test_attention_sees_the_list():
    model = scorer("self-attention").build(ModelSetup(6, DATA.n_documents), seed=0)
    longest = int(np.argmax(DATA.lists.lengths))
    documents = Documents.of(DATA).lists(longest, longest + 1)
    others = documents.features.copy()
    others[1:] *= -1.0
    moved = model.scores(replace(documents, features=others))[0] - model.scores(documents)[0]
    assert abs(moved) > 1e-4


def test_dropout_is_drawn_once_in_a_step():
    """The direction is asked for at the scores that the step differentiates."""
    model = scorer("dropout-norm").build(ModelSetup(6, DATA.n_documents), seed=0)
    passes = []
    model.module.register_forward_hook(lambda module, given, scores: passes.append(scores))
    asked = []

    def ascent(scores):
        asked.append(scores)
        return np.ones_like(scores)

    model.step(Documents.of(DATA), ascent)
    assert len(passes) == len(asked) == 1
    np.testing.assert_array_equal(asked[0], passes[0].detach().numpy())


def test_a_step_draws_nothing_from_the_random_numbers_of_others():
    import torch

    model = scorer("dropout-norm").build(ModelSetup(6, DATA.n_documents), seed=0)
    before = torch.get_rng_state()
    model.step(Documents.of(DATA), np.ones_like)
    assert torch.equal(torch.get_rng_state(), before)


def test_trees_start_at_production_to_the_bit():
    run, _ = learn("boosted-trees", training={"epochs": 0})
    learned = run.learn(run.reward(run.simulate()))
    np.testing.assert_array_equal(score(learned.model, run.dataset), run.production.scores)
    assert learned.model.state() == {}


def test_trees_that_production_is_made_of_are_not_counted_twice():
    own = {"epochs": 3, "scorer": "boosted-trees"}
    run, learned = learn("boosted-trees", training={"epochs": 0}, production=own)
    assert len(run.production.model.state()) == 3
    np.testing.assert_array_equal(score(learned.model, run.dataset), run.production.scores)


def test_trees_score_as_lightgbm_does():
    import lightgbm

    rng = np.random.default_rng(0)
    features = rng.normal(size=(500, 6)).astype(np.float32)
    model = scorer("boosted-trees").build(ModelSetup(6, 500), seed=0)
    documents = Documents(features, np.arange(500), np.array([0, 500]))
    binned, gradient = model._binned(documents), rng.normal(size=500)
    booster = lightgbm.Booster(model._parameters(0), train_set=binned)
    booster.update(fobj=lambda scores, data: (gradient, np.ones(500)))

    class Same:
        def __call__(self, scores):
            return -gradient

        def curvature(self, scores):
            return np.ones(500)

    model.step(documents, Same())
    np.testing.assert_allclose(model.scores(documents), booster.predict(features), rtol=1e-12)
    assert len(set(model.scores(documents))) == 4


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: tree.astype(np.float32),
        lambda tree: tree[:, :4],
        lambda tree: tree[:0],
        lambda tree: np.where(tree == tree[0, 2], 0.0, tree),
        lambda tree: np.where(tree == tree[0, 3], 99.0, tree),
    ],
)
def test_a_table_that_is_no_tree_is_refused(change):
    _, learned = learn("boosted-trees")
    (name, tree), *_ = learned.state.weights.items()
    model = scorer("boosted-trees").build(ModelSetup(6, 10), seed=0)
    with pytest.raises(ValueError, match="is no tree"):
        model.load_state({name: change(tree)})


def test_a_checkpoint_of_trees_writes_new_trees_alone(tmp_path):
    run = Experiment.simulated(config("boosted-trees"), dataset=DATA)
    checkpoint, sizes = RunFolder.create(tmp_path / "run", label="").checkpoint, []

    def save(state):
        checkpoint.save(state)
        files = (tmp_path / "run" / "checkpoint").glob("*.safetensors")
        sizes.append(len(list(files)))

    run.learn(run.reward(run.simulate()), on_epoch=save)
    assert sizes == list(range(len(sizes)))


def test_a_single_document_has_no_variance():
    model = scorer("dropout-norm").build(ModelSetup(6, 10), seed=0)
    alone = Documents.of(tiny_dataset()).lists(0, 1)
    assert len(alone) == 1
    model.step(alone, np.ones_like)
    assert np.isfinite(model.scores(alone)).all()
