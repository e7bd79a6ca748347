"""Guards seeds: each stage has its own, and other choices do not shift it."""

from dataclasses import replace

import numpy as np
import pytest

from cltr.clicks.simulation import simulate_statistics
from cltr.experiment.seeds import STAGES, seed_for
from cltr.types import LOG_PARTS, LOGGED_SPLITS
from tests.experiment.small_runs import DATA, clicks, experiment, learn, produce, state_of

PUBLISHED_SEEDS = [
    *(2713801048, 3119033956, 1514603388, 3007641718),
    *(3121414198, 3835230905, 1046733544),
]
"""Of seed 1, in the order of ``STAGES``, as in version 0.1.0."""


def test_each_stage_has_a_seed_of_its_own():
    seeds = [seed_for(seed, stage) for seed in (1, 2) for stage in STAGES]
    assert len(set(seeds)) == len(seeds)
    assert seed_for(1, "start") == seeds[4]


def test_the_seeds_of_published_numbers_never_change():
    assert [seed_for(1, stage) for stage in STAGES[: len(PUBLISHED_SEEDS)]] == PUBLISHED_SEEDS


def test_a_stage_without_a_seed_is_a_mistake():
    with pytest.raises(KeyError):
        seed_for(1, "clicks-elsewhere")


@pytest.mark.parametrize(
    "change",
    [
        {"estimator": {"name": "plain"}},
        {"reward": {"name": "naive"}},
        {"interactions": 777},
        {"training": {"epochs": 1}},
        {"init": "random"},
        {"metric": "precision"},
        {"exposure": "counted"},
        {"users": {"name": "adversarial"}},
    ],
)
def test_other_choices_do_not_shift_production(change):
    np.testing.assert_array_equal(produce().scores, produce(**change).scores)


@pytest.mark.parametrize(
    "change",
    [
        {"estimator": {"name": "plain"}},
        {"reward": {"name": "naive"}},
        {"training": {"epochs": 1}},
        {"metric": "precision"},
    ],
)
def test_other_choices_do_not_shift_the_clicks(change):
    production = produce()
    before, after = clicks(production), clicks(production, **change)
    for split in before:
        np.testing.assert_array_equal(before[split].clicks, after[split].clicks)


@pytest.mark.parametrize("split", LOG_PARTS)
def test_the_clicks_of_each_split_have_a_seed_of_their_own(split):
    def draw(*data, rng, **rest):
        return rng.random()

    found = experiment(seed=3).draw(draw, LOG_PARTS)[split]
    assert found == np.random.default_rng(seed_for(3, f"clicks-{split}")).random()


def test_test_clicks_leave_the_others_as_they_are_to_the_bit():
    run = experiment(seed=3)
    found, before = run.simulate(), run.draw(simulate_statistics)
    assert (list(found), list(before)) == (list(LOG_PARTS), list(LOGGED_SPLITS))
    for split, part in before.items():
        for name in ("impressions", "clicks", "displays"):
            np.testing.assert_array_equal(getattr(found[split], name), getattr(part, name))


def test_without_test_queries_there_are_no_test_clicks():
    n = DATA.n_queries
    for splits in ({**DATA.splits, "test": (n, n)}, {s: DATA.splits[s] for s in LOGGED_SPLITS}):
        run = experiment()
        found = replace(run, dataset=replace(DATA, splits=splits)).simulate()
        assert list(found) == list(LOGGED_SPLITS)


def test_users_change_clicks_but_not_what_is_shown():
    production = produce()
    before, after = clicks(production), clicks(production, users={"name": "adversarial"})
    np.testing.assert_array_equal(before["train"].impressions, after["train"].impressions)
    assert (before["train"].clicks != after["train"].clicks).any()


def test_the_seed_decides_everything():
    results = [state_of(learn(seed=seed).model) for seed in (1, 1, 2)]
    assert results[0] == results[1]
    assert results[0] != results[2]
    assert not np.array_equal(produce(seed=1).scores, produce(seed=2).scores)
