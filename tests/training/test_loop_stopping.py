"""Guards when training stops and what chance decides: the best epoch, the same bits by the seed."""

import numpy as np
import pytest

from cltr.errors import NotFiniteError
from cltr.experiment.run_folder import RunFolder
from cltr.training.exact_ranker import Exact
from tests.training.small_training import (
    Curved,
    Fixed,
    Turning,
    estimators,
    logged,
    trainer,
    weights_of,
)


class Noisy(Exact):
    """The exact gradient with noise, as rankers have that sample."""

    name = "noisy"

    def gradient(self, batch, objective, rng):
        found = super().gradient(batch, objective, rng)
        return found + 0.1 * rng.normal(size=found.shape) * batch.mask


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
