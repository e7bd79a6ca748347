"""Guards the loop: value and gradient are the estimator's, it stops well and goes on exactly."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from cltr.clicks.models import TrustBias
from cltr.documents import Documents, ModelSetup
from cltr.errors import DataError, NotFiniteError
from cltr.experiment.run_folder import RunFolder
from cltr.exposure.exposure import exact_exposure
from cltr.interfaces import EstimatorContext, Penalised, Ranker
from cltr.objectives.plain import Plain
from cltr.objectives.prpo import PRPO
from cltr.plugins import registry
from cltr.policies import Deterministic, PlackettLuce
from cltr.policies.rank_weights import rank_weights
from cltr.training.exact_ranker import Exact
from cltr.training.loop import Trainer, TrainingOptions
from cltr.training.score_documents import score as score_model
from cltr.training.torch_model import TorchModel
from cltr.types import Dataset, Exposure, Rewards
from tests.enumeration import finite_difference

TOP_K = 3
DCG = rank_weights("dcg", TOP_K)
SHARES = np.array([0.4, 0.0, 0.1, 0.3, 0.2])
"""How often each of the five queries came; one never did."""


class Curved(torch.nn.Module):
    """A small scorer in double precision, not linear in its weights; notes the rows it is given."""

    def __init__(self, n_features: int = 4, seed: int = 0) -> None:
        super().__init__()
        start = np.random.default_rng(seed).normal(size=n_features)
        self.weight = torch.nn.Parameter(torch.from_numpy(start))
        self.rows: list[np.ndarray] = []

    def forward(self, documents):
        self.rows.append(documents.rows.numpy())
        line = documents.features.double() @ self.weight
        return torch.tanh(line) + 0.1 * line


class Fixed(Ranker):
    """Trains nothing; its policy shows documents in order of their scores."""

    name = "fixed"
    policy = Deterministic()

    def gradient(self, batch, objective, rng):
        return np.zeros(batch.scores.shape)


class Noisy(Exact):
    """The exact gradient with noise, as rankers have that sample."""

    name = "noisy"

    def gradient(self, batch, objective, rng):
        found = super().gradient(batch, objective, rng)
        return found + 0.1 * rng.normal(size=found.shape) * batch.mask


class Turning(Exact):
    """Goes up for some steps and down afterwards; notes the price of every step."""

    name = "turning"

    def __init__(self, up: float = math.inf) -> None:
        super().__init__(accuracy=1e-11)
        self.up, self.prices, self.masks = up, [], []

    def gradient(self, batch, objective, rng):
        self.prices.append(objective.price)
        self.masks.append(batch.mask)
        found = super().gradient(batch, objective, rng)
        return found if len(self.prices) <= self.up else -found


def dataset(seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    offsets = np.array([0, 4, 6, 7, 12, 20])
    features = rng.normal(size=(20, 4)).astype(np.float32)
    ids = np.arange(20)
    return Dataset(features, np.zeros(20), offsets, np.arange(5), ids)


def logged(seed: int = 0, shares: np.ndarray = SHARES) -> Rewards:
    data = dataset(seed)
    rng = np.random.default_rng([seed, 1])
    production = rng.normal(size=20)
    exposure = exact_exposure(production, data.lists, PlackettLuce(), TrustBias(), DCG)
    return Rewards(data, rng.normal(size=20), exposure, shares)


def estimators() -> dict:
    """By name; safe from its plugin, with a confidence at which its penalty matters."""
    reward = registry().find("reward", "ips")()
    made = {
        "plain": Plain(),
        "prpo": PRPO(clip=0.8, rollback=0.5),
        "safe": registry().find("estimator", "safe")(reward, confidence=0.9),
    }
    for estimator in made.values():
        estimator.prepare(EstimatorContext(100, DCG, "dcg", TrustBias()))
    return made


class ModuleTrainer(Trainer):
    """Takes modules where the loop takes models."""

    def model(self, module) -> TorchModel:
        if isinstance(module, TorchModel):
            return module
        options = self.options
        rates = {"learning_rate": options.learning_rate, "weight_decay": options.weight_decay}
        return TorchModel(module, ModelSetup(4, 20, **rates))

    def train(self, module, *splits, **options):
        return super().train(self.model(module), *splits, **options)

    def value(self, module, split) -> float:
        return super().value(self.model(module), split)

    def diagnostics(self, module, split):
        return super().diagnostics(self.model(module), split)


def score(module, data, **options) -> np.ndarray:
    return score_model(TorchModel(module, ModelSetup(4, 20)), data, **options)


def trainer(estimator=None, ranker=None, *, seed: int = 0, **options) -> ModuleTrainer:
    chosen = {"weight_decay": 0.0, "learning_rate": 0.05, "epochs": 5, "batch_queries": 2}
    loop = TrainingOptions(**{**chosen, **options})
    return ModuleTrainer(
        estimator or Plain(), ranker or Exact(accuracy=1e-11), DCG, loop, seed=seed
    )


def weights_of(module) -> np.ndarray:
    return module.weight.detach().numpy().copy()


# The value: arithmetic on documents whose order is known.


def three_documents(rewards, logging_weights, shares=(1.0,)) -> tuple[Curved, Rewards]:
    """Lists of three documents each, ranked as they stand."""
    n = 3 * len(shares)
    features = np.tile(np.array([[3.0], [2.0], [1.0]], np.float32), (len(shares), 1))
    module = Curved(1)
    with torch.no_grad():
        module.weight.fill_(1.0)
    data = Dataset(features, np.zeros(n), np.arange(0, n + 1, 3), np.arange(len(shares)), None)
    exposure = Exposure(*3 * [np.asarray(logging_weights, float)])
    return module, Rewards(data, np.asarray(rewards, float), exposure, np.asarray(shares))


def test_plain_value_is_weight_times_reward():
    module, split = three_documents([0.2, -0.5, 7.0], [1.0, 1.0, 1.0])
    value = replace(trainer(Plain(), Fixed()), rank_weights=np.array([1.0, 0.6])).value
    found = value(module, split)
    assert found == pytest.approx(1.0 * 0.2 + 0.6 * -0.5)


def test_prpo_value_is_clipped_on_the_side_of_the_reward_eq_21():
    module, split = three_documents([0.2, -0.5, 7.0], [0.5, 1.0, 0.1])
    loop = replace(trainer(PRPO(clip=0.8), Fixed()), rank_weights=np.array([1.0, 0.6]))
    found = loop.value(module, split)
    assert found == pytest.approx(0.5 / 0.8 * 0.2 + 0.8 * -0.5 + 0.0 * 7.0)
    assert loop.diagnostics(module, split)["clip_fraction"] == pytest.approx(2 / 3)


def test_the_penalty_is_of_the_mean_over_queries():
    module, split = three_documents([1.0] * 6, [1.0, 0.6, 0.1] * 2, shares=(0.75, 0.25))

    class Priced(Plain, Penalised):
        def divergence(self, weights, exposure):
            return (weights > 0.9) * exposure.weights * 4.0

        def penalty(self, mean_divergence):
            return math.sqrt(mean_divergence)

        def penalty_slope(self, mean_divergence):
            return 0.5 / math.sqrt(mean_divergence)

    loop = replace(trainer(Priced(), Fixed()), rank_weights=np.array([1.0, 0.6]))
    assert loop.value(module, split) == pytest.approx(1.6 - math.sqrt(4.0))


def test_queries_count_by_how_often_they_came():
    rewards = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    module, split = three_documents(rewards, np.ones(6), shares=(0.75, 0.25))
    loop = replace(trainer(Plain(), Fixed()), rank_weights=np.array([1.0, 0.6]))
    assert loop.value(module, split) == pytest.approx(0.75 * 1.0 + 0.25 * 0.6)


def test_clipped_counts_rewarded_documents_of_logged_queries_alone():
    rewards = [1.0, 0.0, 1.0, 1.0, 1.0, 1.0]
    logging_weights = [0.1, 0.6, 0.1, 0.1, 0.1, 0.1]
    module, split = three_documents(rewards, logging_weights, shares=(1.0, 0.0))
    loop = replace(trainer(PRPO(clip=0.8), Fixed()), rank_weights=np.array([1.0, 0.6]))
    assert loop.diagnostics(module, split)["clip_fraction"] == 0.5


# The gradient: that of the value, through the scorer.


@pytest.mark.parametrize("name", ["plain", "prpo", "safe"])
def test_a_full_step_follows_the_gradient_of_the_value(name):
    split, module = logged(), Curved()
    loop = trainer(estimators()[name], epochs=1, batch_queries=100)

    def value(at: np.ndarray) -> float:
        probe = Curved()
        with torch.no_grad():
            probe.weight.copy_(torch.from_numpy(at))
        return loop.value(probe, split)

    expected = finite_difference(value, weights_of(module), step=1e-3)
    loop.train(module, split, None)
    np.testing.assert_allclose(-module.weight.grad.numpy(), expected, rtol=1e-6, atol=1e-7)
    assert np.abs(expected).max() > 0.01


@pytest.mark.parametrize("name", ["plain", "prpo", "safe"])
def test_training_goes_uphill(name):
    split, module = logged(), Curved()
    loop = trainer(estimators()[name], learning_rate=0.005, epochs=10)
    before = loop.value(module, split)
    loop.train(module, split, None)
    assert loop.value(module, split) > before + 1e-3


def test_query_weights_decide_where_a_step_leads():
    steps = []
    for shares in (SHARES, SHARES[::-1].copy()):
        module = Curved()
        trainer(epochs=1, batch_queries=100).train(module, logged(shares=shares), None)
        steps.append(module.weight.grad.numpy())
    assert not np.allclose(steps[0], steps[1], atol=1e-3)


@pytest.mark.parametrize("name", ["plain", "prpo", "safe"])
def test_a_query_without_clicks_does_not_matter(name):
    split = logged()
    absent = np.repeat(split.query_weights == 0, split.dataset.lists.lengths)
    other = replace(split, values=np.where(absent, 1e6, split.values))
    results = []
    for each in (split, other):
        module = Curved()
        state = trainer(estimators()[name]).train(module, each, each)
        results.append((weights_of(module).tolist(), state.history))
    assert results[0] == results[1]


def test_every_logged_query_is_seen_once_an_epoch():
    split, ranker = logged(), Turning()
    trainer(Plain(), ranker, epochs=3).train(Curved(), split, None)
    seen = sorted(int(n) for mask in ranker.masks for n in mask.sum(1))
    assert seen == sorted([4, 1, 5, 8] * 3)
    assert max(mask.shape[0] for mask in ranker.masks) <= 2


def test_lists_without_documents_are_no_trouble():
    data = dataset()
    offsets = np.array([0, 0, 4, 6, 7, 12, 20, 20])
    split = logged()
    split = replace(
        split,
        dataset=replace(data, offsets=offsets),
        query_weights=np.concatenate([[0.1], SHARES * 0.8, [0.1]]),
    )
    state = trainer().train(Curved(), split, split)
    assert all(np.isfinite(record["valid_value"]) for record in state.history)


# The penalty's price: over all the data, whatever is in the batch.


def test_the_price_is_that_of_the_mean_over_all_queries():
    split, ranker, safe = logged(), Turning(), estimators()["safe"]
    module = Curved()
    loop = trainer(safe, ranker, epochs=1, batch_queries=1, learning_rate=1e-300)
    omega = ranker.policy.expected_weights(score(module, split.dataset), split.dataset.lists, DCG)
    terms = safe.divergence(omega, split.exposure)
    each = np.add.reduceat(terms, split.dataset.offsets[:-1])
    loop.train(module, split, None)
    assert len(ranker.prices) == np.count_nonzero(SHARES)
    np.testing.assert_allclose(ranker.prices, safe.penalty_slope(SHARES @ each), rtol=1e-9)


def test_the_price_follows_the_policy_within_an_epoch():
    ranker = Turning()
    loop = trainer(estimators()["safe"], ranker, epochs=1, batch_queries=1, learning_rate=0.5)
    loop.train(Curved(), logged(), None)
    assert len(set(ranker.prices)) >= 3  # of four; a list of one document cannot move


# Stopping: by validation, the start counted, the best weights restored.


def test_a_start_that_nothing_beats_is_kept():
    module = Curved()
    start = weights_of(module)
    split = logged()
    state = trainer(ranker=Turning(up=0), epochs=50, patience=4).train(module, split, split)
    assert (state.best_epoch, state.epoch) == (0, 4)
    np.testing.assert_array_equal(weights_of(module), start)


def test_a_start_that_does_not_count_is_not_kept():
    module, split, seen = Curved(), logged(), []
    state = trainer(ranker=Turning(up=0), epochs=50, patience=4).train(
        module,
        split,
        split,
        start_counts=False,
        on_epoch=lambda now: seen.append(weights_of(module)),
    )
    values = [record["valid_value"] for record in state.history]
    assert max(values) == values[0]
    assert state.best_epoch == 1 + int(np.argmax(values[1:]))
    assert state.epoch == state.best_epoch + 4
    np.testing.assert_array_equal(weights_of(module), seen[state.best_epoch])


def test_the_best_epoch_is_restored_and_patience_counts_from_it():
    split, module, seen = logged(), Curved(), []
    loop = trainer(ranker=Turning(up=3), epochs=50, patience=5, batch_queries=100)
    state = loop.train(module, split, split, on_epoch=lambda now: seen.append(weights_of(module)))
    values = [record["valid_value"] for record in state.history]
    best = int(np.argmax(values))
    assert 0 < best < len(values) - 1
    assert (state.best_epoch, state.epoch) == (best, best + 5)
    assert state.best_value == values[best]
    np.testing.assert_array_equal(weights_of(module), seen[best])
    assert loop.value(module, split) == values[best]


def test_the_last_epoch_is_kept_where_asked_for():
    split, module = logged(), Curved()
    loop = trainer(ranker=Turning(up=3), epochs=50, patience=5, batch_queries=100, keep="last")
    state = loop.train(module, split, split)
    assert state.best_epoch < state.epoch
    np.testing.assert_array_equal(weights_of(module), state.weights["weight"])


def test_an_equal_value_is_no_better():
    split = logged()
    state = trainer(ranker=Fixed(), epochs=9, patience=3).train(Curved(), split, split)
    assert (state.best_epoch, state.epoch) == (0, 3)


def test_without_validation_the_last_epoch_counts():
    module = Curved()
    state = trainer(ranker=Turning(up=2), epochs=6).train(module, logged(), None)
    assert (state.best_epoch, state.epoch) == (6, 6)
    np.testing.assert_array_equal(weights_of(module), state.weights["weight"])


def test_no_epochs_leave_the_start():
    module, split = Curved(), logged()
    start = weights_of(module)
    state = trainer(epochs=0).train(module, split, split)
    assert (state.epoch, len(state.history)) == (0, 1)
    np.testing.assert_array_equal(weights_of(module), start)


def test_training_that_diverges_is_an_error():
    module, split = Curved(), logged()
    with pytest.raises(NotFiniteError, match="scores are not finite or exceed 1e"):
        trainer(learning_rate=1e308, epochs=3).train(module, split, split)


# Chance: by the seed, and from epoch to epoch.


def test_the_seed_decides():
    def run(seed: int) -> list:
        module, split = Curved(), logged()
        trainer(ranker=Noisy(), seed=seed).train(module, split, None)
        return weights_of(module).tolist()

    assert run(3) == run(3)
    assert run(3) != run(4)


def test_chance_is_another_in_every_epoch():
    drawn = []

    class Drawing(Fixed):
        def gradient(self, batch, objective, rng):
            drawn.append(rng.random())
            return super().gradient(batch, objective, rng)

    trainer(ranker=Drawing(), epochs=4).train(Curved(), logged(), None)
    assert len(set(drawn)) == len(drawn) == 8


@pytest.mark.parametrize("ranker", [Exact, Noisy], ids=["exact", "noisy"])
def test_an_interrupted_run_goes_on_to_the_same_bits(tmp_path, ranker):
    """From the checkpoint of any epoch, read from disk into a new module and a new trainer."""
    split = logged()
    options = {"epochs": 6, "patience": 4, "weight_decay": 1e-3}
    folders = {}

    def save(state):
        folder = RunFolder.create(tmp_path / str(state.epoch), label="")
        folder.checkpoint.save(state)
        folders[state.epoch] = folder

    whole = Curved()
    expected = trainer(estimators()["safe"], ranker(), **options).train(
        whole, split, split, on_epoch=save
    )
    assert sorted(folders) == list(range(expected.epoch + 1))
    for folder in folders.values():
        module = Curved(seed=99)
        again = trainer(estimators()["safe"], ranker(), **options)
        state = again.train(module, split, split, state=RunFolder(folder.path).checkpoint.load())
        np.testing.assert_array_equal(weights_of(module), weights_of(whole))
        assert state.history == expected.history
        assert (state.epoch, state.best_epoch) == (expected.epoch, expected.best_epoch)
        assert state.best_value == expected.best_value


# Scores: in chunks, with the rows that belong to them; and fitted to those of production.


def test_documents_are_scored_in_parts_that_cut_no_list():
    module, data = Curved(), dataset()
    whole = score(module, data)
    module.rows.clear()
    np.testing.assert_array_equal(score(module, data, at_once=7), whole)
    assert [rows.tolist() for rows in module.rows] == [
        list(range(7)),
        list(range(7, 12)),
        list(range(12, 20)),
    ]


def test_rows_are_those_of_the_whole_data_set():
    """A scorer that knows documents by their row must see the same one in every split."""
    whole = replace(dataset(), splits={"train": (0, 2), "valid": (2, 5)})
    module = Curved()
    score(module, whole.part("valid"))
    assert module.rows[0].tolist() == list(range(6, 20))
    module.rows.clear()
    split = replace(
        logged(),
        dataset=whole.part("valid"),
        values=logged().values[6:],
        exposure=Exposure(*3 * [logged().exposure.weights[6:]]),
        query_weights=SHARES[2:] / SHARES[2:].sum(),
    )
    trainer(epochs=1).train(module, split, None)
    assert {row for rows in module.rows for row in rows.tolist()} == set(range(6, 20))


def test_a_module_starts_at_the_scores_of_production():
    data = dataset()

    class Line(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def forward(self, documents):
            return self.layer(documents.features).squeeze(-1)

    served = replace(data, production=np.random.default_rng(0).normal(size=20))
    model = TorchModel(Line(), ModelSetup(4, 20))
    model.start_from(Documents.of(served), np.ones(5, bool))
    np.testing.assert_array_equal(model.scores(Documents.of(served)), served.production)
    with pytest.raises(DataError, match="production's scores"):
        model.scores(Documents.of(data))


THREADS = """
import hashlib
from cltr.experiment.library_setup import set_up_libraries
set_up_libraries()
import numpy as np
from cltr.clicks.models import TrustBias
from cltr.documents import ModelSetup
from cltr.interfaces import EstimatorContext
from cltr.objectives.prpo import PRPO
from cltr.plugins import registry
from cltr.training.loop import Trainer, TrainingOptions
from cltr.training.scorers import Mlp
from cltr.types import Dataset, Exposure, Rewards
rng = np.random.default_rng(0)
offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 60, 90))])
n, weights = offsets[-1], np.array([1.0, 0.6, 0.5, 0.4, 0.3])
features = rng.normal(size=(n, 136)).astype(np.float32)
data = Dataset(features, np.zeros(n), offsets, np.arange(90), np.arange(n))
shown = rng.random(n)
split = Rewards(data, rng.normal(size=n), Exposure(shown, shown, shown), rng.random(90))
for name in ("exact", "pl-rank"):
    model, prpo = Mlp().build(ModelSetup(136, n), seed=0), PRPO(clip=0.1)
    prpo.prepare(EstimatorContext(1000, weights, "dcg", TrustBias()))
    loop = Trainer(prpo, registry().find("ranker", name)(), weights, TrainingOptions(epochs=2))
    state = loop.train(model, split, split)
    bits = b"".join(part.tobytes() for part in model.state().values())
    print(name, hashlib.sha256(bits).hexdigest(), state.history)
"""


def test_same_numbers_with_one_and_two_threads(run_python):
    """The kernels, the samples and the scorer's own matrix products."""
    one, two = (
        run_python(THREADS, NUMBA_NUM_THREADS=threads, OMP_NUM_THREADS=threads)
        for threads in ("1", "2")
    )
    assert one == two
